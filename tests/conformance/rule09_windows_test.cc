// Rule 9: a charge belongs to the window it was made in.
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

const Kind kWindowed[] = {Kind::kWindow, Kind::kCalendar};

TEST_P(Conformance, Rule09_AWindowEndsAtItsMultipleOfThePeriod) {
  for (const Kind kind : kWindowed) {
    SCOPED_TRACE(to_string(kind));
    const std::string name = define(of_kind(kind, unique(to_string(kind)), 10));
    start_window(kHour);
    advance(59min);
    take(name, "a", 10);
    EXPECT_EQ(usage(name, "a").reset_after.ns(), Duration(1min).ns());
    advance(1min + Duration::from_ns(-world().clock_resolution().ns()));
    EXPECT_FALSE(take(name, "a").allowed());
    advance(world().clock_resolution());
    EXPECT_EQ(take(name, "a").remaining, 9);
  }
}

TEST_P(Conformance, Rule09_WhatIsCancelledAfterTheWindowDoesNotCreditTheNext) {
  for (const Kind kind : kWindowed) {
    SCOPED_TRACE(to_string(kind));
    const std::string name = define(of_kind(kind, unique(to_string(kind)), 10));
    start_window(kHour);
    const std::string id = hold({name, "a", 6}, 3h);
    EXPECT_EQ(usage(name, "a").held, 6);
    advance(1h);
    EXPECT_EQ(usage(name, "a").held, 0) << "the next window is not charged for it";
    EXPECT_EQ(limiter().holds(name, "a").value(), std::vector<std::string>{id}) << "but it is open";
    EXPECT_TRUE(take(name, "a", 10).allowed());
    EXPECT_EQ(limiter().cancel(id).value(), (Settlement{.amount = 0, .remaining = 0, .limit = 10}));
    EXPECT_EQ(usage(name, "a").used, 10);
  }
}

TEST_P(Conformance, Rule09_WhatIsCommittedAfterTheWindowIsNotChargedToTheNext) {
  for (const Kind kind : kWindowed) {
    SCOPED_TRACE(to_string(kind));
    const std::string name = define(of_kind(kind, unique(to_string(kind)), 10));
    start_window(kHour);
    const std::string all = hold({name, "a", 3}, 3h);
    const std::string part = hold({name, "a", 3}, 3h);
    const std::string more = hold({name, "a", 3}, 3h);
    advance(1h + 1min);
    take(name, "a", 5);
    EXPECT_EQ(limiter().commit(all).value(), (Settlement{.amount = 3, .remaining = 5, .limit = 10}));
    EXPECT_EQ(limiter().commit(part, 1).value(), (Settlement{.amount = 1, .remaining = 5, .limit = 10}));
    const Amount amount = 5;
    EXPECT_EQ(limiter().commit_with_overage(more, {&amount, 1}).value(),
              (Settlement{.amount = 5, .remaining = 3, .limit = 10}))
        << "overage is a take made now";
    EXPECT_EQ(usage(name, "a").used, 7);
  }
}

TEST_P(Conformance, Rule09_WhatExpiresAfterTheWindowDoesNotCreditTheNext) {
  for (const Kind kind : kWindowed) {
    SCOPED_TRACE(to_string(kind));
    const std::string name = define(of_kind(kind, unique(to_string(kind)), 10));
    start_window(kHour);
    hold({name, "a", 6}, 90min);
    hold({name, "b", 6}, 30min);
    advance(1h);
    take(name, "a", 8);
    take(name, "b", 8);
    advance(30min);
    EXPECT_EQ(usage(name, "a").used, 8);
    EXPECT_EQ(usage(name, "b").used, 8) << "it expired in its own window, before anybody looked";
  }
}

TEST_P(Conformance, Rule09_WhatIsGivenBackAfterTheWindowDoesNotCreditTheNext) {
  for (const Kind kind : kWindowed) {
    SCOPED_TRACE(to_string(kind));
    const std::string name = define(of_kind(kind, unique(to_string(kind)), 10));
    start_window(kHour);
    take(name, "a", 8);
    advance(1h);
    EXPECT_EQ(limiter().give(name, "a", 8).value().amount, 0);
    take(name, "a", 3);
    EXPECT_EQ(limiter().give(name, "a", 8).value().amount, 3);
    EXPECT_EQ(usage(name, "a").used, 0);
  }
}

