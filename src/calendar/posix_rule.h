// PosixRule: the clock changes of every year to come, from the one line that ends a time zone file.
//
//     CET-1CEST,M3.5.0,M10.5.0/3
//     |  |  |   |      |      `-- at 03:00 of the clock that is being left; 02:00 where nothing is said
//     |  |  |   |      `--------- back on the 5th, that is the last, Sunday (0) of October
//     |  |  |   `---------------- daylight saving from the last Sunday of March
//     |  |  `-------------------- its name, and its offset where it is not one hour more
//     |  `----------------------- offset of standard time, in hours *west* of UTC
//     `-------------------------- name of standard time; <+03> in angle brackets where it is not of letters
//
// A date is also written Jn (day 1..365, 29 February never counted) or n (day 0..365, counted). The hour of a change is
// -167..167, as RFC 9636 allows. Owns nothing, does no I/O. Thread safety: const calls from any thread.
#pragma once

#include <mete/result.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mete::civil {

struct Stretch;

class PosixRule {
 public:
  // Refuses what is not a whole rule; the message is a reason without a field.
  static Result<PosixRule> parse(std::string_view text);

  // `at` lies within the years that std::chrono can tell, two years from their ends.
  [[nodiscard]] Stretch stretch_at(std::chrono::sys_seconds at) const;

  // The day of the year and the local time at which the clocks change.
  struct Change {
    enum class Form : std::uint8_t { kWeekday, kJulianDay, kDayOfYear };

    Form form = Form::kWeekday;
    int month = 1;  // month and week only for kWeekday
    int week = 1;   // 5 is the last
    int day = 0;    // the weekday, 0 is Sunday; or the day of the year
    std::chrono::seconds time = std::chrono::hours(2);

    [[nodiscard]] std::chrono::local_seconds in(std::chrono::year year) const;
  };

 private:
  struct Daylight {
    std::chrono::seconds offset{0};
    Change begin;
    Change end;
  };

  PosixRule() = default;

  std::chrono::seconds standard_offset_{0};
  std::optional<Daylight> daylight_;
};

}  // namespace mete::civil
