// Sliding: the current window's usage, plus the previous one's weighted by the part of it that the last period still
// covers, in integers and rounded against the client.
//
//          previous          current
//     ├───────────────────┼─────────■─────────┤        ■ now
//               ├───────────────────┤                  the last period: all of current's usage so far,
//               └ weight ─┘                            and weight / period of previous's
//
// Every function but settle() wants a state that is settled in the moment's window.
#pragma once

#include "core/rule.h"
#include "core/state.h"

namespace mete::core::sliding {

inline SlidingState settle(const Rule& rule, const SlidingState& state, const Moment& moment) {
  if (state.start == moment.window.start) return state;
  const bool is_next = state.start + rule.period == moment.window.start;
  return {moment.window.start, 0, is_next ? state.current : 0};
}

inline Amount used(const Rule& rule, const SlidingState& state, const Moment& moment) {
  const auto weight = base::to_unsigned((moment.window.end - moment.now).ns());
  const auto previous = base::multiply(base::to_unsigned(state.previous), weight);
  return state.current + base::saturate(base::div_ceil(previous, rule.period_ns()));
}

// As in a window: only what the current window was charged can be given back.
inline bool owns(const SlidingState& state, const HeldPart& part) { return part.made_at >= state.start; }

void release(SlidingState& state, const HeldPart& part);
Duration wait_for(const Rule& rule, const SlidingState& state, Amount cost, const Moment& moment);
Duration reset_after(const Rule& rule, const SlidingState& state, const Moment& moment);

}  // namespace mete::core::sliding
