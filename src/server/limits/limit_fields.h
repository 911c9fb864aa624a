// A limit from named values, as JSON and TOML have them, and back. core/limit_fields.h has the fields.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <span>
#include <string>

#include "wire/named_value.h"

namespace mete::server {

// Checks everything but the time zone, which the store knows. `period` is a duration ("1m"; a bare integer is seconds),
// and of a calendar hour, day, week, month or year. A message begins with the name of the field that it is about.
Result<Limit> make_limit(std::string name, std::span<const wire::NamedValue> values);

// The values that make_limit makes the same limit of, after the name. A field that was not given is not there.
wire::NamedValues describe_limit(const Limit& limit);

}  // namespace mete::server
