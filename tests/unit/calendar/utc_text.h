// Times in tests as people write them: "2024-02-29 12:00:00", in UTC, so that a failure can be read.
#pragma once

#include <mete/time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/check.h"
#include "base/span.h"
#include "calendar/period.h"
#include "calendar/zone.h"

namespace mete::civil {

// The time of day may be left out, or its seconds.
inline std::chrono::sys_seconds utc(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  const int fields = std::sscanf(text.c_str(), "%d-%u-%u %d:%d:%d", &year, &month, &day, &hour, &minute, &second);
  CHECK(fields == 3 || fields >= 5);
  const std::chrono::sys_days date(std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day));
  return date + std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
}

inline std::string to_text(std::chrono::sys_seconds at) {
  const auto date = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day civil(date);
  const std::chrono::hh_mm_ss time(at - date);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d", static_cast<int>(civil.year()),
                static_cast<unsigned>(civil.month()), static_cast<unsigned>(civil.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text.data();
}

inline std::string to_text(const Period& period) { return to_text(period.start) + " to " + to_text(period.end); }

inline std::string to_text(const Stretch& stretch) {
  const std::string start = stretch.start == kTimeMin ? "ever" : to_text(stretch.start);
  const std::string end = stretch.end == kTimeMax ? "ever" : to_text(stretch.end);
  return std::to_string(stretch.offset.count()) + " from " + start + " to " + end;
}

inline std::chrono::sys_seconds to_sys(Instant at) {
  return std::chrono::sys_seconds(std::chrono::seconds(at.unix_seconds()));
}

inline Instant utc_instant(const std::string& text) {
  return Instant::from_unix_seconds(static_cast<std::uint64_t>(utc(text).time_since_epoch().count()));
}

inline std::string to_text(const base::Span& span) {
  return to_text(to_sys(span.start)) + " to " + to_text(to_sys(span.end));
}

// "2024-02-01" as "2024-02-01 00:00:00", for expectations.
inline std::string full_text(const std::string& start, const std::string& end) {
  return to_text(utc(start)) + " to " + to_text(utc(end));
}

}  // namespace mete::civil
