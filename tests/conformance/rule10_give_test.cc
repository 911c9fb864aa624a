// Rule 10: give returns at most what is used: never below zero, and nothing of what is held. And reconcile.
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, Rule10_GiveReturnsAtMostWhatIsUsed) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    EXPECT_EQ(limiter().give(limit.name(), "a", 3).value(), (Settlement{.amount = 0, .remaining = 10, .limit = 10}));
    take(limit.name(), "a", 7);
    EXPECT_EQ(limiter().give(limit.name(), "a", 3).value(), (Settlement{.amount = 3, .remaining = 6, .limit = 10}));
    EXPECT_EQ(limiter().give(limit.name(), "a", kAmountMax).value(),
              (Settlement{.amount = 4, .remaining = 10, .limit = 10}));
    EXPECT_EQ(limiter().give(limit.name(), "a", 1).value().amount, 0);
    EXPECT_EQ(usage(limit.name(), "a"), usage(limit.name(), "never charged"));
    EXPECT_FALSE(take(limit.name(), "a", 11).allowed());
  }
}

TEST_P(Conformance, Rule10_GiveTakesNothingFromHolds) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 2);
    const std::string id = hold({limit.name(), "a", 5}, 30min);
    EXPECT_EQ(limiter().give(limit.name(), "a", 6).value(), (Settlement{.amount = 2, .remaining = 5, .limit = 10}));
    EXPECT_EQ(limiter().give(limit.name(), "a", 6).value().amount, 0);
    EXPECT_EQ(usage(limit.name(), "a").held, 5);
    EXPECT_EQ(limiter().commit(id).value().amount, 5);
    EXPECT_EQ(limiter().give(limit.name(), "a", 6).value().amount, 5) << "what is committed is used";
  }
}

TEST_P(Conformance, Rule10_ABucketsFractionIsGivenBackOnceOnly) {
  const std::string api = define(bucket(unique("api")).amount(10).per(10s));
  take(api, "a", 5);
  advance(2500ms);  // 2.5 are used
  EXPECT_EQ(limiter().give(api, "a", 2).value().amount, 2);
  EXPECT_EQ(usage(api, "a").reset_after.ns(), Duration(500ms).ns());
  EXPECT_EQ(limiter().give(api, "a", 2).value(), (Settlement{.amount = 1, .remaining = 10, .limit = 10}))
      << "usage is told rounded up";
  EXPECT_EQ(usage(api, "a").reset_after, Duration());
  EXPECT_FALSE(take(api, "a", 11).allowed());
}

TEST_P(Conformance, Rule10_SeveralGivesAreAddedUp) {
  const std::string first = define(stock(unique("first")).amount(10));
  const std::string second = define(stock(unique("second")).amount(20));
  limiter().take({{first, "a", 3}, {second, "a", 15}}).value();
  const Settlement given = limiter().give({{first, "a", 2}, {second, "a", 4}, {first, "a", 5}}).value();
  EXPECT_EQ(given, (Settlement{.amount = 7, .remaining = 9, .limit = 20}));
  EXPECT_EQ(usage(first, "a").used, 0);
  EXPECT_EQ(usage(second, "a").used, 11);
}

TEST_P(Conformance, Rule10_GiveComesBackFromForcedUsage) {
  const std::string storage = define(stock(unique("storage")).amount(10));
  take_mode({storage, "a", 25}, Mode::kForce);
  EXPECT_EQ(limiter().give(storage, "a", 10).value(), (Settlement{.amount = 10, .remaining = 0, .limit = 10}));
  EXPECT_FALSE(take(storage, "a").allowed());
  EXPECT_EQ(limiter().give(storage, "a", 10).value(), (Settlement{.amount = 10, .remaining = 5, .limit = 10}));
}

TEST_P(Conformance, Reconcile_SetsWhatIsUsedAndKeepsWhatIsHeld) {
  for (const Limit& limit : each_kind(100)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 30);
    const std::string id = hold({limit.name(), "a", 20}, 30min);
    const Reconciliation up = limiter().reconcile(limit.name(), "a", 55).value();
    EXPECT_EQ(up.used_before, 30);
    EXPECT_EQ(up.used_now, 55);
    EXPECT_EQ(usage(limit.name(), "a").used, 55);
    EXPECT_EQ(usage(limit.name(), "a").held, 20);
    EXPECT_EQ(usage(limit.name(), "a").remaining, 25);
    limiter().reconcile(limit.name(), "a", 0).value();
    EXPECT_EQ(charged(limit.name(), "a"), 20);
    EXPECT_EQ(limiter().cancel(id).value().amount, 20);
    EXPECT_EQ(charged(limit.name(), "a"), 0);
  }
}

TEST_P(Conformance, Reconcile_MayGoAboveTheAmountAndMakesAKey) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    EXPECT_EQ(limiter().reconcile(limit.name(), "new", 15).value().used_before, 0);
    EXPECT_EQ(usage(limit.name(), "new").used, 15);
    EXPECT_FALSE(take(limit.name(), "new").allowed());
    EXPECT_EQ(limiter().top(limit.name(), 5).value().size(), 1U);
    limiter().reconcile(limit.name(), "new", 9).value();
    EXPECT_TRUE(take(limit.name(), "new").allowed());
    EXPECT_FALSE(take(limit.name(), "new").allowed());
  }
}

TEST_P(Conformance, Reconcile_BelongsToTheWindowOfItsTime) {
  for (const Kind kind : {Kind::kWindow, Kind::kCalendar, Kind::kBucket}) {
    SCOPED_TRACE(to_string(kind));
    const std::string name = define(of_kind(kind, unique(to_string(kind)), 10));
    start_window(kHour);
    limiter().reconcile(name, "a", 10).value();
    EXPECT_EQ(usage(name, "a").reset_after.ns(), Duration(1h).ns());
    advance(1h);
    EXPECT_EQ(usage(name, "a").used, 0);
  }
}

}  // namespace
}  // namespace mete::conformance
