// What a take is answered while the store is away and all its limits are open then (on_fail).
#pragma once

#include <span>

#include "core/verdict.h"

namespace mete::store {

// `taken` of limits the least of which has `limit`. Nobody knows what remains: as if the meters were fresh.
inline core::Verdict admit_as_fresh(Amount taken, Amount limit, std::span<Usage> usages) {
  for (Usage& usage : usages) {
    usage = {};
    usage.remaining = usage.limit = limit;
  }
  return {.is_allowed = true, .violated = 0, .taken = taken, .remaining = limit, .limit = limit};
}

}  // namespace mete::store
