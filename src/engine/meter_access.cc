#include "engine/meter_access.h"

#include <algorithm>
#include <utility>

namespace mete::engine {

void MeterAccess::rebase(const RuleRecord& to, Instant at) {
  const core::Rule& from = rule->rule();
  const core::Moment before = rule->moment(state, at);
  core::settle(from, state, before);
  const core::Moment after = to.moment(core::State(), before.now);
  if (parts != nullptr && !core::keeps_charges({from, before}, {to.rule(), after})) {
    parts->remake({from, before}, state, {to.rule(), after});
  }
  state = core::rebase({from, before}, state, {to.rule(), after});
  rule = &to;
}

std::vector<std::string> MeterAccess::hold_ids(std::size_t count_max) const {
  std::vector<std::string> ids;
  if (parts == nullptr) return ids;
  for (const OpenPart& part : *parts) {
    if (ids.size() == count_max) break;
    // A hold that charges the meter twice has two parts, which stand together.
    if (ids.empty() || ids.back() != part.id) ids.emplace_back(part.id);
  }
  return ids;
}

Amount MeterAccess::held() const {
  return parts == nullptr ? 0 : std::min(parts->held(rule->rule(), state, moment), used());
}

Usage MeterAccess::usage() const {
  const Amount held_units = held();
  return {.used = used() - held_units,
          .held = held_units,
          .remaining = remaining(),
          .limit = capacity(),
          .reset_after = reset_after()};
}

}  // namespace mete::engine
