// The JSON objects of the HTTP API, each declared once: requests are checked against them, answers are described by
// them, and the OpenAPI document lists them.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "wire/json.h"

namespace mete::server {

enum class MemberType : std::uint8_t {
  kText,
  kInteger,
  kBoolean,
  kDuration,     // "1h", or an integer of seconds
  kTexts,        // an array of them
  kIntegers,     // an array of them
  kCharges,      // an array of schema::kCharge
  kHeldCharges,  // an array of schema::kHeldCharge
  kDifferences,  // an array of schema::kDifference
  kSyncs,        // an array of schema::kSync
  kSyncRuns,     // an array of schema::kSyncRun
};

struct MemberSpec {
  std::string_view name;
  MemberType type;
  bool is_required;
  std::string_view summary;
  std::string_view choices = {};  // the texts that are allowed, as in "take|peek"; empty: any
};

struct Schema {
  std::string_view name;
  std::span<const MemberSpec> members;
};

// Refuses what is not an object of the schema: a member that is missing, unknown or of another type is named, with its
// place, as in "charges[2].cost must be an integer, not 1.5". Text must not have NUL: see wire/uri.h.
Result<void> check_object(const wire::JsonValue& value, const Schema& schema);

// The schema of an array's elements; null for the other types.
const Schema* element_schema(MemberType type);

// The member's value; null where it is absent. `object` is an object.
const wire::JsonValue* find_member(const wire::JsonValue& object, std::string_view name);

// Calls `visit` with each of "a|b|c".
template <class Visit>
void for_each_choice(std::string_view choices, Visit visit) {
  while (!choices.empty()) {
    const std::size_t bar = choices.find('|');
    visit(choices.substr(0, bar));
    choices = bar == std::string_view::npos ? std::string_view() : choices.substr(bar + 1);
  }
}

}  // namespace mete::server
