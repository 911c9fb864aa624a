// Session: what a store has learnt of its Redis, and tells it with each operation. Thread safety: every field.
#pragma once

#include <atomic>
#include <cstdint>

namespace mete::store::redis {

struct Session {
  // The latest time that was seen, in microseconds: time never runs backwards, even if another server with a slower
  // clock takes over.
  std::atomic<std::uint64_t> floor_us{0};
  // Raised by clear(): what was written under another one is forgotten.
  std::atomic<std::uint64_t> epoch{0};

  void saw(std::uint64_t now_us) {
    std::uint64_t so_far = floor_us.load(std::memory_order_relaxed);
    while (so_far < now_us && !floor_us.compare_exchange_weak(so_far, now_us, std::memory_order_relaxed)) {
    }
  }
};

}  // namespace mete::store::redis
