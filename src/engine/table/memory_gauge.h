// MemoryGauge: how many bytes the engine has, and how many it may have. Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <atomic>
#include <cstddef>
#include <string>

#include "base/errors.h"

namespace mete::engine {

// What a node of a map or set takes beside its value.
inline constexpr std::size_t kTreeNodeBytes = 48;

class MemoryGauge {
 public:
  explicit MemoryGauge(std::size_t bytes_max) : bytes_max_(bytes_max) {}  // 0: no ceiling

  // False, and nothing is counted, if that would pass the ceiling.
  [[nodiscard]] bool try_add(std::size_t bytes) {
    const std::size_t total = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (bytes_max_ == 0 || total <= bytes_max_) return true;
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }

  // For what keeps existing meters working: it is counted even past the ceiling.
  void add(std::size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void subtract(std::size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  [[nodiscard]] std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // What to tell whoever wants more.
  [[nodiscard]] Error out_of_memory() const {
    if (bytes_max_ == 0) return base::out_of_memory("the system has no more memory for meters");
    return base::out_of_memory("the memory ceiling of " + std::to_string(bytes_max_) +
                               " bytes is reached: raise max_memory, or wait until keys in use are fresh again");
  }

 private:
  std::atomic<std::size_t> bytes_{0};
  const std::size_t bytes_max_;
};

// An operation that finds no memory asks for some, once: it is tried again if evict() made some. Called with no bucket
// locked.
template <class Attempt, class Evict>
auto try_with_eviction(Attempt attempt, Evict evict) {
  auto result = attempt();
  const bool is_full = !result.has_value() && result.error().code == ErrorCode::kOutOfMemory;
  if (is_full && evict()) result = attempt();
  return result;
}

}  // namespace mete::engine
