// Zone: the offset from UTC that a time zone's clocks keep at any time, from the bytes of its TZif file.
//
// The file lists past changes one by one and ends with a rule for all years to come; a Zone follows both, so it is as
// right in 2500 as in 2000. What it knows is when offsets change, not what they are called.
//
// Absolute time is sys_seconds (Unix time, no leap seconds), what a clock on the wall shows is local_seconds; the two
// do not mix, and local = absolute + offset.
//
// A Zone owns its table; only load_zone() does I/O. Thread safety: const calls and load_zone() from any thread.
#pragma once

#include <mete/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "calendar/posix_rule.h"

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

class Zone {
 public:
  static Zone utc() { return {}; }

  // Reads TZif of version 2 or later (RFC 9636) without leap seconds. Any bytes may be given; those that are no such
  // file are refused, and the message is a reason without a field.
  static Result<Zone> parse(std::string_view bytes);

  // The stretch that holds `at`: start <= at < end. `at` lies within 8,000 years of the epoch.
  [[nodiscard]] Stretch stretch_at(std::chrono::sys_seconds at) const;

 private:
  struct Transition {
    std::chrono::sys_seconds at;
    std::chrono::seconds offset;  // from `at` on
  };

  Zone() = default;

  // Ascending and never empty: the first stands for what held before the first change.
  std::vector<Transition> transitions_{{kTimeMin, std::chrono::seconds(0)}};
  // Holds from the last transition on; where there is none, the last offset stays.
  std::optional<PosixRule> rule_;
};

inline constexpr const char* kZoneFolder = "/usr/share/zoneinfo";
inline constexpr std::size_t kZoneNameBytesMax = 64;
inline constexpr std::size_t kZoneFileBytesMax = 65'536;

// A time zone by its IANA name, from the files that the operating system keeps (the package tzdata). The file is read
// at each call, since limits are defined rarely and a new tzdata holds for the next one. Any name may be given; only
// names that cannot leave the folder are looked up. "UTC" needs no file.
Result<std::shared_ptr<const Zone>> load_zone(std::string_view name, const std::filesystem::path& folder = kZoneFolder);

}  // namespace mete::civil
