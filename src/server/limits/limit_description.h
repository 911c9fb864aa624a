// The other way round from limit_fields.h: the fields that make a limit what it is, for answers.
#pragma once

#include <mete/limit.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wire/json.h"

namespace mete::server {

struct LimitField {
  std::string_view name;
  std::variant<std::int64_t, std::string, bool> value;
};

// What make_limit makes the same limit of, after the name. A field that was not given is not there.
std::vector<LimitField> describe_limit(const Limit& limit);

// As members of an object that is open.
void write_fields(const std::vector<LimitField>& fields, wire::JsonWriter& writer);

}  // namespace mete::server
