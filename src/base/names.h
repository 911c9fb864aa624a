// Names of an enumeration in one text, in the order of its values: "closed|open". What writes a name, reads one, lists
// those that are allowed or documents them uses the same text. Pure.
//
//     inline constexpr std::string_view kSideNames = "left|right";
//     std::string_view to_string(Side side) { return base::name_of(kSideNames, side); }
//     std::optional<Side> side = base::named<Side>(kSideNames, "left");
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mete::base {

// Calls `visit` with each name, until it returns true; whether it did.
template <class Visit>
constexpr bool any_name(std::string_view names, Visit visit) {
  while (true) {
    const std::size_t bar = names.find('|');
    if (visit(names.substr(0, bar))) return true;
    if (bar == std::string_view::npos) return false;
    names.remove_prefix(bar + 1);
  }
}

// Empty if there are not so many.
template <class Value>
constexpr std::string_view name_of(std::string_view names, Value value) {
  std::string_view found;
  any_name(names, [&, left = static_cast<std::int64_t>(value)](std::string_view name) mutable {
    if (left == 0) found = name;
    return left-- == 0;
  });
  return found;
}

template <class Value>
constexpr std::optional<Value> named(std::string_view names, std::string_view name) {
  std::int64_t index = 0;
  const bool is_known = any_name(names, [&](std::string_view each) {
    index += each == name ? 0 : 1;
    return each == name;
  });
  return is_known ? std::optional(static_cast<Value>(index)) : std::nullopt;
}

constexpr std::size_t count_names(std::string_view names) {
  std::size_t count = 0;
  any_name(names, [&](std::string_view /*name*/) { return ++count == 0; });
  return count;
}

std::vector<std::string> split_names(std::string_view names);
// For messages: "closed" or "open".
std::string name_list(std::string_view names, std::string_view quote = "\"");

}  // namespace mete::base
