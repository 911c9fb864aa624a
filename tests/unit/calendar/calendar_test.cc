#include "calendar/calendar.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "unit/calendar/utc_text.h"

namespace mete::civil {
namespace {

struct SpanRow {
  Calendar::Spec spec;
  std::string at;
  std::string start;
  std::string end;
};

// Each row holds at its time, at both ends of its span, and not beyond.
template <std::size_t N>
void expect_spans(const SpanRow (&rows)[N]) {
  for (const SpanRow& row : rows) {
    SCOPED_TRACE(std::string(row.spec.zone) + " anchor " + std::to_string(row.spec.anchor) + " at " + row.at);
    const auto calendar = Calendar::make(row.spec);
    ASSERT_TRUE(calendar.has_value()) << calendar.error().message;
    const base::Span span = calendar->span_at(utc_instant(row.at));
    EXPECT_EQ(to_text(span), full_text(row.start, row.end));
    EXPECT_EQ(calendar->span_at(span.start), span);
    EXPECT_EQ(calendar->span_at(Instant::from_ns(span.end.ns() - 1)), span);
    EXPECT_EQ(calendar->span_at(span.end).start, span.end);
    if (span.start > Instant()) {
      EXPECT_EQ(calendar->span_at(Instant::from_ns(span.start.ns() - 1)).end, span.start);
    }
  }
}

TEST(CalendarTest, EveryUnit) {
  const std::string at = "2024-02-29 12:34:56";
  const SpanRow rows[] = {
      {{Unit::kHour, "UTC"}, at, "2024-02-29 12:00", "2024-02-29 13:00"},
      {{Unit::kDay, "UTC"}, at, "2024-02-29", "2024-03-01"},
      {{Unit::kWeek, "UTC"}, at, "2024-02-26", "2024-03-04"},
      {{Unit::kMonth, "UTC"}, at, "2024-02-01", "2024-03-01"},
      {{Unit::kYear, "UTC"}, at, "2024-01-01", "2025-01-01"},
      {{Unit::kHour, "Europe/Berlin"}, at, "2024-02-29 12:00", "2024-02-29 13:00"},
      {{Unit::kDay, "Europe/Berlin"}, at, "2024-02-28 23:00", "2024-02-29 23:00"},
      {{Unit::kWeek, "Europe/Berlin"}, at, "2024-02-25 23:00", "2024-03-03 23:00"},
      {{Unit::kMonth, "Europe/Berlin"}, at, "2024-01-31 23:00", "2024-02-29 23:00"},
      {{Unit::kYear, "Europe/Berlin"}, at, "2023-12-31 23:00", "2024-12-31 23:00"},
      {{Unit::kDay, "America/New_York"}, "2024-02-29 04:00", "2024-02-28 05:00", "2024-02-29 05:00"},
      {{Unit::kMonth, "Europe/Berlin"}, "2024-03-15", "2024-02-29 23:00", "2024-03-31 22:00"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, LeapYears) {
  const SpanRow rows[] = {
      {{Unit::kMonth, "UTC"}, "2000-02-10", "2000-02-01", "2000-03-01"},
      {{Unit::kDay, "UTC"}, "2000-02-29 01:00", "2000-02-29", "2000-03-01"},
      {{Unit::kDay, "UTC"}, "2100-02-28 01:00", "2100-02-28", "2100-03-01"},
      {{Unit::kWeek, "UTC"}, "2100-02-28", "2100-02-22", "2100-03-01"},
      {{Unit::kMonth, "UTC", 29}, "2100-02-28", "2100-02-28", "2100-03-29"},
      {{Unit::kDay, "UTC"}, "2400-02-29 01:00", "2400-02-29", "2400-03-01"},
      {{Unit::kYear, "UTC"}, "2400-02-29", "2400-01-01", "2401-01-01"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, WeeksStartOnTheirAnchor) {
  const std::string saturday = "2024-03-02 12:00";
  const SpanRow rows[] = {
      {{Unit::kWeek, "UTC", 1}, saturday, "2024-02-26", "2024-03-04"},
      {{Unit::kWeek, "UTC", 2}, saturday, "2024-02-27", "2024-03-05"},
      {{Unit::kWeek, "UTC", 3}, saturday, "2024-02-28", "2024-03-06"},
      {{Unit::kWeek, "UTC", 4}, saturday, "2024-02-29", "2024-03-07"},
      {{Unit::kWeek, "UTC", 5}, saturday, "2024-03-01", "2024-03-08"},
      {{Unit::kWeek, "UTC", 6}, saturday, "2024-03-02", "2024-03-09"},
      {{Unit::kWeek, "UTC", 7}, saturday, "2024-02-25", "2024-03-03"},
      {{Unit::kWeek, "UTC", 4}, "1970-01-01", "1970-01-01", "1970-01-08"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, MonthsStartOnTheirAnchorOrTheirLastDay) {
  const SpanRow rows[] = {
      {{Unit::kMonth, "UTC", 15}, "2024-01-14 23:59:59", "2023-12-15", "2024-01-15"},
      {{Unit::kMonth, "UTC", 15}, "2024-01-15", "2024-01-15", "2024-02-15"},
      {{Unit::kMonth, "UTC", 31}, "2023-02-15", "2023-01-31", "2023-02-28"},
      {{Unit::kMonth, "UTC", 31}, "2023-02-28", "2023-02-28", "2023-03-31"},
      {{Unit::kMonth, "UTC", 31}, "2024-02-28", "2024-01-31", "2024-02-29"},
      {{Unit::kMonth, "UTC", 31}, "2024-02-29", "2024-02-29", "2024-03-31"},
      {{Unit::kMonth, "UTC", 31}, "2024-04-29", "2024-03-31", "2024-04-30"},
      {{Unit::kMonth, "UTC", 31}, "2024-12-31", "2024-12-31", "2025-01-31"},
      {{Unit::kMonth, "UTC", 30}, "2023-03-01", "2023-02-28", "2023-03-30"},
      {{Unit::kMonth, "UTC", 29}, "2024-02-29", "2024-02-29", "2024-03-29"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, YearsStartOnTheirAnchor) {
  const SpanRow rows[] = {
      {{Unit::kYear, "Europe/London", month_day(4, 6)}, "2024-04-05 22:59", "2023-04-05 23:00", "2024-04-05 23:00"},
      {{Unit::kYear, "Europe/London", month_day(4, 6)}, "2024-04-05 23:00", "2024-04-05 23:00", "2025-04-05 23:00"},
      {{Unit::kYear, "UTC", month_day(12, 31)}, "2024-06-01", "2023-12-31", "2024-12-31"},
      {{Unit::kYear, "UTC", month_day(2, 29)}, "2000-02-29", "2000-02-29", "2001-02-28"},
      {{Unit::kYear, "UTC", month_day(2, 29)}, "2024-02-28", "2023-02-28", "2024-02-29"},
      {{Unit::kYear, "UTC", month_day(2, 29)}, "2024-02-29", "2024-02-29", "2025-02-28"},
      {{Unit::kYear, "UTC", month_day(2, 29)}, "2100-02-28", "2100-02-28", "2101-02-28"},
      {{Unit::kYear, "UTC", month_day(2, 29)}, "2400-02-29", "2400-02-29", "2401-02-28"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, ASkippedMidnightStartsTheDayAfterTheGap) {
  const SpanRow rows[] = {
      {{Unit::kDay, "America/Sao_Paulo"}, "2018-11-04 12:00", "2018-11-04 03:00", "2018-11-05 02:00"},
      {{Unit::kDay, "America/Havana"}, "2024-03-10 12:00", "2024-03-10 05:00", "2024-03-11 04:00"},
      {{Unit::kDay, "Asia/Beirut"}, "2022-03-27 12:00", "2022-03-26 22:00", "2022-03-27 21:00"},
      {{Unit::kDay, "Africa/Cairo"}, "2023-04-28 12:00", "2023-04-27 22:00", "2023-04-28 21:00"},
      {{Unit::kWeek, "America/Sao_Paulo", 7}, "2018-11-06", "2018-11-04 03:00", "2018-11-11 02:00"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, ARepeatedMidnightStartsTheDayTheFirstTime) {
  const SpanRow rows[] = {
      // 01:00 becomes 00:00 again.
      {{Unit::kDay, "America/Havana"}, "2024-11-03 04:30", "2024-11-03 04:00", "2024-11-04 05:00"},
      {{Unit::kDay, "America/Havana"}, "2024-11-03 05:00", "2024-11-03 04:00", "2024-11-04 05:00"},
      // 00:00 becomes 23:00 of the day before, which has not ended yet.
      {{Unit::kDay, "America/Sao_Paulo"}, "2018-02-18 02:00", "2018-02-17 02:00", "2018-02-18 03:00"},
      {{Unit::kDay, "Asia/Beirut"}, "2022-10-29 21:30", "2022-10-28 21:00", "2022-10-29 22:00"},
      {{Unit::kDay, "Africa/Cairo"}, "2023-10-26 21:30", "2023-10-25 21:00", "2023-10-26 22:00"},
      // 00:01 becomes 23:01 of the day before, which has.
      {{Unit::kDay, "America/St_Johns"}, "2010-11-07 02:29:59", "2010-11-06 02:30", "2010-11-07 02:30"},
      {{Unit::kDay, "America/St_Johns"}, "2010-11-07 02:30:30", "2010-11-07 02:30", "2010-11-08 03:30"},
      {{Unit::kDay, "America/St_Johns"}, "2010-11-07 02:31", "2010-11-07 02:30", "2010-11-08 03:30"},
      {{Unit::kDay, "America/St_Johns"}, "2010-11-07 03:29:59", "2010-11-07 02:30", "2010-11-08 03:30"},
      {{Unit::kWeek, "America/St_Johns", 7}, "2010-11-07 03:00", "2010-11-07 02:30", "2010-11-14 03:30"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, ASkippedDayIsNoPeriod) {
  const SpanRow rows[] = {
      // Samoa had no 30 December 2011.
      {{Unit::kDay, "Pacific/Apia"}, "2011-12-30 09:59:59", "2011-12-29 10:00", "2011-12-30 10:00"},
      {{Unit::kDay, "Pacific/Apia"}, "2011-12-30 10:00", "2011-12-30 10:00", "2011-12-31 10:00"},
      {{Unit::kWeek, "Pacific/Apia"}, "2011-12-30 10:00", "2011-12-26 10:00", "2012-01-01 10:00"},
      {{Unit::kWeek, "Pacific/Apia", 5}, "2011-12-30 09:00", "2011-12-23 10:00", "2011-12-30 10:00"},
      {{Unit::kWeek, "Pacific/Apia", 5}, "2011-12-30 10:00", "2011-12-30 10:00", "2012-01-05 10:00"},
      {{Unit::kMonth, "Pacific/Apia"}, "2011-12-30 10:00", "2011-12-01 10:00", "2011-12-31 10:00"},
      {{Unit::kMonth, "Pacific/Apia", 30}, "2011-12-30 09:00", "2011-11-30 10:00", "2011-12-30 10:00"},
      {{Unit::kMonth, "Pacific/Apia", 30}, "2011-12-30 10:00", "2011-12-30 10:00", "2012-01-29 10:00"},
      {{Unit::kYear, "Pacific/Apia", 1230}, "2011-12-30 10:00", "2011-12-30 10:00", "2012-12-29 10:00"},
      {{Unit::kHour, "Pacific/Apia"}, "2011-12-30 09:30", "2011-12-30 09:00", "2011-12-30 10:00"},
      // Kwajalein had no 21 August 1993.
      {{Unit::kDay, "Pacific/Kwajalein"}, "1993-08-21 11:00", "1993-08-20 12:00", "1993-08-21 12:00"},
      {{Unit::kDay, "Pacific/Kwajalein"}, "1993-08-21 12:00", "1993-08-21 12:00", "1993-08-22 12:00"},
      {{Unit::kWeek, "Pacific/Kwajalein"}, "1993-08-21 12:00", "1993-08-16 12:00", "1993-08-22 12:00"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, HoursFollowTheLocalClock) {
  const SpanRow rows[] = {
      {{Unit::kHour, "Asia/Kolkata"}, "2024-01-01", "2023-12-31 23:30", "2024-01-01 00:30"},
      {{Unit::kHour, "Asia/Kathmandu"}, "2024-01-01", "2023-12-31 23:15", "2024-01-01 00:15"},
      {{Unit::kHour, "Africa/Monrovia"}, "1971-06-01 12:00", "1971-06-01 11:44:30", "1971-06-01 12:44:30"},
      // 00:00 became 00:15, for good.
      {{Unit::kHour, "Asia/Kathmandu"}, "1985-12-31 18:40", "1985-12-31 18:30", "1985-12-31 19:15"},
      // 02:00 becomes 01:30.
      {{Unit::kHour, "Australia/Lord_Howe"}, "2024-04-06 14:30", "2024-04-06 14:00", "2024-04-06 15:30"},
      {{Unit::kHour, "Australia/Lord_Howe"}, "2024-04-06 15:00", "2024-04-06 14:00", "2024-04-06 15:30"},
      // 02:00 becomes 02:30.
      {{Unit::kHour, "Australia/Lord_Howe"}, "2024-10-05 15:29:59", "2024-10-05 14:30", "2024-10-05 15:30"},
      {{Unit::kHour, "Australia/Lord_Howe"}, "2024-10-05 15:30", "2024-10-05 15:30", "2024-10-05 16:00"},
      // 03:00 becomes 02:00: the hour from 02:00 comes twice. 02:00 becomes 03:00: it does not come.
      {{Unit::kHour, "Europe/Berlin"}, "2024-10-27 00:30", "2024-10-27 00:00", "2024-10-27 01:00"},
      {{Unit::kHour, "Europe/Berlin"}, "2024-10-27 01:30", "2024-10-27 01:00", "2024-10-27 02:00"},
      {{Unit::kHour, "Europe/Berlin"}, "2024-03-31 01:30", "2024-03-31 01:00", "2024-03-31 02:00"},
      // 00:01 becomes 23:01, which goes on with the hour that began at 00:00.
      {{Unit::kHour, "America/St_Johns"}, "2010-11-07 03:00", "2010-11-07 02:30", "2010-11-07 03:30"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, TheRuleHoldsInTheYear2400) {
  const SpanRow rows[] = {
      {{Unit::kDay, "America/New_York"}, "2400-03-12 12:00", "2400-03-12 05:00", "2400-03-13 04:00"},
      {{Unit::kDay, "America/New_York"}, "2400-11-05 12:00", "2400-11-05 04:00", "2400-11-06 05:00"},
      {{Unit::kMonth, "America/New_York"}, "2400-03-12", "2400-03-01 05:00", "2400-04-01 04:00"},
      {{Unit::kDay, "Europe/Berlin"}, "2400-03-26 12:00", "2400-03-25 23:00", "2400-03-26 22:00"},
      {{Unit::kDay, "Europe/Berlin"}, "2400-10-29 12:00", "2400-10-28 22:00", "2400-10-29 23:00"},
      {{Unit::kMonth, "Europe/Berlin"}, "2400-10-29", "2400-09-30 22:00", "2400-10-31 23:00"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, TimeBeginsAtTheEpoch) {
  const SpanRow rows[] = {
      {{Unit::kHour, "Africa/Monrovia"}, "1970-01-01", "1970-01-01", "1970-01-01 00:44:30"},
      {{Unit::kDay, "America/New_York"}, "1970-01-01", "1970-01-01", "1970-01-01 05:00"},
      {{Unit::kWeek, "UTC"}, "1970-01-01", "1970-01-01", "1970-01-05"},
      {{Unit::kMonth, "America/New_York"}, "1970-01-01", "1970-01-01", "1970-01-01 05:00"},
      {{Unit::kMonth, "Asia/Tokyo"}, "1970-01-01", "1970-01-01", "1970-01-31 15:00"},
      {{Unit::kYear, "America/New_York"}, "1970-01-01", "1970-01-01", "1970-01-01 05:00"},
  };
  expect_spans(rows);
}

TEST(CalendarTest, TimeEndsWithTheLastInstant) {
  for (const Unit unit : {Unit::kHour, Unit::kDay, Unit::kWeek, Unit::kMonth, Unit::kYear}) {
    for (const std::string_view zone : {"UTC", "Pacific/Kiritimati", "America/New_York"}) {
      const auto calendar = Calendar::make({unit, zone}).value();
      const base::Span span = calendar.span_at(Instant::from_ns(Instant::max().ns() - 1));
      EXPECT_EQ(span.end, Instant::max());
      EXPECT_LT(span.start, span.end);
      EXPECT_EQ(calendar.span_at(Instant::max()), span);
    }
  }
}

struct ErrorRow {
  Calendar::Spec spec;
  std::string_view message;
};

TEST(CalendarTest, RefusesWhatTheUnitDoesNotHave) {
  const std::string_view no_anchor = "anchor: hours and days have none: leave out the 1";
  const std::string year = "anchor: a year starts on a month and day such as 406 (6 April), not ";
  const ErrorRow rows[] = {
      {{Unit::kHour, "UTC", 1}, no_anchor},
      {{Unit::kDay, "UTC", 1}, no_anchor},
      {{Unit::kWeek, "UTC", 8}, "anchor: a week starts on 1 (Monday) to 7 (Sunday), not 8"},
      {{Unit::kWeek, "UTC", -1}, "anchor: a week starts on 1 (Monday) to 7 (Sunday), not -1"},
      {{Unit::kMonth, "UTC", 32}, "anchor: a month starts on a day from 1 to 31, not 32"},
      {{Unit::kMonth, "UTC", -1}, "anchor: a month starts on a day from 1 to 31, not -1"},
      {{Unit::kMonth, "Mars/Base"}, "zone: unknown time zone 'Mars/Base': use an IANA name such as 'Europe/Berlin'"},
      {{Unit::kMonth, ""}, "zone: unknown time zone '': use an IANA name such as 'Europe/Berlin'"},
  };
  for (const ErrorRow& row : rows) {
    const auto calendar = Calendar::make(row.spec);
    ASSERT_FALSE(calendar.has_value()) << row.message;
    EXPECT_EQ(calendar.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(calendar.error().message, row.message);
  }
  for (const int anchor : {1, 31, 100, 132, 230, 431, 1131, 1200, 1301, 10101, -101, 2147483647, -2147483647 - 1}) {
    const auto calendar = Calendar::make({Unit::kYear, "UTC", anchor});
    ASSERT_FALSE(calendar.has_value()) << anchor;
    EXPECT_EQ(calendar.error().message, year + std::to_string(anchor));
  }
}

}  // namespace
}  // namespace mete::civil
