// Stretch: a stretch of time in which a zone's clocks keep one offset from UTC.
//
// Absolute time is sys_seconds (Unix time, no leap seconds), what a clock on the wall shows is local_seconds; the two
// do not mix, and local = absolute + offset. Thread safety: values.
#pragma once

#include <chrono>
#include <cstdint>

namespace mete::civil {

// What a zone may hold: all of time for practical purposes, and far enough from the ends of 64 bits to add offsets to.
inline constexpr std::chrono::sys_seconds kTimeMin{std::chrono::seconds(-(std::int64_t{1} << 59))};
inline constexpr std::chrono::sys_seconds kTimeMax{std::chrono::seconds(std::int64_t{1} << 59)};

// The offsets that a POSIX rule can tell, and the bounds that RFC 9636 recommends: 24:59:59 west to 25:59:59 east.
inline constexpr std::chrono::seconds kOffsetMin = -std::chrono::seconds(25 * 3600 - 1);
inline constexpr std::chrono::seconds kOffsetMax = std::chrono::seconds(26 * 3600 - 1);

// Half open: it holds `start` and ends just before `end`. The next stretch may have the same offset.
struct Stretch {
  std::chrono::sys_seconds start;
  std::chrono::sys_seconds end;
  std::chrono::seconds offset;  // east of UTC

  [[nodiscard]] constexpr std::chrono::local_seconds to_local(std::chrono::sys_seconds at) const {
    return std::chrono::local_seconds(at.time_since_epoch() + offset);
  }
  [[nodiscard]] constexpr std::chrono::sys_seconds to_absolute(std::chrono::local_seconds local) const {
    return std::chrono::sys_seconds(local.time_since_epoch() - offset);
  }
  bool operator==(const Stretch&) const = default;
};

}  // namespace mete::civil
