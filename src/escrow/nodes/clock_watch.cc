#include "escrow/nodes/clock_watch.h"

#include <utility>

#include "escrow/nodes/roll.h"

namespace mete::escrow {

std::optional<Duration> ClockWatch::note(const Reading& reading) {
  const auto last = std::exchange(last_, reading);
  if (!last) return std::nullopt;
  std::int64_t shown = reading.shown.ns() - last->shown.ns();
  if (shown < -kClockPeriod.ns() / 2) shown += kClockPeriod.ns();  // Another period has begun; or the one before again:
  if (shown > kClockPeriod.ns() / 2) shown -= kClockPeriod.ns();
  // So much time has passed between the two moments at which it was read.
  const std::int64_t at_least = (reading.asked_at - last->told_at).ns();
  const std::int64_t at_most = (reading.told_at - last->asked_at).ns();
  const bool is_ahead = shown - at_most >= kStepMin.ns();
  const bool is_back = at_least - shown >= kStepMin.ns();
  if (!is_ahead && !is_back) return std::nullopt;
  return Duration::from_ns(shown - (is_ahead ? at_most : at_least));
}

}  // namespace mete::escrow
