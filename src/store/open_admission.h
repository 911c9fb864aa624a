// What a take is answered while the store is away and all its limits are open then (on_fail).
#pragma once

#include <mete/limit.h>

#include <algorithm>
#include <optional>
#include <span>

#include "core/operations.h"
#include "core/verdict.h"

namespace mete::store {

// What of a limit is needed then.
struct WhenAway {
  bool is_open = false;
  Amount capacity = 0;

  static WhenAway of(const Limit& limit) {
    return {.is_open = limit.on_fail() == OnFail::kOpen, .capacity = limit.burst().value_or(limit.amount())};
  }
};

// `taken` of limits the least of which has `limit`. Nobody knows what remains: as if the meters were fresh.
inline core::Verdict admit_as_fresh(Amount taken, Amount limit, std::span<Usage> usages) {
  for (Usage& usage : usages) {
    usage = {};
    usage.remaining = usage.limit = limit;
  }
  return {.is_allowed = true, .violated = 0, .taken = taken, .remaining = limit, .limit = limit};
}

// None unless each of the take's limits is known to be open. `find` tells what of a limit is known, by its name.
template <class Find>
std::optional<core::Verdict> admit_if_open(const core::Take& request, Find find) {
  Amount taken = 0;
  Amount least = kAmountMax;
  for (const Charge& charge : request.charges) {
    const std::optional<WhenAway> limit = find(charge.limit);
    if (!limit || !limit->is_open) return std::nullopt;
    taken += charge.cost;
    least = std::min(least, limit->capacity);
  }
  return admit_as_fresh(taken, least, request.usages);
}

}  // namespace mete::store
