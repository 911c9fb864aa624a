// The time of stores that lie elsewhere: in microseconds, which is what their clocks count, and RemoteClock.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "store/clock_status.h"

namespace mete::store {

// Such a store can tell microseconds apart. What is finer is refused.
inline constexpr std::int64_t kNsPerMicro = 1000;

// In whole microseconds; kInvalid, with the field's name, if that would round it.
Result<std::int64_t> micros_of(std::string_view field, Duration length);
Result<std::uint64_t> micros_of(std::string_view field, Instant at);

// Saturates, as all times do.
Instant instant_of_micros(std::uint64_t micros);

// What time a call may be decided at, in microseconds since the Unix epoch.
struct TimeBounds {
  std::uint64_t earliest_us = 0;
  // A clock that says later was set wrong: it is taken for the earliest.
  std::uint64_t latest_us = 0;

  // What a clock that says this is taken for.
  [[nodiscard]] std::uint64_t believed_us(std::uint64_t clock_us) const {
    return clock_us > latest_us ? earliest_us : std::max(clock_us, earliest_us);
  }
};

// RemoteClock: the time there, and never an earlier one than was seen before.
//
// The latest time that the server has told goes with each call, and there time is never before it: a server whose clock
// is set back, or another one that is in charge now, goes on from here.
//
// A step of that clock by more than `step_max`, against one of this machine that never jumps, is refused either way: a
// clock that is ahead by a year for two seconds would make time stand still for a year. Then time goes on as before, by
// this machine's clock alone, until the server's is near it again. Whoever believes the new time starts the process
// again. What a script decides meanwhile is decided within bounds().
//
// Thread safety: every call from any thread.
class RemoteClock {
 public:
  // Of a clock of this machine that goes on while it is suspended: in microseconds since any time.
  using ReadElapsed = std::uint64_t (*)();

  // `step_max`: zero for none.
  explicit RemoteClock(Duration step_max = {}, ReadElapsed read_elapsed = nullptr);

  // In microseconds since the Unix epoch, as all times here.
  [[nodiscard]] std::uint64_t floor_us() const;
  [[nodiscard]] TimeBounds bounds() const;
  // A time that an answer has told. One that cannot be is not believed.
  void raise(std::uint64_t now_us);
  // What the server's clock says at this moment; so also how far that is from this machine's.
  void tell(std::uint64_t now_us);
  // About what time it is there.
  [[nodiscard]] Instant now() const;
  [[nodiscard]] ClockStatus status() const;

 private:
  [[nodiscard]] std::uint64_t expected_us() const;

  const std::int64_t step_max_us_;
  const ReadElapsed read_elapsed_;
  std::atomic<std::uint64_t> floor_us_{0};
  std::atomic<bool> is_set_{false};          // the server has told its time
  std::atomic<std::uint64_t> offset_us_{0};  // the believed time minus the elapsed one, modulo 2^64
  std::atomic<std::int64_t> refused_by_us_{0};
  std::atomic<std::uint64_t> refused_steps_{0};
};

}  // namespace mete::store
