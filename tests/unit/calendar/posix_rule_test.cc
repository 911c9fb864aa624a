#include "calendar/posix_rule.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "unit/calendar/utc_text.h"

namespace mete::civil {
namespace {

struct RuleRow {
  std::string_view rule;
  std::string at;
  std::chrono::seconds offset;
  std::string start;
  std::string end;
};

TEST(ZonePosixRuleTest, ChangesComeEveryYear) {
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  const std::string_view berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
  const std::string_view new_york = "EST5EDT,M3.2.0,M11.1.0";
  const std::string_view sydney = "AEST-10AEDT,M10.1.0,M4.1.0/3";
  const std::string_view greenland = "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1";
  const std::string_view israel = "IST-2IDT,M3.4.4/26,M10.5.0";
  const std::string_view dublin = "IST-1GMT0,M10.5.0,M3.5.0/1";
  const std::string_view lord_howe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
  const std::string_view julian = "AAA0BBB,J60/0,J300/0";
  const std::string_view counted = "AAA0BBB,59/0,300/0";
  const std::string_view all_year = "EST5EDT,0/0,J365/25";
  const std::string_view new_year = "AAA0BBB,J1/-167,J365/167";
  const RuleRow rows[] = {
      {berlin, "2400-01-15", hours(1), "2399-10-31 01:00", "2400-03-26 01:00"},
      {berlin, "2400-03-26 00:59:59", hours(1), "2399-10-31 01:00", "2400-03-26 01:00"},
      {berlin, "2400-03-26 01:00", hours(2), "2400-03-26 01:00", "2400-10-29 01:00"},
      {berlin, "2400-12-31 23:59:59", hours(1), "2400-10-29 01:00", "2401-03-25 01:00"},
      {new_york, "2400-07-04", -hours(4), "2400-03-12 07:00", "2400-11-05 06:00"},
      {sydney, "2050-01-01", hours(11), "2049-10-02 16:00", "2050-04-02 16:00"},
      {sydney, "2050-07-01", hours(10), "2050-04-02 16:00", "2050-10-01 16:00"},
      {greenland, "2024-03-31 00:59:59", -hours(3), "2023-10-29 01:00", "2024-03-31 01:00"},
      {greenland, "2024-03-31 01:00", -hours(2), "2024-03-31 01:00", "2024-10-27 01:00"},
      {israel, "2040-06-01", hours(3), "2040-03-23 00:00", "2040-10-27 23:00"},
      {dublin, "2050-01-01", hours(0), "2049-10-31 01:00", "2050-03-27 01:00"},
      {dublin, "2050-07-01", hours(1), "2050-03-27 01:00", "2050-10-30 01:00"},
      {lord_howe, "2050-07-01", hours(10) + minutes(30), "2050-04-02 15:00", "2050-10-01 15:30"},
      {julian, "2023-06-01", hours(1), "2023-03-01 00:00", "2023-10-26 23:00"},
      {julian, "2024-06-01", hours(1), "2024-03-01 00:00", "2024-10-26 23:00"},
      {counted, "2023-06-01", hours(1), "2023-03-01 00:00", "2023-10-27 23:00"},
      {counted, "2024-06-01", hours(1), "2024-02-29 00:00", "2024-10-26 23:00"},
      {all_year, "2050-06-01", -hours(4), "2050-01-01 05:00", "2051-01-01 05:00"},
      {all_year, "2050-01-01 04:59:59", -hours(4), "2049-01-01 05:00", "2050-01-01 05:00"},
      // Changes on the far side of New Year: daylight saving begins before the last one has ended.
      {new_year, "2050-01-01", hours(1), "2049-12-25 01:00", "2050-01-06 22:00"},
      {new_year, "2050-06-01", hours(0), "2050-01-06 22:00", "2050-12-25 01:00"},
      // Both changes on the far side: the one that matters is written for the year before the last, or after the next.
      {"AAA0BBB,J365/100,J365/160", "2050-01-01", hours(0), "2049-01-06 15:00", "2050-01-04 04:00"},
      {"AAA0BBB,J365/160,J365/100", "2050-01-01", hours(1), "2049-01-06 16:00", "2050-01-04 03:00"},
      {"AAA0BBB,J1/-100,J1/-50", "2050-12-31", hours(0), "2050-12-29 21:00", "2051-12-27 20:00"},
      {"AAA0BBB,J1/-50,J1/-100", "2050-12-31", hours(1), "2050-12-29 22:00", "2051-12-27 19:00"},
      {"AAA1:02:03", "2050-01-01", -seconds(3723), "", ""},
      {"<+0330>-3:30", "2050-01-01", seconds(12600), "", ""},
      {"ABC+24:59:59", "2050-01-01", kOffsetMin, "", ""},
      {"ABC-24:59:59", "2050-01-01", seconds(89999), "", ""},
  };
  for (const RuleRow& row : rows) {
    SCOPED_TRACE(std::string(row.rule) + " at " + row.at);
    const auto rule = PosixRule::parse(row.rule);
    ASSERT_TRUE(rule.has_value());
    const Stretch stretch = rule->stretch_at(utc(row.at));
    EXPECT_EQ(stretch.offset.count(), row.offset.count());
    const Period always{.start = kTimeMin, .end = kTimeMax};
    const Period expected = row.start.empty() ? always : Period{.start = utc(row.start), .end = utc(row.end)};
    EXPECT_TRUE(expected == (Period{.start = stretch.start, .end = stretch.end}))
        << to_text(stretch.start) << " to " << to_text(stretch.end);
  }
}

TEST(ZonePosixRuleTest, RefusesWhatIsNoRule) {
  const std::string_view rows[] = {
      "",
      "CE-1",
      "CET",
      "CET-25",
      "CET-1:60",
      "CET-1:00:60",
      "CET--1",
      "CET-1000",
      "<+03-3",
      "<+>-3",
      "<+0 3>-3",
      "CET-1CEST",
      "CET-1CEST,M3.5.0",
      "CET-1CEST,M3.5.0,",
      "CET-1CEST,M0.5.0,M10.5.0",
      "CET-1CEST,M13.5.0,M10.5.0",
      "CET-1CEST,M3.0.0,M10.5.0",
      "CET-1CEST,M3.6.0,M10.5.0",
      "CET-1CEST,M3.5.7,M10.5.0",
      "CET-1CEST,M3.5,M10.5.0",
      "CET-1CEST,J0,J300",
      "CET-1CEST,J366,J300",
      "CET-1CEST,366,300",
      "CET-1CEST,M3.5.0/168,M10.5.0",
      "CET-1CEST,M3.5.0/-168,M10.5.0",
      "CET-1CEST,M3.5.0/,M10.5.0",
      "CET-1CEST,M3.5.0,M10.5.0/3 ",
      "CET-1CEST,M3.5.0,M10.5.0/3,",
      std::string_view("CET-1\0", 6),
      ":Europe/Berlin",
  };
  for (const std::string_view row : rows) EXPECT_FALSE(PosixRule::parse(row).has_value()) << row;
}

}  // namespace
}  // namespace mete::civil
