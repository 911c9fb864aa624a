// A limit from named fields, as JSON and TOML have them, and back: kind, amount, period, burst, zone, anchor, shadow,
// durable, on_fail, scope.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mete::wire {
class JsonWriter;
}

namespace mete::server {

// A field that was read; its text is a view.
struct Field {
  std::string_view name;
  std::variant<std::int64_t, std::string_view, bool> value;
};

// A field of an answer.
struct LimitField {
  std::string_view name;
  std::variant<std::int64_t, std::string, bool> value;
};

// Checks everything but the time zone, which the store knows. `period` is a duration ("1m"; a bare integer is seconds),
// and of a calendar hour, day, week, month or year. A message begins with the name of the field that it is about.
Result<Limit> make_limit(std::string name, std::span<const Field> fields);

// The fields that make_limit makes the same limit of, after the name. A field that was not given is not there.
std::vector<LimitField> describe_limit(const Limit& limit);

// As members of an object that is open.
void write_fields(const std::vector<LimitField>& fields, wire::JsonWriter& writer);

}  // namespace mete::server
