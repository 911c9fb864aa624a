// [[sync]]: its keys, each declared once, and a plan made of them and back.
#pragma once

#include <mete/result.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/limits/limit_fields.h"
#include "sync/plan.h"

namespace mete::server {

struct SyncKey {
  std::string_view name;
  bool is_required;
  std::string_view meaning;  // in Markdown
  Result<void> (*set)(sync::Plan& plan, const Field& field);
};

std::span<const SyncKey> sync_keys();

// Checks all that can be told without asking anybody. A message begins with the name of the key that it is about.
Result<sync::Plan> make_plan(std::span<const Field> fields);

// What make_plan makes the same plan of. A key that says nothing is not there. The source is as it was given, with its
// password.
std::vector<LimitField> describe_plan(const sync::Plan& plan);

}  // namespace mete::server
