// Zone: the offset from UTC that a time zone's clocks keep at any time, from the bytes of its TZif file.
//
// The file lists past changes one by one and ends with a rule for all years to come; a Zone follows both, so it is as
// right in 2500 as in 2000. What it knows is when offsets change, not what they are called.
// A Zone owns its table, and does no I/O (zone_files.h does). Thread safety: const calls from any thread.
#pragma once

#include <mete/result.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "calendar/posix_rule.h"
#include "calendar/stretch.h"

namespace mete::civil {

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

}  // namespace mete::civil
