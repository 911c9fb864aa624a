// The monotonic clock: for how long things take, and never for when they happen.
#pragma once

#include <mete/time.h>

#include <cstdint>
#include <ctime>

namespace mete::base {

inline std::uint64_t monotonic_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

inline Instant monotonic_now() { return Instant::from_ns(monotonic_ns()); }

}  // namespace mete::base
