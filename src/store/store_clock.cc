#include "store/store_clock.h"

#include <algorithm>
#include <ctime>

#include "base/lock.h"

namespace mete::store {

namespace {

constexpr std::uint64_t kFollowEveryNs = 1'000'000'000;

std::uint64_t read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t wall_offset() { return read_clock(CLOCK_REALTIME) - read_clock(CLOCK_MONOTONIC); }

}  // namespace

SystemClock::SystemClock() : offset_ns_(wall_offset()), followed_at_ns_(read_clock(CLOCK_MONOTONIC)) {}

Instant SystemClock::now() const {
  const std::uint64_t monotonic = read_clock(CLOCK_MONOTONIC);
  if (monotonic - followed_at_ns_.load(std::memory_order_relaxed) >= kFollowEveryNs) follow_wall_clock(monotonic);
  const std::uint64_t now = monotonic + offset_ns_.load(std::memory_order_acquire);
  return Instant::from_ns(std::max(now, floor_ns_.load(std::memory_order_relaxed)));
}

void SystemClock::follow_wall_clock(std::uint64_t monotonic_ns) const {
  std::uint64_t followed_at = followed_at_ns_.load(std::memory_order_relaxed);
  if (monotonic_ns < followed_at || monotonic_ns - followed_at < kFollowEveryNs) return;
  if (!followed_at_ns_.compare_exchange_strong(followed_at, monotonic_ns)) return;  // another thread does it
  const std::uint64_t offset = wall_offset();
  if (offset < offset_ns_.load(std::memory_order_relaxed)) {
    const std::uint64_t latest = read_clock(CLOCK_MONOTONIC) + offset_ns_.load(std::memory_order_relaxed);
    base::raise(floor_ns_, latest);
  }
  offset_ns_.store(offset, std::memory_order_release);
}

void SystemClock::not_before(Instant time) { base::raise(floor_ns_, time.ns()); }

Instant MonotoneClock::now() const {
  base::raise(latest_ns_, clock_.now().ns());
  return Instant::from_ns(latest_ns_.load(std::memory_order_relaxed));
}

void MonotoneClock::not_before(Instant time) { base::raise(latest_ns_, time.ns()); }

std::unique_ptr<StoreClock> make_store_clock(const Clock* users) {
  if (users != nullptr) return std::make_unique<MonotoneClock>(*users);
  return std::make_unique<SystemClock>();
}

}  // namespace mete::store
