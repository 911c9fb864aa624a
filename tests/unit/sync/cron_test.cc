#include "sync/cron.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/calendar/utc_text.h"

namespace mete::sync {
namespace {

using civil::to_sys;
using civil::to_text;
using civil::utc_instant;

struct NextRow {
  std::string schedule;
  std::string zone;
  std::string after;  // all times in UTC
  std::string next;
};

template <std::size_t N>
void expect_next(const NextRow (&rows)[N]) {
  for (const NextRow& row : rows) {
    SCOPED_TRACE(row.schedule + " in " + row.zone + " after " + row.after);
    const auto cron = Cron::make(row.schedule, row.zone);
    ASSERT_TRUE(cron.has_value()) << cron.error().message;
    EXPECT_EQ(to_text(to_sys(cron->next(utc_instant(row.after)))), row.next + ":00");
  }
}

TEST(CronTest, EveryForm) {
  const NextRow rows[] = {
      {"0 3 * * *", "UTC", "2024-02-28 02:59:59", "2024-02-28 03:00"},
      {"0 3 * * *", "UTC", "2024-02-28 03:00:00", "2024-02-29 03:00"},
      {"* * * * *", "UTC", "2024-02-29 23:59:59", "2024-03-01 00:00"},
      {"* * * * *", "UTC", "2024-02-29 23:59:00", "2024-03-01 00:00"},
      {"*/15 * * * *", "UTC", "2024-01-01 00:15:00", "2024-01-01 00:30"},
      {"*/15 * * * *", "UTC", "2024-01-01 00:45:00", "2024-01-01 01:00"},
      {"5-59/20 * * * *", "UTC", "2024-01-01 00:25:00", "2024-01-01 00:45"},
      {"5-59/20 * * * *", "UTC", "2024-01-01 00:45:00", "2024-01-01 01:05"},
      {"30 8-18/5 * * *", "UTC", "2024-01-01 13:31:00", "2024-01-01 18:30"},
      {"0 0,12 1 */2 *", "UTC", "2024-01-01 12:00:00", "2024-03-01 00:00"},
      {"7,9,8 * * * *", "UTC", "2024-01-01 00:07:00", "2024-01-01 00:08"},
      {"0 0 * feb-Mar *", "UTC", "2024-01-15 00:00:00", "2024-02-01 00:00"},
      {"0 0 * * MON-FRI", "UTC", "2024-03-01 00:00:00", "2024-03-04 00:00"},
      {"0 0 * * 0", "UTC", "2024-03-01 00:00:00", "2024-03-03 00:00"},
      {"0 0 * * 7", "UTC", "2024-03-01 00:00:00", "2024-03-03 00:00"},
      {"0 0 * * SAT-SUN", "UTC", "2024-03-02 00:00:00", "2024-03-03 00:00"},
      {"0  0  *  *  *", "UTC", "2024-03-02 00:00:00", "2024-03-03 00:00"},
      {"@hourly", "UTC", "2024-03-02 00:00:00", "2024-03-02 01:00"},
      {"@daily", "UTC", "2024-03-02 00:00:00", "2024-03-03 00:00"},
      {"@midnight", "UTC", "2024-03-02 00:00:00", "2024-03-03 00:00"},
      {"@weekly", "UTC", "2024-03-02 00:00:00", "2024-03-03 00:00"},
      {"@Monthly", "UTC", "2024-03-02 00:00:00", "2024-04-01 00:00"},
      {"@yearly", "UTC", "2024-03-02 00:00:00", "2025-01-01 00:00"},
      {"@annually", "UTC", "2024-03-02 00:00:00", "2025-01-01 00:00"},
  };
  expect_next(rows);
}

TEST(CronTest, DaysThatFewMonthsHave) {
  const NextRow rows[] = {
      {"0 0 31 * *", "UTC", "2024-03-31 00:00:00", "2024-05-31 00:00"},
      {"0 0 29 2 *", "UTC", "2024-02-29 00:00:00", "2028-02-29 00:00"},
      {"0 0 29 2 *", "UTC", "2096-02-29 00:00:00", "2104-02-29 00:00"},
      {"59 23 31 12 *", "UTC", "2024-12-31 23:59:00", "2025-12-31 23:59"},
  };
  expect_next(rows);
}

// Either of them, if both say something; both, if one of them begins with *.
TEST(CronTest, DayOfTheMonthAndOfTheWeek) {
  const NextRow rows[] = {
      {"0 0 13 * FRI", "UTC", "2024-03-01 00:00:00", "2024-03-08 00:00"},
      {"0 0 13 * FRI", "UTC", "2024-03-08 00:00:00", "2024-03-13 00:00"},
      {"0 0 */2 * FRI", "UTC", "2024-03-01 00:00:00", "2024-03-15 00:00"},
      {"0 0 13 * *", "UTC", "2024-03-01 00:00:00", "2024-03-13 00:00"},
  };
  expect_next(rows);
}

TEST(CronTest, GoesByTheClocksOfItsZone) {
  const NextRow rows[] = {
      {"0 3 * * *", "Europe/Berlin", "2024-02-28 00:00:00", "2024-02-28 02:00"},
      {"0 3 * * *", "Europe/Berlin", "2024-07-28 00:00:00", "2024-07-28 01:00"},
      {"0 0 1 * *", "America/New_York", "2024-02-01 05:00:00", "2024-03-01 05:00"},
      {"30 5 * * *", "Asia/Kolkata", "2024-02-28 00:00:00", "2024-02-29 00:00"},
      {"0 0 * * MON", "Pacific/Auckland", "2024-02-26 00:00:00", "2024-03-03 11:00"},
  };
  expect_next(rows);
}

// Berlin: 2024-03-31 02:00 becomes 03:00 at 01:00 UTC; 2024-10-27 03:00 becomes 02:00 at 01:00 UTC.
TEST(CronTest, WhatAClockChangeSkipsRunsJustAfterItAndWhatItRepeatsRunsOnce) {
  const NextRow rows[] = {
      {"30 2 * * *", "Europe/Berlin", "2024-03-30 12:00:00", "2024-03-31 01:00"},
      {"30 2 * * *", "Europe/Berlin", "2024-03-31 01:00:00", "2024-04-01 00:30"},
      {"15,45 2 * * *", "Europe/Berlin", "2024-03-31 00:59:00", "2024-03-31 01:00"},
      {"15,45 2 * * *", "Europe/Berlin", "2024-03-31 01:00:00", "2024-04-01 00:15"},
      {"0 3 * * *", "Europe/Berlin", "2024-03-30 12:00:00", "2024-03-31 01:00"},
      {"0 3 * * *", "Europe/Berlin", "2024-03-31 01:00:00", "2024-04-01 01:00"},
      {"30 2 * * *", "Europe/Berlin", "2024-10-26 12:00:00", "2024-10-27 00:30"},
      {"30 2 * * *", "Europe/Berlin", "2024-10-27 00:30:00", "2024-10-28 01:30"},
      {"30 2 * * *", "Europe/Berlin", "2024-10-27 01:00:00", "2024-10-28 01:30"},
      {"0 3 * * *", "Europe/Berlin", "2024-10-27 00:30:00", "2024-10-27 02:00"},
  };
  expect_next(rows);
}

TEST(CronTest, EveryHourGoesByWhatTheClockShows) {
  const NextRow rows[] = {
      {"30 * * * *", "Europe/Berlin", "2024-03-31 00:30:00", "2024-03-31 01:30"},
      {"30 * * * *", "Europe/Berlin", "2024-10-27 00:30:00", "2024-10-27 01:30"},
      {"30 * * * *", "Europe/Berlin", "2024-10-27 01:30:00", "2024-10-27 02:30"},
      {"*/20 */2 * * *", "Europe/Berlin", "2024-03-30 23:40:00", "2024-03-31 02:00"},
  };
  expect_next(rows);
}

TEST(CronTest, ATimeThatIsTheSameForEver) {
  const auto cron = Cron::make("0 3 * * *", "Europe/Berlin").value();
  Instant at = utc_instant("2024-01-01 02:00:00");
  for (int day = 0; day < 366; ++day) {
    const Instant next = cron.next(at);
    ASSERT_LE((next - at).seconds(), 25 * 3600) << to_text(to_sys(at));
    ASSERT_GE((next - at).seconds(), 23 * 3600) << to_text(to_sys(at));
    at = next;
  }
  EXPECT_EQ(to_text(to_sys(at)), "2025-01-01 02:00:00");
}

TEST(CronTest, BadSchedulesAreRefusedWithTheField) {
  const struct {
    std::string_view schedule;
    std::string_view reason;
  } rows[] = {
      {"", "it has 0 fields"},
      {"0 3 * *", "it has 4 fields"},
      {"0 3 * * * root", "it has 6 fields"},
      {"60 * * * *", "minute: \"60\""},
      {"-1 * * * *", "minute: \"-1\""},
      {"* 24 * * *", "hour: \"24\""},
      {"* * 0 * *", "day of the month: \"0\""},
      {"* * 32 * *", "day of the month: \"32\""},
      {"* * * 13 *", "month: \"13\""},
      {"* * * JANUARY *", "month: \"JANUARY\""},
      {"* * * * 8", "day of the week: \"8\""},
      {"* * * * MON#2", "day of the week: \"MON#2\""},
      {"5-1 * * * *", "begins behind its end"},
      {"*/0 * * * *", "step"},
      {"*/x * * * *", "step"},
      {"5/10 * * * *", "step without a range"},
      {"1,,2 * * * *", "minute: \"\""},
      {"0 0 30 2 *", "no month that it names has a day"},
      {"0 0 31 4,6,9,11 *", "no month that it names has a day"},
      {"@reboot", "@reboot"},
  };
  for (const auto& row : rows) {
    const auto cron = Cron::make(row.schedule);
    ASSERT_FALSE(cron.has_value()) << row.schedule;
    EXPECT_TRUE(cron.error().message.starts_with("schedule: ")) << cron.error().message;
    EXPECT_NE(cron.error().message.find(row.reason), std::string::npos) << cron.error().message;
  }
  EXPECT_TRUE(Cron::make("@daily", "Europe/Atlantis").error().message.starts_with("zone"));
}

}  // namespace
}  // namespace mete::sync
