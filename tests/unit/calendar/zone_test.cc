#include "calendar/zone.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "calendar/period.h"
#include "unit/calendar/tzif_bytes.h"
#include "unit/calendar/utc_text.h"

namespace mete::civil {
namespace {

using std::chrono::sys_seconds;

std::string file_bytes(const std::string& name) {
  std::ifstream file(std::string(kZoneFolder) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct StretchRow {
  std::string zone;
  std::string at;
  std::string stretch;
};

TEST(ZoneTest, FilesGiveStoredChangesAndThenTheRule) {
  const StretchRow rows[] = {
      {"Europe/Berlin", "1990-07-01", "7200 from 1990-03-25 01:00:00 to 1990-09-30 01:00:00"},
      {"Europe/Berlin", "2037-12-01", "3600 from 2037-10-25 01:00:00 to 2038-03-28 01:00:00"},
      {"Europe/Berlin", "2038-07-01", "7200 from 2038-03-28 01:00:00 to 2038-10-31 01:00:00"},
      {"America/New_York", "2553-07-01", "-14400 from 2553-03-11 07:00:00 to 2553-11-04 06:00:00"},
      {"Asia/Kathmandu", "1980-01-01", "19800 from 1919-12-31 18:18:44 to 1985-12-31 18:30:00"},
      {"Africa/Monrovia", "1971-01-01", "-2670 from 1919-03-01 00:43:08 to 1972-01-07 00:44:30"},
      {"Pacific/Apia", "2011-12-30 10:00", "50400 from 2011-12-30 10:00:00 to 2012-03-31 14:00:00"},
      {"Etc/GMT+5", "2000-01-01", "-18000 from ever to ever"},
      {"UTC", "2000-01-01", "0 from ever to ever"},
  };
  for (const StretchRow& row : rows) {
    SCOPED_TRACE(row.zone + " at " + row.at);
    const auto zone = load_zone(row.zone);
    ASSERT_TRUE(zone.has_value()) << zone.error().message;
    EXPECT_EQ(to_text((*zone)->stretch_at(utc(row.at))), row.stretch);
  }
}

TEST(ZoneTest, BytesGiveStretches) {
  const auto zone = Zone::parse(TzifBytes{.offsets = {60, 120, -60},
                                          .transitions = {{.at = 1000, .type = 1}, {.at = 2000, .type = 2}},
                                          .footer = "\nAAA-1BBB,J100/0,J200/0\n",
                                          .version = '3'}
                                    .build());
  ASSERT_TRUE(zone.has_value());
  const auto text_at = [&](int seconds) {
    return to_text(zone->stretch_at(sys_seconds(std::chrono::seconds(seconds))));
  };
  EXPECT_EQ(text_at(-1), "60 from ever to 1970-01-01 00:16:40");
  EXPECT_EQ(text_at(999), "60 from ever to 1970-01-01 00:16:40");
  EXPECT_EQ(text_at(1000), "120 from 1970-01-01 00:16:40 to 1970-01-01 00:33:20");
  EXPECT_EQ(text_at(2000), "3600 from 1970-01-01 00:33:20 to 1970-04-09 23:00:00") << "the rule holds from the last on";
}

// `zic -b slim`, the default since 2020, stores no year that the rule can tell. Lisbon's last stored change is that of
// 1996, from Central European Time to the summer time of Western Europe: two clocks with one offset, and the rule's
// winter is in no table.
TEST(ZoneTest, ASlimFileGoesOnWithItsRule) {
  const auto zone =
      Zone::parse(TzifBytes{.offsets = {0, 3600, 3600},
                            .transitions = {{.at = 717'555'600, .type = 1}, {.at = 828'234'000, .type = 2}},
                            .footer = "\nWET0WEST,M3.5.0/1,M10.5.0\n"}
                      .build());
  ASSERT_TRUE(zone.has_value());
  EXPECT_EQ(to_text(zone->stretch_at(utc("1996-07-01"))), "3600 from 1996-03-31 01:00:00 to 1996-10-27 01:00:00");
  EXPECT_EQ(to_text(zone->stretch_at(utc("2024-12-01"))), "0 from 2024-10-27 01:00:00 to 2025-03-30 01:00:00");
}

TEST(ZoneTest, WithoutARuleTheLastOffsetStays) {
  const auto zone = Zone::parse(TzifBytes{.offsets = {0, 3600}, .transitions = {{.at = 0, .type = 1}}}.build());
  ASSERT_TRUE(zone.has_value());
  EXPECT_EQ(to_text(zone->stretch_at(utc("2554-01-01"))), "3600 from 1970-01-01 00:00:00 to ever");
}

TEST(ZoneTest, ARuleAloneHoldsForEver) {
  const auto zone = Zone::parse(TzifBytes{.offsets = {1}, .footer = "\nAAA-2\n"}.build());
  ASSERT_TRUE(zone.has_value());
  EXPECT_EQ(to_text(zone->stretch_at(utc("1970-01-01"))), "7200 from ever to ever");
}

TEST(ZoneTest, TakesTheBigBangThatOlderCompilersWrite) {
  constexpr std::int64_t kBigBang = -(std::int64_t{1} << 59);
  EXPECT_TRUE(Zone::parse(TzifBytes{.transitions = {{.at = kBigBang, .type = 0}}}.build()).has_value());
  EXPECT_FALSE(Zone::parse(TzifBytes{.transitions = {{.at = kBigBang - 1, .type = 0}}}.build()).has_value());
  EXPECT_FALSE(Zone::parse(TzifBytes{.transitions = {{.at = INT64_MAX, .type = 0}}}.build()).has_value());
}

struct DamagedRow {
  std::string bytes;
  std::string_view message;
};

TEST(ZoneTest, RefusesDamagedBytes) {
  const std::string good = TzifBytes{}.build();
  std::string huge_count = good;
  huge_count.replace(32, 4, "\xff\xff\xff\xff");  // the first block's timecnt
  const DamagedRow rows[] = {
      {"", "it does not start with TZif"},
      {"# tzdb data", "it does not start with TZif"},
      {"TZif2", "a header is cut short"},
      {huge_count, "a block is cut short"},
      {good.substr(0, 54), "it does not start with TZif"},
      {good.substr(0, 60), "a header is cut short"},
      {TzifBytes{.version = '\0'}.build(), "its format is older than version 2"},
      {TzifBytes{.leaps = 1}.build(), "it counts leap seconds"},
      {TzifBytes{.offsets = {}}.build(), "it has no offset"},
      {TzifBytes{.offsets = {93600}}.build(), "an offset is more than a day"},
      {TzifBytes{.offsets = {-90000}}.build(), "an offset is more than a day"},
      {TzifBytes{.offsets = {INT32_MIN}}.build(), "an offset is more than a day"},
      {TzifBytes{.transitions = {{.at = 0, .type = 1}}}.build(), "a time has no offset"},
      {TzifBytes{.transitions = {{.at = 1, .type = 0}, {.at = 0, .type = 0}}}.build(), "its times are not in order"},
      {TzifBytes{.footer = ""}.build(), "its rule is cut short"},
      {TzifBytes{.footer = "\n"}.build(), "its rule is cut short"},
      {TzifBytes{.footer = "\nUTC0"}.build(), "its rule is cut short"},
      {TzifBytes{.footer = "UTC0\n"}.build(), "its rule is cut short"},
      {TzifBytes{.footer = "\nUTC\n"}.build(), "its yearly rule is not a POSIX rule"},
  };
  for (const DamagedRow& row : rows) {
    const auto zone = Zone::parse(row.bytes);
    ASSERT_FALSE(zone.has_value()) << row.message;
    EXPECT_EQ(zone.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(zone.error().message, row.message);
  }
}

// Whatever the bytes said: stretches and periods hold what they were asked for, and the calls end.
void expect_usable(const Zone& zone) {
  for (const char* text : {"1970-01-01", "1980-04-06 01:00", "2016-10-30 00:59:59", "2024-03-31 01:00", "2554-07-21"}) {
    const sys_seconds at = utc(text);
    const Stretch stretch = zone.stretch_at(at);
    ASSERT_TRUE(stretch.start <= at && at < stretch.end);
    ASSERT_TRUE(kOffsetMin <= stretch.offset && stretch.offset <= kOffsetMax);
    for (const Recurrence& recurrence : {Recurrence{Unit::kHour, 0}, Recurrence{Unit::kDay, 0}}) {
      const Period period = period_at(zone, recurrence, at);
      ASSERT_TRUE(period.start <= at && at < period.end);
      ASSERT_EQ(period_at(zone, recurrence, period.end).start, period.end);
    }
  }
}

TEST(ZoneHostileTest, AFileCutAnywhereIsRefused) {
  const std::string bytes = file_bytes("Europe/Berlin");
  ASSERT_TRUE(Zone::parse(bytes).has_value());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    // A copy of exactly that length, so that reading past it is seen by the sanitizer.
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(Zone::parse({cut.data(), cut.size()}).has_value()) << length;
  }
}

TEST(ZoneHostileTest, AFileWithAnyByteChangedIsRefusedOrUsable) {
  for (const char* name : {"Europe/Berlin", "Australia/Lord_Howe"}) {
    const std::string bytes = file_bytes(name);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (const int mask : {0x01, 0x10, 0x80, 0xff}) {
        std::vector<char> changed(bytes.begin(), bytes.end());
        changed[i] = static_cast<char>(changed[i] ^ mask);
        const auto zone = Zone::parse({changed.data(), changed.size()});
        if (!zone) continue;
        ASSERT_NO_FATAL_FAILURE(expect_usable(*zone)) << name << " byte " << i << " mask " << mask;
      }
    }
  }
}

}  // namespace
}  // namespace mete::civil
