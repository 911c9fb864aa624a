// Cron: when a schedule such as "0 3 * * *" comes round, by the clocks of a time zone. Pure, but for make(), which
// reads the zone's file.
//
// Where clocks are changed: a schedule whose hours begin with * goes by what the clock shows, so that it runs in both
// of two repeated hours and in none of a skipped one. Any other is made up for: what a change skips runs just after it,
// and what it repeats runs the first time only.
//
// Thread safety: const calls from any thread.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "calendar/zone.h"

namespace mete::sync {

// The five fields of a schedule, as sets of numbers. Pure.
//
//     minute 0-59   hour 0-23   day of the month 1-31   month 1-12 or JAN-DEC   day of the week 0-7 or SUN-SAT
//
// A field is a list of * or a number or a range such as 1-5, each range and * perhaps with a step: */15, 8-18/2. Sunday
// is 0 and 7. If both the day of the month and that of the week say less than *, a day that either of them has will do.
// @hourly, @daily (@midnight), @weekly, @monthly and @yearly (@annually) stand for such fields.
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

class Cron {
 public:
  // Refuses what is no schedule, a schedule that never comes round (30 February), and an unknown zone. The message says
  // which of the two arguments it is about.
  static Result<Cron> make(std::string_view schedule, std::string_view zone = "UTC");

  // The first time after this one: a full minute.
  [[nodiscard]] Instant next(Instant after) const;

 private:
  Cron(CronFields fields, std::shared_ptr<const civil::Zone> zone) : fields_(fields), zone_(std::move(zone)) {}

  [[nodiscard]] std::optional<std::chrono::sys_seconds> find_next(std::chrono::sys_seconds after) const;
  [[nodiscard]] std::optional<std::chrono::sys_seconds> find_within(const civil::Stretch& stretch,
                                                                    std::chrono::sys_seconds after) const;
  [[nodiscard]] std::optional<std::chrono::local_seconds> find_local(std::chrono::local_seconds from,
                                                                     std::chrono::local_seconds end) const;

  CronFields fields_;
  std::shared_ptr<const civil::Zone> zone_;
};

}  // namespace mete::sync
