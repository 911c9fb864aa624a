// CronFields: the five fields of a cron schedule, as sets of numbers. Pure.
//
//     minute 0-59   hour 0-23   day of the month 1-31   month 1-12 or JAN-DEC   day of the week 0-7 or SUN-SAT
//
// A field is a list of * or a number or a range such as 1-5, each range and * perhaps with a step: */15, 8-18/2. Sunday
// is 0 and 7. If both the day of the month and that of the week say less than *, a day that either of them has will do.
// @hourly, @daily (@midnight), @weekly, @monthly and @yearly (@annually) stand for such fields.
#pragma once

#include <mete/result.h>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace mete::sync {

struct CronFields {
  std::uint64_t minutes = 0;  // bit n: n is one of them
  std::uint64_t hours = 0;
  std::uint64_t month_days = 0;
  std::uint64_t months = 0;
  std::uint64_t week_days = 0;  // Sunday is 0
  bool has_every_hour = false;  // the field begins with *
  bool is_day_either = false;   // neither field of days begins with *

  static Result<CronFields> parse(std::string_view text);

  [[nodiscard]] bool has_month(std::chrono::month month) const;
  // Whether the day is one of them, whatever its month.
  [[nodiscard]] bool has_day(std::chrono::local_days day) const;
};

}  // namespace mete::sync
