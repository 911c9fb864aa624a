// Calendar against the C library: localtime_r says what the clock shows, and the model finds a period's ends by looking
// at one minute, and then one second, after the other.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "calendar/calendar.h"
#include "unit/calendar/utc_text.h"

namespace mete::civil {
namespace {

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kLast = 16'725'225'600;  // 2500-01-01

const char* const kZones[] = {
    "Africa/Cairo",       "Africa/Casablanca",
    "Africa/Monrovia",    "America/Asuncion",
    "America/Havana",     "America/New_York",
    "America/Nuuk",       "America/Santiago",
    "America/Sao_Paulo",  "America/Scoresbysund",
    "America/St_Johns",   "Antarctica/Troll",
    "Asia/Beirut",        "Asia/Gaza",
    "Asia/Kathmandu",     "Asia/Kolkata",
    "Asia/Pyongyang",     "Asia/Tehran",
    "Atlantic/Azores",    "Australia/Lord_Howe",
    "Europe/Berlin",      "Europe/Dublin",
    "Pacific/Apia",       "Pacific/Chatham",
    "Pacific/Kiritimati", "Pacific/Kwajalein",
    "Pacific/Norfolk",    "UTC",
};

const Calendar::Spec kSpecs[] = {
    {Unit::kHour, "", 0},  {Unit::kDay, "", 0},    {Unit::kWeek, "", 1},   {Unit::kWeek, "", 7},
    {Unit::kMonth, "", 1}, {Unit::kMonth, "", 31}, {Unit::kYear, "", 101}, {Unit::kYear, "", 229},
};

// Sets the C library's zone, and puts the old one back. Tests run on one thread.
// NOLINTBEGIN(concurrency-mt-unsafe)
class LibraryZone {
 public:
  explicit LibraryZone(const char* zone) {
    if (const char* old = getenv("TZ")) old_ = old;
    setenv("TZ", zone, 1);
    tzset();
  }
  ~LibraryZone() {
    if (old_) {
      setenv("TZ", old_->c_str(), 1);
    } else {
      unsetenv("TZ");
    }
    tzset();
  }
  LibraryZone(const LibraryZone&) = delete;
  LibraryZone& operator=(const LibraryZone&) = delete;

