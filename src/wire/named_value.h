// NamedValue: a number, a text or a truth with its name, as JSON, TOML and the maps of RESP have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mete::wire {

using Scalar = std::variant<std::int64_t, std::string, bool>;

struct NamedValue {
  std::string_view name;
  Scalar value;
};

using NamedValues = std::vector<NamedValue>;

}  // namespace mete::wire
