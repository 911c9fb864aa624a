// Rule 11: redefining never refills. Dropping forgets.
#include <algorithm>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

constexpr Kind kKinds[] = {Kind::kBucket, Kind::kWindow, Kind::kSliding, Kind::kCalendar, Kind::kStock};

TEST_P(Conformance, Rule11_AnyKindBecomesAnyOtherAndKeepsItsUsage) {
  for (const Kind from : kKinds) {
    for (const Kind to : kKinds) {
      SCOPED_TRACE(std::string(to_string(from)) + " to " + std::string(to_string(to)));
      start_window(kHour);
      const std::string name =
          define(of_kind(from, unique(std::string(to_string(from)) + "-" + std::string(to_string(to))), 100));
      take(name, "a", 30);
      take(name, "full", 100);
      const std::string id = hold({name, "a", 20}, 30min);
      define(of_kind(to, name, 100));
      EXPECT_EQ(usage(name, "a").used, 30);
      EXPECT_EQ(usage(name, "a").held, 20);
      EXPECT_FALSE(take(name, "full").allowed());
      EXPECT_EQ(take(name, "a", 50).remaining, 0);
      EXPECT_FALSE(take(name, "a").allowed());
      EXPECT_EQ(limiter().cancel(id).value().amount, 20);
      EXPECT_EQ(charged(name, "a"), 80);
      EXPECT_EQ(limiter().find_limit(name).value()->kind(), to);
    }
  }
}

TEST_P(Conformance, Rule11_AChangedAmountKeepsTheUsage) {
  for (const Limit& limit : each_kind(100)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 60);
    define(of_kind(limit.kind(), limit.name(), 150));
    EXPECT_EQ(usage(limit.name(), "a").used, 60);
    EXPECT_EQ(usage(limit.name(), "a").remaining, 90);
    define(of_kind(limit.kind(), limit.name(), 40));
    EXPECT_EQ(usage(limit.name(), "a").used, 60);
    EXPECT_EQ(usage(limit.name(), "a").remaining, 0);
    EXPECT_EQ(usage(limit.name(), "a").limit, 40);
    EXPECT_FALSE(take(limit.name(), "a").allowed());
    define(of_kind(limit.kind(), limit.name(), 100));
    EXPECT_EQ(usage(limit.name(), "a").used, 60);
    EXPECT_TRUE(take(limit.name(), "a", 40).allowed());
    EXPECT_FALSE(take(limit.name(), "a").allowed());
  }
}

TEST_P(Conformance, Rule11_TheSameDefinitionAgainChangesNothing) {
  for (const Limit& limit : each_kind(100)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 60);
    hold({limit.name(), "a", 10}, 40min);
    advance(10min + 1ns);
    const Standing before = standing(limit.name(), "a");
    for (int i = 0; i < 3; ++i) define(limit);
    EXPECT_EQ(standing(limit.name(), "a"), before);
    EXPECT_EQ(limiter().find_limit(limit.name()).value(), limit);
  }
}

TEST_P(Conformance, Rule11_ABucketKeepsItsFraction) {
  const std::string api = define(bucket(unique("api")).amount(10).per(10s));
  take(api, "a", 10);
  advance(500ms);  // 9.5 are used
  define(bucket(api).amount(20).per(10s));
  EXPECT_EQ(usage(api, "a").used, 10);
  EXPECT_EQ(usage(api, "a").remaining, 10);
  EXPECT_EQ(take(api, "a", 11).retry_after.ns(), Duration(250ms).ns());
  define(bucket(api).amount(20).per(20s).burst(12));
  EXPECT_EQ(usage(api, "a").remaining, 2);
  EXPECT_EQ(take(api, "a", 3).retry_after.ns(), Duration(500ms).ns());
  for (int i = 0; i < 50; ++i) {
    define(bucket(api).amount(20 + i % 2).per(20s).burst(12));
    EXPECT_FALSE(take(api, "a", 3).allowed()) << "a reload is no refill";
  }
}

TEST_P(Conformance, Rule11_AChangedPeriodKeepsTheUsageInTheWindowOfTheChange) {
  for (const Kind kind : {Kind::kWindow, Kind::kSliding}) {
    SCOPED_TRACE(to_string(kind));
    const std::string name = unique(to_string(kind));
    start_window(kHour);
    define(Limit(kind, name).amount(10).per(1h));
    take(name, "a", 8);
    advance(45min);
    define(Limit(kind, name).amount(10).per(10min));
    EXPECT_EQ(usage(name, "a").used, 8);
    EXPECT_EQ(limiter().give(name, "a", 1).value().amount, 1) << "it belongs to this window";
    EXPECT_EQ(usage(name, "a").reset_after.ns(), Duration(kind == Kind::kWindow ? 5min : 10min).ns());
    advance(20min);
    EXPECT_EQ(usage(name, "a").used, 0);
  }
}

