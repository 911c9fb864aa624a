#include "core/sliding.h"

#include <algorithm>

namespace mete::core::sliding {

namespace {

// How far into a window `previous` weighs no more than `room`: previous · (period - elapsed) <= room · period.
std::uint64_t elapsed_until_room(Amount previous, Amount room, std::uint64_t period_ns) {
  if (previous <= room) return 0;
  const auto weight_max =
      base::div_floor(base::multiply(base::to_unsigned(room), period_ns), base::to_unsigned(previous));
  return period_ns - static_cast<std::uint64_t>(weight_max);
}

}  // namespace

void release(SlidingState& state, const HeldPart& part) {
  if (owns(state, part)) state.current -= std::min(part.units, state.current);
}

Duration wait_for(const Rule& rule, const SlidingState& state, Amount cost, const Moment& moment) {
  if (used(rule, state, moment) + cost <= rule.capacity) return {};
  Instant window_start = moment.window.start;
  Amount previous = state.previous;
  Amount room = rule.capacity - state.current - cost;
  if (room < 0) {  // not in this window: in the next one, where the current usage is the previous one
    window_start = moment.window.end;
    previous = state.current;
    room = rule.capacity - cost;
  }
  const auto elapsed = elapsed_until_room(previous, room, rule.period_ns());
  return window_start - moment.now + Duration::from_ns(static_cast<std::int64_t>(elapsed));
}

Duration reset_after(const Rule& rule, const SlidingState& state, const Moment& moment) {
  const Duration rest = moment.window.end - moment.now;
  if (state.current > 0) return rest + rule.period;
  return state.previous > 0 ? rest : Duration();
}

}  // namespace mete::core::sliding
