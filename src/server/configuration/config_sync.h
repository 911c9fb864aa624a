// [[sync]]: its keys, each declared once, and a plan made of them and back.
#pragma once

#include <mete/result.h>

#include <span>
#include <string>
#include <string_view>

#include "sync/plan.h"
#include "wire/named_value.h"

namespace mete::server {

struct SyncKey {
  std::string_view name;
  bool is_required;
  std::string_view meaning;  // in Markdown
  Result<void> (*set)(sync::Plan& plan, const wire::NamedValue& field);
};

std::span<const SyncKey> sync_keys();

// Checks all that can be told without asking anybody. A message begins with the name of the key that it is about.
Result<sync::Plan> make_plan(std::span<const wire::NamedValue> fields);

// What make_plan makes the same plan of. A key that says nothing is not there. The source is as it was given, with its
// password.
wire::NamedValues describe_plan(const sync::Plan& plan);

}  // namespace mete::server
