#include "calendar/calendar.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/check.h"
#include "calendar/period.h"
#include "calendar/zone.h"
#include "calendar/zone_files.h"

namespace mete::civil {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

tl::unexpected<Error> bad_anchor(const std::string& message) {
  return tl::unexpected(Error{ErrorCode::kInvalid, "anchor: " + message});
}

// Whether some year has this day: 29 February is one, 30 February is none.
bool is_month_day(int anchor) {
  const std::chrono::year leap_year(2000);
  if (anchor < 0) return false;
  const auto month = static_cast<unsigned>(anchor / 100);
  const auto day = static_cast<unsigned>(anchor % 100);
  return month <= 12 && (leap_year / std::chrono::month(month) / std::chrono::day(day)).ok();
}

// The anchor that the unit starts from, the default filled in.
Result<int> resolve_anchor(Unit unit, int anchor) {
  const std::string given = std::to_string(anchor);
  switch (unit) {
    case Unit::kHour:
    case Unit::kDay:
      if (anchor == 0) return 0;
      return bad_anchor("hours and days have none: leave out the " + given);
    case Unit::kWeek:
      if (anchor == 0) return 1;
      if (1 <= anchor && anchor <= 7) return anchor;
      return bad_anchor("a week starts on 1 (Monday) to 7 (Sunday), not " + given);
    case Unit::kMonth:
      if (anchor == 0) return 1;
      if (1 <= anchor && anchor <= 31) return anchor;
      return bad_anchor("a month starts on a day from 1 to 31, not " + given);
    case Unit::kYear:
      if (anchor == 0) return month_day(1, 1);
      if (is_month_day(anchor)) return anchor;
      return bad_anchor("a year starts on a month and day such as 406 (6 April), not " + given);
  }
  return tl::unexpected(Error{ErrorCode::kInvalid, "unit: use hour, day, week, month or year"});
}

// Time outside what an Instant can tell is its first or its last one.
Instant to_instant(sys_seconds at) {
  const std::int64_t unix_seconds = at.time_since_epoch().count();
  if (unix_seconds < 0) return {};
  const auto count = static_cast<std::uint64_t>(unix_seconds);
  return count > Instant::max().unix_seconds() ? Instant::max() : Instant::from_unix_seconds(count);
}

}  // namespace

Calendar::Calendar(Unit unit, int anchor, std::shared_ptr<const Zone> zone)
    : unit_(unit), anchor_(anchor), zone_(std::move(zone)) {
  CHECK(zone_ != nullptr);
}

Result<Calendar> Calendar::make(const Spec& spec) {
  const Result<int> anchor = resolve_anchor(spec.unit, spec.anchor);
  if (!anchor) return tl::unexpected(anchor.error());
  auto zone = load_zone(spec.zone);
  if (!zone) return tl::unexpected(zone.error());
  return Calendar(spec.unit, *anchor, *std::move(zone));
}

base::Span Calendar::span_at(Instant at) const {
  const sys_seconds second(seconds(static_cast<std::int64_t>(at.unix_seconds())));
  const Period period = period_at(*zone_, {.unit = unit_, .anchor = anchor_}, second);
  return {.start = to_instant(period.start), .end = to_instant(period.end)};
}

}  // namespace mete::civil
