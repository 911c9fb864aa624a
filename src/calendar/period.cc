#include "calendar/period.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/errors.h"
#include "calendar/zone.h"

namespace mete::civil {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::months;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using std::chrono::weekday;
using std::chrono::year_month;
using std::chrono::year_month_day;

Error bad_anchor(const std::string& message) { return base::invalid("anchor: " + message); }

// Whether some year has this day: 29 February is one, 30 February is none.
bool is_month_day(int anchor) {
  const std::chrono::year leap_year(2000);
  if (anchor < 0) return false;
  const auto month = static_cast<unsigned>(anchor / 100);
  const auto day = static_cast<unsigned>(anchor % 100);
  return month <= 12 && (leap_year / std::chrono::month(month) / std::chrono::day(day)).ok();
}

// Whether a new hour begins where one stretch goes over into the next: the clock then shows a full hour, or has skipped
// one. A clock that goes back from 02:00 to 01:30 does neither: it goes on with the hour.
bool hour_begins_between(const Stretch& before, const Stretch& after) {
  const local_seconds last = before.to_local(before.end - seconds(1));
  const local_seconds next = after.to_local(after.start);
  return floor<hours>(next) == next || floor<hours>(next) > floor<hours>(last);
}

sys_seconds hour_start(const Zone& zone, sys_seconds at) {
  for (Stretch stretch = zone.stretch_at(at);;) {
    const sys_seconds full_hour = stretch.to_absolute(floor<hours>(stretch.to_local(at)));
    if (full_hour >= stretch.start) return full_hour;
    const Stretch before = zone.stretch_at(stretch.start - seconds(1));
    if (hour_begins_between(before, stretch)) return stretch.start;
    at = stretch.start - seconds(1);
    stretch = before;
  }
}

sys_seconds hour_end(const Zone& zone, sys_seconds at) {
  for (Stretch stretch = zone.stretch_at(at);;) {
    const sys_seconds full_hour = stretch.to_absolute(floor<hours>(stretch.to_local(at)) + hours(1));
    if (full_hour < stretch.end) return full_hour;
    const Stretch after = zone.stretch_at(stretch.end);
    if (hour_begins_between(stretch, after)) return after.start;
    at = after.start;
    stretch = after;
  }
}

// The anchor's day in this month, or the month's last where it is shorter.
local_days day_of(const year_month& month, int anchor) {
  const std::chrono::day last = (month / std::chrono::last).day();
  return local_days(month / std::min(std::chrono::day(static_cast<unsigned>(anchor)), last));
}

local_days day_of_year(std::chrono::year year, int anchor) { return day_of(year / (anchor / 100), anchor % 100); }

// The date on which the period that `date` belongs to starts.
local_days first_date(const Recurrence& recurrence, local_days date) {
  const year_month_day civil(date);
  const year_month month = civil.year() / civil.month();
  const int anchor = recurrence.anchor;
  switch (recurrence.unit) {
    case Unit::kWeek:
      return date - (weekday(date) - weekday(static_cast<unsigned>(anchor)));
    case Unit::kMonth:
      return day_of(month, anchor) <= date ? day_of(month, anchor) : day_of(month - months(1), anchor);
    case Unit::kYear:
      return day_of_year(civil.year(), anchor) <= date ? day_of_year(civil.year(), anchor)
                                                       : day_of_year(civil.year() - std::chrono::years(1), anchor);
    default:
      CHECK(recurrence.unit == Unit::kDay);
      return date;
  }
}

// The date on which the period after the one that starts on `first` starts.
local_days next_first_date(const Recurrence& recurrence, local_days first) {
  const year_month_day civil(first);
  switch (recurrence.unit) {
    case Unit::kWeek:
      return first + days(7);
    case Unit::kMonth:
      return day_of(civil.year() / civil.month() + months(1), recurrence.anchor);
    case Unit::kYear:
      return day_of_year(civil.year() + std::chrono::years(1), recurrence.anchor);
    default:
      CHECK(recurrence.unit == Unit::kDay);
      return first + days(1);
  }
}

// The first instant ever whose local time is not before the date's 00:00. A later date never has an earlier one,
// whatever the clocks do, so these instants cut time into periods; dates that were skipped share theirs.
sys_seconds first_instant(const Zone& zone, local_days date) {
  const local_seconds midnight = date;
  // No clock shows midnight before the one that is furthest ahead.
  Stretch stretch = zone.stretch_at(sys_seconds(midnight.time_since_epoch() - kOffsetMax));
  for (;;) {
    const sys_seconds first = std::max(stretch.to_absolute(midnight), stretch.start);
    if (first < stretch.end) return first;
    stretch = zone.stretch_at(stretch.end);
  }
}

}  // namespace

Result<Recurrence> Recurrence::make(Unit unit, int anchor) {
  const std::string given = std::to_string(anchor);
  switch (unit) {
    case Unit::kHour:
    case Unit::kDay:
      if (anchor == 0) return Recurrence{unit, 0};
      return bad_anchor("hours and days have none: leave out the " + given);
    case Unit::kWeek:
      if (anchor == 0) return Recurrence{unit, 1};
      if (1 <= anchor && anchor <= 7) return Recurrence{unit, anchor};
      return bad_anchor("a week starts on 1 (Monday) to 7 (Sunday), not " + given);
    case Unit::kMonth:
      if (anchor == 0) return Recurrence{unit, 1};
      if (1 <= anchor && anchor <= 31) return Recurrence{unit, anchor};
      return bad_anchor("a month starts on a day from 1 to 31, not " + given);
    case Unit::kYear:
      if (anchor == 0) return Recurrence{unit, month_day(1, 1)};
      if (is_month_day(anchor)) return Recurrence{unit, anchor};
      return bad_anchor("a year starts on a month and day such as 406 (6 April), not " + given);
  }
  return base::invalid("unit: use hour, day, week, month or year");
}

Period period_at(const Zone& zone, const Recurrence& recurrence, sys_seconds at) {
  if (recurrence.unit == Unit::kHour) return {.start = hour_start(zone, at), .end = hour_end(zone, at)};

  // The clock shows this date now, so its period has begun. The next may have begun as well, before the clock went back
  // over midnight.
  local_days first = first_date(recurrence, floor<days>(zone.stretch_at(at).to_local(at)));
  Period period{.start = first_instant(zone, first), .end = {}};
  for (;;) {
    first = next_first_date(recurrence, first);
    period.end = first_instant(zone, first);
    if (at < period.end) break;
    period.start = period.end;
  }
  CHECK(period.start <= at);
  return period;
}

}  // namespace mete::civil
