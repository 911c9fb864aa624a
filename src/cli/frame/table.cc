#include "cli/frame/table.h"

#include <algorithm>

#include "base/check.h"
#include "cli/frame/text.h"

namespace mete::cli {

namespace {

constexpr std::string_view kGap = "  ";

std::string padding(std::string_view cell, std::size_t width) { return std::string(width - columns_of(cell), ' '); }

std::string trimmed(std::string line) {
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::string> Table::lines() const {
  std::vector<std::string> lines(rows_.size() + 1);
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const auto& [title, side] = columns_[column];
    std::size_t width = columns_of(title);
    for (const auto& row : rows_) width = std::max(width, columns_of(row[column]));
    for (std::size_t index = 0; index < lines.size(); ++index) {
      const std::string& cell = index == 0 ? title : rows_[index - 1][column];
      if (column > 0) lines[index] += kGap;
      lines[index] += side == kRight ? padding(cell, width) + cell : cell + padding(cell, width);
    }
  }
  for (std::string& line : lines) line = trimmed(std::move(line));
  return lines;
}

std::string Table::text() const { return joined(lines(), "\n") + "\n"; }

std::string fields_text(const std::vector<Field>& fields) {
  std::string text;
  std::size_t width = 0;
  for (const auto& [name, value] : fields) width = std::max(width, columns_of(name));
  for (const auto& [name, value] : fields) {
    std::string line = name + padding(name, width);
    text.append(trimmed(line.append(kGap).append(value))).append("\n");
  }
  return text;
}

}  // namespace mete::cli
