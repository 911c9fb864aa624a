// Breaker: whether a node may be tried now, so that one that is away does not cost every caller the time-out. A state
// machine without a clock: times and random numbers are arguments.
//
//     closed ── a failure ──→ open, for a while ──→ one trial ── succeeds ──→ closed
//                               ↑ twice as long, 2 s at most ──┘ fails
//
// Thread safety: none.
#pragma once

#include <mete/time.h>

#include <chrono>
#include <cstdint>

namespace mete::store {

class Breaker {
 public:
  static constexpr Duration kPauseMin = std::chrono::milliseconds(50);
  static constexpr Duration kPauseMax = std::chrono::seconds(2);

  enum class Admission : std::uint8_t {
    kRefused,
    kAdmitted,
    kTrial,  // the one attempt after a pause: whoever has it must say how it went
  };
  Admission admit(Instant now);

  void succeeded();
  // `admission`: what the failed attempt was told. Attempts that were under way when the breaker opened do not
  // lengthen the pause. The pause is between half of its length and all of it, by `random`: many processes that lost
  // the same server do not come back at the same time.
  void failed(Admission admission, Instant now, std::uint64_t random);

  [[nodiscard]] bool is_open() const { return is_open_; }

 private:
  bool is_open_ = false;
  bool is_trial_under_way_ = false;
  Duration pause_;
  Instant trial_at_;
};

}  // namespace mete::store