 private:
  std::optional<std::string> old_;
};
// NOLINTEND(concurrency-mt-unsafe)

tm library_time(std::int64_t at) {
  const time_t time = at;
  tm shown{};
  localtime_r(&time, &shown);
  return shown;
}

// What the clock shows, in seconds since it would have shown 1970-01-01 00:00:00.
std::int64_t shown_at(std::int64_t at) { return at + library_time(at).tm_gmtoff; }

std::int64_t floor_to(std::int64_t value, std::int64_t unit) {
  const std::int64_t rest = value % unit;
  return value - (rest < 0 ? rest + unit : rest);
}

bool starts_on(const Calendar::Spec& spec, std::int64_t midnight) {
  const time_t time = midnight;
  const time_t next_day = midnight + kDay;
  tm date{};
  tm next{};
  gmtime_r(&time, &date);
  gmtime_r(&next_day, &next);
  const auto is_day = [&](int day) { return date.tm_mday == day || (date.tm_mday < day && next.tm_mday == 1); };
  if (spec.unit == Unit::kWeek) return date.tm_wday == spec.anchor % 7;
  if (spec.unit == Unit::kMonth) return is_day(spec.anchor);
  if (spec.unit == Unit::kYear) return date.tm_mon + 1 == spec.anchor / 100 && is_day(spec.anchor % 100);
  return true;
}

// The first instant at which the clock shows `midnight` or later. No clock is 15 hours from UTC; all offsets that last
// less than a minute are overlooked.
std::int64_t model_boundary(std::int64_t midnight) {
  std::int64_t at = midnight - 15 * kHour;
  while (shown_at(at) < midnight) at += kMinute;
  at -= kMinute;
  while (shown_at(at) < midnight) ++at;
  return at;
}

bool model_hour_starts(std::int64_t at) {
  const std::int64_t shown = shown_at(at);
  return shown % kHour == 0 || floor_to(shown, kHour) > floor_to(shown_at(at - 1), kHour);
}

struct ModelSpan {
  std::int64_t start;
  std::int64_t end;
};

ModelSpan model_hour(std::int64_t at) {
  ModelSpan span{.start = at, .end = at + 1};
  while (!model_hour_starts(span.start)) --span.start;
  while (!model_hour_starts(span.end)) ++span.end;
  return span;
}

ModelSpan model_span(const Calendar::Spec& spec, std::int64_t at) {
  if (spec.unit == Unit::kHour) return model_hour(at);
  std::int64_t midnight = floor_to(shown_at(at), kDay);
  while (!starts_on(spec, midnight)) midnight -= kDay;
  ModelSpan span{.start = model_boundary(midnight), .end = 0};
  for (;;) {
    do midnight += kDay;
    while (!starts_on(spec, midnight));
    span.end = model_boundary(midnight);
    if (at < span.end) return span;
    span.start = span.end;
  }
}

Instant to_instant(std::int64_t at) { return Instant::from_unix_seconds(static_cast<std::uint64_t>(at)); }

// The next change of the clocks within two years, if there is one.
std::optional<std::int64_t> next_change(std::int64_t at) {
  const auto offset = [](std::int64_t when) { return library_time(when).tm_gmtoff; };
  std::int64_t before = at;
  while (offset(before + 5 * kDay) == offset(at)) {
    before += 5 * kDay;
    if (before > at + 730 * kDay) return std::nullopt;
  }
  std::int64_t after = before + 5 * kDay;
  while (after - before > 1) {
    const std::int64_t middle = before + (after - before) / 2;
    (offset(middle) == offset(at) ? before : after) = middle;
  }
  return after;
}

// Any time, or one near a change of the clocks; half of them in the years of stored changes.
std::int64_t random_time(std::mt19937_64& random) {
  const auto below = [&](std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random); };
  const std::int64_t at = 400 * kDay + below(below(2) == 0 ? kLast : 25'000 * kDay);
  const auto change = below(3) == 0 ? std::nullopt : next_change(at);
  if (!change) return at;
  return *change + (below(2) == 0 ? below(5) - 2 : below(4 * kHour) - 2 * kHour);
}

TEST(CalendarModelTest, SpansAreThoseThatTheLocalClockShows) {
  std::mt19937_64 random(20240229);
  for (const char* zone : kZones) {
    const LibraryZone library_zone(zone);
    for (Calendar::Spec spec : kSpecs) {
      spec.zone = zone;
      const auto calendar = Calendar::make(spec).value();
      for (int i = 0; i < 6; ++i) {
        const std::int64_t at = random_time(random);
        SCOPED_TRACE(std::string(zone) + " " + std::to_string(static_cast<int>(spec.unit)) + " anchor " +
                     std::to_string(spec.anchor) + " at " + to_text(to_sys(to_instant(at))));
        const ModelSpan expected = model_span(spec, at);
        ASSERT_EQ(to_text(calendar.span_at(to_instant(at))),
                  to_text(base::Span{.start = to_instant(expected.start), .end = to_instant(expected.end)}));
      }
    }
  }
}

TEST(CalendarModelTest, SpansTileTime) {
  std::mt19937_64 random(20111230);
  for (const char* zone : kZones) {
    const LibraryZone library_zone(zone);
    for (Calendar::Spec spec : kSpecs) {
      spec.zone = zone;
      const auto calendar = Calendar::make(spec).value();
      const Instant from = to_instant(random_time(random));
      base::Span span = calendar.span_at(from);
      ASSERT_TRUE(span.contains(from));
      for (int step = 0; step < 100; ++step) {
        SCOPED_TRACE(std::string(zone) + " " + to_text(span));
        const auto inside = std::uniform_int_distribution<std::uint64_t>(span.start.ns(), span.end.ns() - 1)(random);
        ASSERT_EQ(calendar.span_at(Instant::from_ns(inside)), span);
        ASSERT_EQ(calendar.span_at(Instant::from_ns(span.end.ns() - 1)), span);
        const base::Span next = calendar.span_at(span.end);
        ASSERT_EQ(next.start, span.end);
        ASSERT_LT(next.start, next.end);
        if (next.end == Instant::max()) break;
        span = next;
      }
    }
  }
}

}  // namespace
}  // namespace mete::civil
