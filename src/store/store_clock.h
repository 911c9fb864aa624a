// StoreClock: the time of a store in this process. It never runs backwards, whatever the clock behind it does.
//
// Thread safety: now() from any thread.
#pragma once

#include <mete/clock.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/monotonic.h"
#include "base/processor_clock.h"
#include "store/clock_status.h"

namespace mete::store {

class StoreClock : public Clock {
 public:
  // What was kept from an earlier process is of this time: it is no earlier now.
  virtual void not_before(Instant time) = 0;
  // By how much the wall clock may step, or be behind what was kept, to be believed.
  [[nodiscard]] virtual Duration step_max() const { return Duration::never(); }
  [[nodiscard]] virtual ClockStatus status() const { return {}; }
};

// The system's wall clock, carried by one that never jumps, so that reading it from many threads shares nothing they
// write. The carrier is the processor's counter where that is safe (base/processor_clock.h), else the monotonic clock.
//
// Ten times a second, by whoever reads it, it is held against the wall clock. A step of that is noticed by then:
// forwards is followed, backwards lets time stand still. One by more than step_max() is refused either way: a clock
// that is wrong by a year for a second would make time stand still for a year. Then time goes on as before, by the
// carrier alone, until the wall clock is near it again; whoever believes the new time starts the process again. The
// time that the machine was suspended is no step. In between the two differ by at most 100 µs: the counter's rate is
// known to 0.1 per mille, and Linux slews its clocks by at most 0.5. A counter that differs from the monotonic clock by
// more than that, as after the machine was suspended or moved, is not used again.
class SystemClock final : public StoreClock {
 public:
  using ReadWall = std::uint64_t (*)();

  explicit SystemClock(Duration step_max = Duration::never()) : SystemClock(base::ProcessorClock::get(), step_max) {}
  // With this counter, or none; and with another wall clock than the machine's, for tests.
  explicit SystemClock(const base::ProcessorClock* counter, Duration step_max = Duration::never(),
                       ReadWall read_wall = nullptr);

  [[nodiscard]] Instant now() const override {
    // In this order: who sees the time of a look sees its offset as well.
    const std::uint64_t followed_at = followed_at_ns_.load(std::memory_order_acquire);
    const std::uint64_t offset = offset_ns_.load(std::memory_order_acquire);
    if ((offset & kByCounter) == 0) return now_by_monotonic();
    const std::uint64_t carried = counter_->now_ns();
    if (carried - followed_at >= kFollowEveryNs) return follow_and_tell();
    return not_before_floor(carried + (offset & ~kByCounter));
  }
  void not_before(Instant time) override;
  [[nodiscard]] Duration step_max() const override { return step_max_; }
  [[nodiscard]] ClockStatus status() const override {
    return {.refused_steps = refused_steps_.load(std::memory_order_relaxed),
            .refused_by = Duration::from_ns(refused_by_ns_.load(std::memory_order_relaxed))};
  }

  [[nodiscard]] bool is_by_counter() const { return (offset_ns_.load(std::memory_order_relaxed) & kByCounter) != 0; }

 private:
  static constexpr std::uint64_t kFollowEveryNs = 100'000'000;
  static constexpr std::uint64_t kByCounter = 1;

  struct Look;

  [[nodiscard]] Instant not_before_floor(std::uint64_t ns) const {
    return Instant::from_ns(std::max(ns, floor_ns_.load(std::memory_order_relaxed)));
  }
  [[nodiscard]] Instant now_by_monotonic() const;
  // The time when the wall clock has to be looked at: by the monotonic clock, whose word can be taken without a look.
  [[nodiscard]] Instant follow_and_tell() const;
  [[nodiscard]] Look look() const;
  void follow_wall_clock() const;
  // What the wall clock of this look is to be taken for.
  [[nodiscard]] std::uint64_t believed_ns(const Look& now) const;

  const base::ProcessorClock* const counter_;
  const Duration step_max_;
  const ReadWall read_wall_;
  // Wall clock minus carrier, modulo 2^64, in steps of 2 ns; the lowest bit tells which carrier. In one word, so that
  // nobody adds the offset of one to the other.
  mutable std::atomic<std::uint64_t> offset_ns_;
  mutable std::atomic<std::uint64_t> followed_at_ns_;  // by the carrier
  mutable std::atomic<std::uint64_t> floor_ns_{0};
  mutable std::atomic<std::uint64_t> monotonic_offset_ns_;  // wall clock minus monotonic clock
  // Both carriers when the wall clock was looked at last; of whoever is following it.
  mutable std::atomic_flag is_being_followed_;
  mutable std::uint64_t counter_then_ns_ = 0;
  mutable std::uint64_t monotonic_then_ns_ = 0;
  mutable std::uint64_t suspended_then_ns_ = 0;
  mutable std::atomic<std::uint64_t> refused_steps_{0};
  mutable std::atomic<std::int64_t> refused_by_ns_{0};
};

// A clock given by the user, held back from running backwards.
class MonotoneClock final : public StoreClock {
 public:
  explicit MonotoneClock(const Clock& clock) : clock_(clock) {}
  [[nodiscard]] Instant now() const override;
  void not_before(Instant time) override;

 private:
  const Clock& clock_;
  mutable std::atomic<std::uint64_t> latest_ns_{0};
};

// The clock of the user's options, or the system's where there is none. `step_max`: zero for none.
std::unique_ptr<StoreClock> make_store_clock(const Clock* users, Duration step_max);

}  // namespace mete::store
