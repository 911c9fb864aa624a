// A limit from named fields, as JSON and TOML have them: kind, amount, period, burst, zone, anchor, shadow,
// durable, on_fail, scope.
//
// A message begins with the name of the field that it is about.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace mete::server {

struct Field {
  std::string_view name;
  std::variant<std::int64_t, std::string_view, bool> value;
};

// Checks everything but the time zone, which the store knows. `period` is a duration ("1m"; a bare integer is seconds),
// and of a calendar hour, day, week, month or year.
Result<Limit> make_limit(std::string name, std::span<const Field> fields);

}  // namespace mete::server
