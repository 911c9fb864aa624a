#include "model/model_calendar.h"

#include <algorithm>

namespace mete::model {

namespace {

constexpr Wide kHourNs = Wide{3600} * 1'000'000'000;
constexpr Wide kDayNs = 24 * kHourNs;

bool is_leap(std::int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

std::int64_t days_in_month(std::int64_t year, std::int64_t month) {
  constexpr std::int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

std::int64_t leap_years_before(std::int64_t year) { return (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400; }

// Days since 1970-01-01 of the given day, or of the month's last one. Month 0 and 13 are the neighbours' of the year.
std::int64_t day_number(std::int64_t year, std::int64_t month, std::int64_t day) {
  if (month < 1) return day_number(year - 1, month + 12, day);
  if (month > 12) return day_number(year + 1, month - 12, day);
  std::int64_t number = (year - 1970) * 365 + leap_years_before(year) - leap_years_before(1970);
  for (std::int64_t before = 1; before < month; ++before) number += days_in_month(year, before);
  return number + std::min(day, days_in_month(year, month)) - 1;
}

std::int64_t year_of(std::int64_t day) {
  std::int64_t year = 1970 + day / 366;
  while (day_number(year + 1, 1, 1) <= day) ++year;
  return year;
}

std::int64_t month_of(std::int64_t year, std::int64_t day) {
  std::int64_t month = 1;
  while (month < 12 && day_number(year, month + 1, 1) <= day) ++month;
  return month;
}

// Of boundaries in rising order: the last one up to `day`, and the one after it.
WideSpan between(const std::int64_t (&boundaries)[4], std::int64_t day) {
  std::size_t next = 1;
  while (next < 3 && boundaries[next] <= day) ++next;
  return {boundaries[next - 1] * kDayNs, boundaries[next] * kDayNs};
}

WideSpan month_span(std::int64_t day, int anchor) {
  const std::int64_t first = anchor == 0 ? 1 : anchor;
  const std::int64_t year = year_of(day);
  const std::int64_t month = month_of(year, day);
  return between({day_number(year, month - 1, first), day_number(year, month, first),
                  day_number(year, month + 1, first), day_number(year, month + 2, first)},
                 day);
}

WideSpan year_span(std::int64_t day, int anchor) {
  const std::int64_t month = anchor == 0 ? 1 : anchor / 100;
  const std::int64_t first = anchor == 0 ? 1 : anchor % 100;
  const std::int64_t year = year_of(day);
  return between({day_number(year - 1, month, first), day_number(year, month, first),
                  day_number(year + 1, month, first), day_number(year + 2, month, first)},
                 day);
}

WideSpan week_span(std::int64_t day, int anchor) {
  // 1970-01-01 was a Thursday, the ISO weekday 4.
  const std::int64_t weekday = (day + 3) % 7 + 1;
  const std::int64_t since = (weekday - (anchor == 0 ? 1 : anchor) + 7) % 7;
  return {(day - since) * kDayNs, (day - since + 7) * kDayNs};
}

}  // namespace

WideSpan calendar_span(Unit unit, int anchor, Wide at) {
  const auto day = static_cast<std::int64_t>(at / kDayNs);
  WideSpan span;
  switch (unit) {
    case Unit::kHour:
      span = {at / kHourNs * kHourNs, (at / kHourNs + 1) * kHourNs};
      break;
    case Unit::kDay:
      span = {day * kDayNs, (day + 1) * kDayNs};
      break;
    case Unit::kWeek:
      span = week_span(day, anchor);
      break;
    case Unit::kMonth:
      span = month_span(day, anchor);
      break;
    case Unit::kYear:
      span = year_span(day, anchor);
      break;
  }
  return span;
}

}  // namespace mete::model