TEST_P(Conformance, Rule11_SlidingUsageKeepsItsTimesUnderAnotherAmount) {
  const std::string name = define(sliding(unique("sliding")).amount(10).per(1h));
  take(name, "a", 7);
  advance(20min);
  take(name, "a", 2);
  for (const Amount amount : {Amount{1'000'000}, Amount{50}, Amount{10}}) {
    define(sliding(name).amount(amount).per(1h));
    EXPECT_EQ(usage(name, "a").used, 9);
    advance(10min);
  }
  advance(10min);
  EXPECT_EQ(usage(name, "a").used, 2) << "an hour after the seven";
  define(window(name).amount(10).per(1h));
  EXPECT_EQ(usage(name, "never charged").used, 0);
}

// Of 18,890 units a slot keeps multiples of ten, and the rest is carried on: so no store may leave charges as they
// were.
TEST_P(Conformance, Rule11_SlidingUsageIsKeptInTheQuantaOfTheNewAmount) {
  const std::string name = define(sliding(unique("sliding")).amount(200).per(125s));
  start_window(125s);
  for (int i = 0; i < 10; ++i) {
    take(name, "a", 7);
    advance(1s);
  }
  define(sliding(name).amount(18'890).per(125s));
  EXPECT_EQ(usage(name, "a").used, 70);
  advance(116s);
  EXPECT_EQ(usage(name, "a").used, 70) << "the seven of the first slot went on to the second";
  advance(1s);
  EXPECT_EQ(usage(name, "a").used, 60);
}

TEST_P(Conformance, Rule11_AChangeOfTheZoneIsAChangeOfWindows) {
  world().travel_to(Instant::from_unix_seconds(1'801'396'800));  // 2027-01-31 12:00 UTC
  const std::string name = define(calendar(unique("links")).amount(10).per(Unit::kDay));
  take(name, "a", 8);
  EXPECT_EQ(usage(name, "a").reset_after.ns(), Duration(12h).ns());
  define(calendar(name).amount(10).per(Unit::kDay).zone("Asia/Tokyo"));
  EXPECT_EQ(usage(name, "a").used, 8);
  EXPECT_EQ(usage(name, "a").reset_after.ns(), Duration(3h).ns());
  define(calendar(name).amount(10).per(Unit::kMonth).anchor(2));
  EXPECT_EQ(usage(name, "a").used, 8);
  EXPECT_EQ(usage(name, "a").reset_after.ns(), Duration(36h).ns());
}

TEST_P(Conformance, Rule11_ShadowIsSwitchedWithoutARefill) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 8);
    define(of_kind(limit.kind(), limit.name(), 10).shadow());
    EXPECT_TRUE(take(limit.name(), "a", 3).allowed());
    EXPECT_EQ(usage(limit.name(), "a").used, 8);
    define(limit);
    EXPECT_FALSE(take(limit.name(), "a", 3).allowed());
    EXPECT_EQ(usage(limit.name(), "a").used, 8);
  }
}

TEST_P(Conformance, Rule11_ARefusedDefinitionLeavesTheOldOne) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 8);
    const Standing before = standing(limit.name(), "a");
    expect_error(limiter().define(of_kind(limit.kind(), limit.name(), 0)), ErrorCode::kInvalid, "amount");
    expect_error(limiter().define(scoped(calendar(limit.name()).amount(10).per(Unit::kDay).zone("Mars/Olympus"))),
                 ErrorCode::kInvalid, "zone");
    EXPECT_EQ(standing(limit.name(), "a"), before);
    EXPECT_EQ(limiter().find_limit(limit.name()).value(), limit);
  }
}

TEST_P(Conformance, Rule11_DropForgetsTheMeters) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    const std::string& name = limit.name();
    take(name, "a", 10);
    limiter().override_amount(name, "b", 50).value();
    EXPECT_TRUE(limiter().drop(name).value());
    EXPECT_FALSE(limiter().drop(name).value()) << "there is none any more";
    EXPECT_FALSE(limiter().find_limit(name).value().has_value());
    expect_error(limiter().take(name, "a"), ErrorCode::kNoLimit, name);
    define(limit);
    EXPECT_EQ(usage(name, "a").used, 0);
    EXPECT_EQ(usage(name, "b").limit, 10);
    EXPECT_TRUE(limiter().top(name, 10).value().empty());
    EXPECT_TRUE(take(name, "a", 10).allowed());
  }
}

TEST_P(Conformance, Rule11_LimitsAreListedByName) {
  const std::string second = define(stock(unique("b")).amount(1));
  const std::string first = define(bucket(unique("a")).amount(1).per(1s).burst(7).shadow());
  const std::string third =
      define(calendar(unique("c")).amount(1).per(Unit::kYear).zone("Europe/Rome").anchor(month_day(7, 1)));
  const auto names = limiter().limits().value();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : {first, second, third}) EXPECT_EQ(std::count(names.begin(), names.end(), name), 1);
  EXPECT_EQ(limiter().find_limit(first).value(), scoped(bucket(first).amount(1).per(1s).burst(7).shadow()));
  EXPECT_EQ(limiter().find_limit(third).value(),
            scoped(calendar(third).amount(1).per(Unit::kYear).zone("Europe/Rome").anchor(month_day(7, 1))));
  limiter().drop(second).value();
  const auto rest = limiter().limits().value();
  EXPECT_EQ(std::count(rest.begin(), rest.end(), second), 0);
}

}  // namespace
}  // namespace mete::conformance
