#include "sync/cron.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"

namespace mete::sync {

namespace {

using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

// 29 February may be eight years away (2096 to 2104); nothing that comes round at all is further.
constexpr seconds kReach = std::chrono::hours(24) * 366 * 9;

sys_seconds seconds_of(Instant at) { return sys_seconds(seconds(static_cast<std::int64_t>(at.unix_seconds()))); }

Instant instant_of(sys_seconds at) {
  return Instant::from_unix_seconds(static_cast<std::uint64_t>(at.time_since_epoch().count()));
}

// The lowest number of the set that is not below `from`.
std::optional<unsigned> next_of(std::uint64_t set, unsigned from) {
  const std::uint64_t rest = from > 63 ? 0 : set >> from << from;
  return rest == 0 ? std::nullopt : std::optional(static_cast<unsigned>(__builtin_ctzll(rest)));
}

// The first time of a day that the sets have, and that is not before the given one.
std::optional<minutes> next_time(const CronFields& fields, minutes from) {
  const auto first_hour = static_cast<unsigned>(from.count() / 60);
  for (auto hour = next_of(fields.hours, first_hour); hour; hour = next_of(fields.hours, *hour + 1)) {
    const unsigned first_minute = *hour == first_hour ? static_cast<unsigned>(from.count() % 60) : 0;
    if (const auto minute = next_of(fields.minutes, first_minute)) return minutes(*hour * 60 + *minute);
  }
  return std::nullopt;
}

local_days next_month(local_days day) {
  const std::chrono::year_month_day civil(day);
  return local_days((civil.year() / civil.month() + std::chrono::months(1)) / std::chrono::day(1));
}

}  // namespace

Result<Cron> Cron::make(std::string_view schedule, std::string_view zone) {
  const auto fields = CronFields::parse(schedule);
  if (!fields) return base::invalid("schedule: " + fields.error().message);
  auto loaded = TRY(civil::load_zone(zone));
  Cron cron(*fields, std::move(loaded));
  if (!cron.find_next(sys_seconds())) {
    return base::invalid("schedule: no month that it names has a day that it names");
  }
  return cron;
}

Instant Cron::next(Instant after) const {
  const auto found = find_next(seconds_of(after));
  CHECK(found.has_value());  // It comes round, for make() has seen to that.
  return instant_of(*found);
}

std::optional<sys_seconds> Cron::find_next(sys_seconds after) const {
  const sys_seconds end = after + kReach;
  for (civil::Stretch stretch = zone_->stretch_at(after); stretch.start < end;
       stretch = zone_->stretch_at(stretch.end)) {
    if (const auto found = find_within(stretch, after)) return found;
    if (stretch.end == civil::kTimeMax) break;
  }
  return std::nullopt;
}

// Within one stretch clocks show each time once. What they have shown already before it began, or have not shown at all
// by then, is another matter.
std::optional<sys_seconds> Cron::find_within(const civil::Stretch& stretch, sys_seconds after) const {
  local_seconds from = stretch.to_local(std::max(stretch.start, after + seconds(1)));
  const sys_seconds end = std::min(stretch.end, std::max(stretch.start, after) + kReach);
  const bool has_begun_before = stretch.start > civil::kTimeMin && stretch.start > sys_seconds();
  if (!fields_.has_every_hour && has_begun_before) {
    const local_seconds shown_before = zone_->stretch_at(stretch.start - seconds(1)).to_local(stretch.start);
    const bool is_skipped = stretch.start > after && find_local(shown_before, stretch.to_local(stretch.start));
    if (is_skipped) return stretch.start;
    from = std::max(from, shown_before);
  }
  const auto found = find_local(from, stretch.to_local(end));
  if (!found) return std::nullopt;
  return stretch.to_absolute(*found);
}

// The first full minute of the schedule from `from` on, and before `end`.
std::optional<local_seconds> Cron::find_local(local_seconds from, local_seconds end) const {
  const local_seconds first = std::chrono::ceil<minutes>(from);
  minutes time = std::chrono::floor<minutes>(first - std::chrono::floor<std::chrono::days>(first));
  for (local_days day = std::chrono::floor<std::chrono::days>(first); day < end;) {
    if (!fields_.has_month(std::chrono::year_month_day(day).month())) {
      day = next_month(day);
    } else {
      const auto found = fields_.has_day(day) ? next_time(fields_, time) : std::nullopt;
      if (found) return day + *found < end ? std::optional<local_seconds>(day + *found) : std::nullopt;
      day += std::chrono::days(1);
    }
    time = minutes(0);
  }
  return std::nullopt;
}

}  // namespace mete::sync
