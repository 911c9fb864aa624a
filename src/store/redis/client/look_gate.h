// LookGate: lets one thread at a time find out how things stand, and nobody right after it.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/time.h>

#include <atomic>
#include <chrono>

#include "base/monotonic.h"

namespace mete::store::redis {

class LookGate {
 public:
  static constexpr Duration kPauseMin = std::chrono::milliseconds(50);

  // Whether the caller is to look: it must say leave() then.
  [[nodiscard]] bool enter() {
    if (base::monotonic_ns() < next_ns_.load(std::memory_order_relaxed)) return false;
    return !is_taken_.exchange(true, std::memory_order_acquire);
  }
  void leave() {
    next_ns_.store(base::monotonic_ns() + static_cast<std::uint64_t>(kPauseMin.ns()), std::memory_order_relaxed);
    is_taken_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> is_taken_ = false;
  std::atomic<std::uint64_t> next_ns_ = 0;
};

}  // namespace mete::store::redis
