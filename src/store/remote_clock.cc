#include "store/remote_clock.h"

#include <algorithm>
#include <chrono>

#include "store/micros.h"

namespace mete::store {

namespace {

std::int64_t local_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

}  // namespace

void RemoteClock::tell(std::uint64_t now_us) {
  skew_us_.store(static_cast<std::int64_t>(now_us) - local_us(), std::memory_order_relaxed);
  raise(now_us);
}

Instant RemoteClock::now() const {
  const auto there = static_cast<std::uint64_t>(local_us() + skew_us_.load(std::memory_order_relaxed));
  return instant_of_micros(std::max(there, floor_us()));
}

}  // namespace mete::store
