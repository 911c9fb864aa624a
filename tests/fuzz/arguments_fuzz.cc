// Any words, as the arguments of every command: lines of the input are the words. Whatever they are, what is read of
// them keeps to the declaration: values that were given, choices made once, charges that can be carried out.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "server/doors/resp/arguments.h"
#include "server/doors/resp/command_table.h"
#include "wire/text.h"

namespace mete::server {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool has_arity(const Command& command, std::size_t words) {
  const auto count = static_cast<int>(words + command.name_words());
  return command.arity() >= 0 ? count == command.arity() : count >= -command.arity();
}

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  for (const std::string_view each : words) {
    if (each.data() == word.data() && each.size() == word.size()) return true;
  }
  return false;
}

// What was read, in a form that can be compared.
std::string check_read(const Command& command, const Arguments& arguments, std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t index = 0; index < command.arguments.size(); ++index) {
    const Argument& argument = command.arguments[index];
    text += arguments.has(index) ? '1' : '0';
    if (!arguments.has(index)) continue;
    for (std::size_t other = 0; argument.choice != 0 && other < index; ++other) {
      CHECK(command.arguments[other].choice != argument.choice || !arguments.has(other));
    }
    if (argument.type == ArgumentType::kFlag || argument.is_multiple) continue;
    CHECK(is_among(arguments.text(index), words));
    text.append(arguments.text(index)).append(" ");
    if (argument.type == ArgumentType::kInteger) {
      CHECK(std::to_string(arguments.integer(index)) == arguments.text(index));
    }
    if (argument.type == ArgumentType::kDuration || argument.type == ArgumentType::kDecimal) {
      CHECK(arguments.duration(index).ns() >= 0);
    }
  }
  CHECK(arguments.charges().size() <= kChargesMax);
  for (const Charge& charge : arguments.charges()) {
    CHECK(is_among(charge.limit, words) && is_among(charge.key, words));
    text.append(charge.limit).append(" ").append(charge.key).append(std::to_string(charge.cost));
  }
  for (const std::string_view word : arguments.rest()) {
    CHECK(is_among(word, words));
    text.append(word).append(" ");
  }
  return text;
}

}  // namespace
}  // namespace mete::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mete::server;
  static Arguments used;  // as a session reuses them: nothing of an earlier request may show
  const std::string input(data, data + size);
  const auto words = lines_of(input);
  for (const Command& command : all_commands()) {
    if (!has_arity(command, words.size())) continue;
    Arguments fresh;
    const auto read = fresh.read(command, words);
    const auto again = used.read(command, words);
    CHECK(read.has_value() == again.has_value());
    if (!read) {
      CHECK(read.error() == again.error() && mete::wire::is_utf8(read.error().message));
      continue;
    }
    CHECK(check_read(command, fresh, words) == check_read(command, used, words));
  }
  return 0;
}
