// Window and calendar: usage of one window, forgotten when the next one begins.
//
// Every function but settle() wants a state that is settled in the moment's window.
#pragma once

#include <algorithm>

#include "core/rule.h"
#include "core/state.h"

namespace mete::core::window {

inline WindowState settle(const WindowState& state, const Moment& moment) {
  return state.start == moment.window.start ? state : WindowState{moment.window.start, 0};
}

// A charge belongs to the window it was made in: released later, it credits nothing.
inline bool owns(const WindowState& state, const HeldPart& part) { return part.made_at >= state.start; }

inline void release(WindowState& state, const HeldPart& part) {
  if (owns(state, part)) state.used -= std::min(part.units, state.used);
}

inline Duration wait_for(const Rule& rule, const WindowState& state, Amount cost, const Moment& moment) {
  return state.used + cost <= rule.capacity ? Duration() : moment.window.end - moment.now;
}

inline Duration reset_after(const WindowState& state, const Moment& moment) {
  return state.used == 0 ? Duration() : moment.window.end - moment.now;
}

}  // namespace mete::core::window
