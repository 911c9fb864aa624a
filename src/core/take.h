// Take: one charge on one meter, judged and told.
#pragma once

#include "core/meter.h"
#include "core/verdict.h"

namespace mete::core {

// Charges the state if that fits, and says so.
inline bool charge_if_fits(const Rule& rule, State& state, Amount cost, const Moment& moment) {
  if (!fits(rule, state, cost, moment)) return false;
  charge(rule, state, cost, moment);
  return true;
}

// The same; and where it does not fit, the verdict tells how long to wait.
inline bool take(const Rule& rule, State& state, Amount cost, const Moment& moment, Verdict& verdict) {
  verdict.is_allowed = charge_if_fits(rule, state, cost, moment);
  if (verdict.is_allowed) {
    verdict.taken = cost;
  } else {
    verdict.violated = 1;
    verdict.retry_after = wait_for(rule, state, cost, moment);
  }
  return verdict.is_allowed;
}

// How things stand, for the answer.
inline void tell_standing(const Rule& rule, const State& state, const Moment& moment, Verdict& verdict) {
  const Standing now = standing(rule, state, moment);
  verdict.remaining = now.remaining;
  verdict.limit = rule.capacity;
  verdict.reset_after = now.reset_after;
}

}  // namespace mete::core
