#include "calendar/period.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/calendar/tzif_bytes.h"
#include "unit/calendar/utc_text.h"

namespace mete::civil {
namespace {

// Clocks that no country has kept: what the definitions say is what happens.

struct Change {
  std::string at;
  std::int32_t offset;  // seconds, from then on
};

Zone make_zone(std::int32_t first_offset, const std::vector<Change>& changes) {
  TzifBytes bytes{.offsets = {first_offset}};
  for (const Change& change : changes) {
    bytes.transitions.push_back(
        {.at = utc(change.at).time_since_epoch().count(), .type = static_cast<std::uint8_t>(bytes.offsets.size())});
    bytes.offsets.push_back(change.offset);
  }
  return Zone::parse(bytes.build()).value();
}

struct PeriodRow {
  std::string at;
  std::string start;
  std::string end;
};

void expect_periods(const Zone& zone, const Recurrence& recurrence, const std::vector<PeriodRow>& rows) {
  for (const PeriodRow& row : rows) {
    EXPECT_EQ(to_text(period_at(zone, recurrence, utc(row.at))), full_text(row.start, row.end)) << row.at;
  }
}

TEST(CalendarPeriodTest, ADateThatComesTwiceIsOnePeriod) {
  const Zone zone = make_zone(12 * 3600, {{"2000-05-10 12:00", -12 * 3600}});  // 11 May 00:00 is 10 May 00:00 again
  expect_periods(zone, {Unit::kDay, 0},
                 {{"2000-05-09 11:59:59", "2000-05-08 12:00", "2000-05-09 12:00"},
                  {"2000-05-09 12:00", "2000-05-09 12:00", "2000-05-11 12:00"},
                  {"2000-05-10 12:00", "2000-05-09 12:00", "2000-05-11 12:00"},
                  {"2000-05-11 12:00", "2000-05-11 12:00", "2000-05-12 12:00"}});
}

TEST(CalendarPeriodTest, ADateBegunBeforeTheClockGoesBackADayGoesOn) {
  // 11 May 06:00 becomes 10 May 06:00: the 11th has begun, and does not begin again.
  const Zone zone = make_zone(12 * 3600, {{"2000-05-10 18:00", -12 * 3600}});
  expect_periods(zone, {Unit::kDay, 0},
                 {{"2000-05-10 11:59:59", "2000-05-09 12:00", "2000-05-10 12:00"},
                  {"2000-05-10 18:00", "2000-05-10 12:00", "2000-05-12 12:00"},
                  {"2000-05-12 00:00", "2000-05-10 12:00", "2000-05-12 12:00"}});
}

TEST(CalendarPeriodTest, AMonthBegunBeforeTheClockGoesBackGoesOn) {
  const Zone zone = make_zone(3600, {{"2000-04-30 23:30", 0}});  // 1 May 00:30 becomes 30 April 23:30
  expect_periods(zone, {Unit::kMonth, 1},
                 {{"2000-04-30 22:59:59", "2000-03-31 23:00", "2000-04-30 23:00"},
                  {"2000-04-30 23:30", "2000-04-30 23:00", "2000-06-01"}});
}

TEST(CalendarPeriodTest, AGapOfTwoDatesSkipsBoth) {
  const Zone zone =
      make_zone(-25 * 3600 + 1, {{"2000-05-10 00:00", 23 * 3600}});  // 8 May 23:00:01 becomes 10 May 23:00
  expect_periods(zone, {Unit::kDay, 0},
                 {{"2000-05-09 23:59:59", "2000-05-09 00:59:59", "2000-05-10"},
                  {"2000-05-10 00:00", "2000-05-10", "2000-05-10 01:00"},
                  {"2000-05-10 01:00", "2000-05-10 01:00", "2000-05-11 01:00"}});
}

TEST(CalendarPeriodTest, AnHourGoesOnThroughChangesThatShowNoFullHour) {
  const Zone zone = make_zone(0, {{"2000-05-10 00:40", -1200}, {"2000-05-10 00:50", 0}, {"2000-05-10 00:55", -1200}});
  // Shown: 00:00-00:40, 00:20-00:30, 00:50-00:55, 00:35-01:00.
  expect_periods(zone, {Unit::kHour, 0},
                 {{"2000-05-10 00:00", "2000-05-10 00:00", "2000-05-10 01:20"},
                  {"2000-05-10 00:45", "2000-05-10 00:00", "2000-05-10 01:20"},
                  {"2000-05-10 00:52", "2000-05-10 00:00", "2000-05-10 01:20"},
                  {"2000-05-10 01:19:59", "2000-05-10 00:00", "2000-05-10 01:20"},
                  {"2000-05-10 01:20", "2000-05-10 01:20", "2000-05-10 02:20"}});
}

TEST(CalendarPeriodTest, AnHourBeginsWhereTheClockSkipsOrShowsAFullHour) {
  const Zone forward = make_zone(0, {{"2000-05-10 00:50", 1200}});  // 00:50 becomes 01:10
  expect_periods(forward, {Unit::kHour, 0},
                 {{"2000-05-10 00:49:59", "2000-05-10 00:00", "2000-05-10 00:50"},
                  {"2000-05-10 00:50", "2000-05-10 00:50", "2000-05-10 01:40"}});
  const Zone back = make_zone(0, {{"2000-05-10 01:20", -1200}});  // 01:20 becomes 01:00
  expect_periods(back, {Unit::kHour, 0},
                 {{"2000-05-10 01:19:59", "2000-05-10 01:00", "2000-05-10 01:20"},
                  {"2000-05-10 01:20", "2000-05-10 01:20", "2000-05-10 02:20"}});
  const Zone within = make_zone(0, {{"2000-05-10 00:10", 1200}});  // 00:10 becomes 00:30
  expect_periods(within, {Unit::kHour, 0}, {{"2000-05-10 00:10", "2000-05-10 00:00", "2000-05-10 00:40"}});
}

}  // namespace
}  // namespace mete::civil
