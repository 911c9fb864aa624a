// Table: rows of text under titles, in columns that are as wide as they need to be.
//
//     Table table({{"LIMIT"}, {"USED", Table::kRight}});
//     table.add({"api", "4"});
//     console.out << table.text();
//
// Cells are printed as they are: whoever adds text from elsewhere makes it printable() first.
#pragma once

#include <string>
#include <vector>

namespace mete::cli {

class Table {
 public:
  enum Side : bool { kLeft, kRight };  // where the text of a column is
  struct Column {
    std::string title;
    Side side = kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell for each column.
  void add(std::vector<std::string> cells);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  // The titles, and a line for each row.
  [[nodiscard]] std::vector<std::string> lines() const;
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Names and what stands beside them, without titles.
using Field = std::pair<std::string, std::string>;
std::string fields_text(const std::vector<Field>& fields);

}  // namespace mete::cli
