// The time of stores that lie elsewhere: in microseconds, which is what their clocks count, and RemoteClock.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/lock.h"

namespace mete::store {

// Such a store can tell microseconds apart. What is finer is refused.
inline constexpr std::int64_t kNsPerMicro = 1000;

// In whole microseconds; kInvalid, with the field's name, if that would round it.
Result<std::int64_t> micros_of(std::string_view field, Duration length);
Result<std::uint64_t> micros_of(std::string_view field, Instant at);

// Saturates, as all times do.
Instant instant_of_micros(std::uint64_t micros);

// RemoteClock: the time there, and never an earlier one than was seen before.
//
// The latest time that the server has told goes with each call, and there time is never before it: a server whose clock
// is set back, or another one that is in charge now, goes on from here.
//
// Thread safety: every call from any thread.
class RemoteClock {
 public:
  // In microseconds since the Unix epoch, as all times here.
  [[nodiscard]] std::uint64_t floor_us() const { return floor_us_.load(std::memory_order_relaxed); }
  void raise(std::uint64_t now_us) { base::raise(floor_us_, now_us); }
  // What the server's clock says at this moment; so also how far that is from this machine's.
  void tell(std::uint64_t now_us);
  // About what the server's clock says now.
  [[nodiscard]] Instant now() const;

 private:
  std::atomic<std::uint64_t> floor_us_{0};
  std::atomic<std::int64_t> skew_us_{0};
};

}  // namespace mete::store
