// RemoteClock: the time of a store that lies elsewhere, and never an earlier one than was seen before.
//
// The latest time that the server has told goes with each call, and there time is never before it: a server whose clock
// is set back, or another one that is in charge now, goes on from here.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/time.h>

#include <atomic>
#include <cstdint>

#include "base/lock.h"

namespace mete::store {

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
