// ClockWatch: whether the clock of the shared store goes on evenly. Windows end by it, and shares are counted from it
// by this node's own steady clock: where it is set, the two do not agree any more about when a share ends. Pure.
//
// What it shows is asked for and told, and was read in between: a step is what cannot have been the way there and back.
// Thread safety: none.
#pragma once

#include <mete/time.h>

#include <optional>

namespace mete::escrow {

class ClockWatch {
 public:
  // A smaller step than this is none: slow answers and clocks that run unequally fast look the same.
  static constexpr Duration kStepMin = std::chrono::seconds(1);

  struct Reading {
    Duration shown;    // by the store's clock, since its last multiple of kClockPeriod
    Instant asked_at;  // by a clock that nobody can set
    Instant told_at;
  };
  // By how much the clock was set ahead since the last reading, or back if that is less than nothing. None: not at all.
  std::optional<Duration> note(const Reading& reading);

 private:
  std::optional<Reading> last_;
};

}  // namespace mete::escrow