TEST_P(Conformance, Rule09_WhatHasLeftASlidingWindowDoesNotComeBackAgain) {
  const std::string name = define(sliding(unique("sliding")).amount(10).per(1h));
  const std::string id = hold({name, "a", 6}, 3h);
  advance(30min);
  take(name, "a", 4);
  EXPECT_EQ(usage(name, "a").held, 6);
  advance(30min);
  EXPECT_EQ(usage(name, "a").held, 0);
  EXPECT_EQ(usage(name, "a").used, 4);
  EXPECT_EQ(limiter().cancel(id).value().amount, 0);
  EXPECT_EQ(usage(name, "a").used, 4);
}

// Nobody says which charge is given back: if it were the newest, more than the amount could count within a period.
TEST_P(Conformance, Rule09_AGiveTakesTheOldestOfASlidingWindow) {
  const std::string name = define(sliding(unique("sliding")).amount(10).per(1h));
  take(name, "a", 5);
  advance(50min);
  take(name, "a", 5);
  EXPECT_EQ(limiter().give(name, "a", 5).value().amount, 5);
  advance(10min);
  EXPECT_EQ(usage(name, "a").used, 5);
  advance(50min);
  EXPECT_EQ(usage(name, "a").used, 0);
}

TEST_P(Conformance, Rule09_AHoldLeavesASlidingWindowWhereItWasMade) {
  const std::string name = define(sliding(unique("sliding")).amount(10).per(1h));
  take(name, "a", 5);
  advance(50min);
  const std::string id = hold({name, "a", 5}, 1h);
  EXPECT_EQ(limiter().cancel(id).value().amount, 5);
  advance(10min);
  EXPECT_EQ(usage(name, "a").used, 0);
}

TEST_P(Conformance, Rule09_AFewWindowsLaterNothingIsLeft) {
  for (const Limit& limit : each_kind(10)) {
    if (limit.kind() == Kind::kStock) continue;
    SCOPED_TRACE(limit.name());
    take(limit.name(), "a", 10);
    const std::string id = hold({limit.name(), "b", 10}, 24h);
    advance(5h);
    EXPECT_EQ(charged(limit.name(), "a"), 0);
    EXPECT_EQ(charged(limit.name(), "b"), 0);
    take(limit.name(), "b", 10);
    EXPECT_EQ(limiter().cancel(id).value().amount, 0);
    EXPECT_EQ(charged(limit.name(), "b"), 10);
  }
}

// The calendar's own boundaries are tested beside it; here, that a store uses them.
struct CalendarCase {
  std::string_view what;
  Unit unit;
  std::string_view zone;
  int anchor;  // 0: none
  std::uint64_t inside;
  std::uint64_t end;
};

const CalendarCase kCalendarCases[] = {
    {"a leap February", Unit::kMonth, "UTC", 0, 1'835'308'800, 1'835'481'600},  // 2028-02-28 .. 2028-03-01
    {"a Berlin day of 23 hours", Unit::kDay, "Europe/Berlin", 0, 1'806'188'400, 1'806'271'200},  // 2027-03-28
    {"a New York month", Unit::kMonth, "America/New_York", 0, 1'798'779'599, 1'798'779'600},  // to 2027-01-01 00:00 -05
    {"a week from Sunday", Unit::kWeek, "UTC", 7, 1'806'192'000, 1'806'796'800},              // 2027-03-28 .. 04-04
    {"a tax year", Unit::kYear, "Europe/London", month_day(4, 6), 1'806'966'000, 1'838'588'400},  // 2027-04-06 .. 2028
    {"a month from the 31st", Unit::kMonth, "UTC", 31, 1'801'353'600, 1'803'772'800},             // 2027-01-31 .. 02-28
};

TEST_P(Conformance, Rule09_CalendarPeriodsEndWhereTheyEnd) {
  for (const CalendarCase& row : kCalendarCases) {
    SCOPED_TRACE(row.what);
    world().travel_to(Instant::from_unix_seconds(row.inside));
    Limit limit = calendar(unique(std::string("calendar ") + std::string(row.what))).amount(20).per(row.unit);
    limit.zone(std::string(row.zone));
    if (row.anchor != 0) limit.anchor(row.anchor);
    define(limit);
    const Duration length = Instant::from_unix_seconds(row.end) - Instant::from_unix_seconds(row.inside);
    EXPECT_EQ(take(limit.name(), "a", 20).reset_after.ns(), length.ns());
    advance(length + Duration::from_ns(-world().clock_resolution().ns()));
    EXPECT_EQ(take(limit.name(), "a").retry_after.ns(), world().clock_resolution().ns());
    advance(world().clock_resolution());
    EXPECT_TRUE(take(limit.name(), "a").allowed());
  }
}

}  // namespace
}  // namespace mete::conformance
