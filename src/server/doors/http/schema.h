// The JSON objects of the HTTP API, each declared once: requests are checked against them, answers are described by
// them, and the OpenAPI document lists them.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "wire/json.h"

namespace mete::server {

enum class MemberType : std::uint8_t {
  kText,
  kInteger,
  kBoolean,
  kDuration,  // "1h", or an integer of seconds
  kTexts,     // an array of them
  kIntegers,  // an array of them
  kObjects,   // an array of the member's elements
};

struct Schema;

struct MemberSpec {
  std::string_view name = {};
  MemberType type = MemberType::kText;
  bool is_required = false;
  std::string_view summary = {};
  std::string_view choices = {};     // the texts that are allowed, as in "take|peek"; empty: any
  const Schema* elements = nullptr;  // of kObjects
};

using Members = std::vector<MemberSpec>;

struct Schema {
  std::string_view name;
  Members members;
};

// Refuses what is not an object of the schema: a member that is missing, unknown or of another type is named, with its
// place, as in "charges[2].cost must be an integer, not 1.5". Text must not have NUL: see wire/uri.h.
Result<void> check_object(const wire::JsonValue& value, const Schema& schema);

// The same of an array of such objects: its first element is [0].
Result<void> check_list(const wire::JsonValue& value, const Schema& schema);

// The member's value; null where it is absent. `object` is an object.
const wire::JsonValue* find_member(const wire::JsonValue& object, std::string_view name);

}  // namespace mete::server
