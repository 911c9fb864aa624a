// Shifts: usage brought to what a source of truth says, by the difference, so that nothing that happens meanwhile is
// lost.
#include "conformance/fixture.h"
#include "core/rule.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;
using store::Shift;
using store::Shifted;

class ShiftTest : public Conformance {
 protected:
  Result<Shifted> shift(std::string_view limit, const Shift& one) { return shift_since(limit, world().now(), one); }
  Result<Shifted> shift_since(std::string_view limit, Instant since, const Shift& one) {
    Result<Shifted> answer;
    world().store().shift({.limit = limit, .since = since, .shifts = {&one, 1}, .answers = {&answer, 1}});
    return answer;
  }
  std::vector<Limit> kinds_that_shift(Amount amount) {
    std::vector<Limit> kinds = each_kind(amount);
    std::erase_if(kinds, [](const Limit& limit) { return !core::can_shift(limit.kind()); });
    EXPECT_EQ(kinds.size(), 3U);
    return kinds;
  }
};

TEST_P(ShiftTest, AddsAndTakesOffAndKeepsWhatIsHeld) {
  for (const Limit& limit : kinds_that_shift(100)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 30);
    const std::string id = hold({limit.name(), "a", 20}, 30min);
    EXPECT_EQ(shift(limit.name(), {"a", 25}).value(), Shifted{.change = 25});
    EXPECT_EQ(usage(limit.name(), "a").used, 55);
    EXPECT_EQ(usage(limit.name(), "a").held, 20);
    EXPECT_EQ(usage(limit.name(), "a").remaining, 25);
    EXPECT_EQ(shift(limit.name(), {"a", -50}).value(), Shifted{.change = -50});
    EXPECT_EQ(usage(limit.name(), "a").used, 5);
    EXPECT_EQ(shift(limit.name(), {"a", 0}).value(), Shifted{});
    EXPECT_EQ(limiter().cancel(id).value().amount, 20);
    EXPECT_EQ(charged(limit.name(), "a"), 5);
  }
}

TEST_P(ShiftTest, StopsAtNothingAndTellsHowMuchThatWas) {
  for (const Limit& limit : kinds_that_shift(100)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 30);
    hold({limit.name(), "a", 20}, 30min);
    EXPECT_EQ(shift(limit.name(), {"a", -kAmountMax}).value(), Shifted{.change = -30});
    EXPECT_EQ(usage(limit.name(), "a").used, 0);
    EXPECT_EQ(usage(limit.name(), "a").held, 20);
    EXPECT_EQ(shift(limit.name(), {"unknown key", -1}).value(), Shifted{});
  }
}

TEST_P(ShiftTest, TakesOffWhatWasTakenAMomentAgo) {
  for (const Limit& limit : kinds_that_shift(100)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 30);
    EXPECT_EQ(shift(limit.name(), {"a", -20}).value(), Shifted{.change = -20});
    EXPECT_EQ(usage(limit.name(), "a").used, 10);
    EXPECT_TRUE(take(limit.name(), "a", 90).allowed());
    EXPECT_FALSE(take(limit.name(), "a").allowed());
  }
}

TEST_P(ShiftTest, MayPassTheLimitAndMakesAKey) {
  for (const Limit& limit : kinds_that_shift(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    EXPECT_EQ(shift(limit.name(), {"new", 15}).value(), Shifted{.change = 15});
    EXPECT_EQ(usage(limit.name(), "new").used, 15);
    EXPECT_FALSE(take(limit.name(), "new").allowed());
  }
}

TEST_P(ShiftTest, IsLateOnceItsWindowHasPassed) {
  for (const Kind kind : {Kind::kWindow, Kind::kCalendar}) {
    SCOPED_TRACE(to_string(kind));
    const std::string name = define(of_kind(kind, unique(to_string(kind)), 10));
    start_window(kHour);
    const Instant marked = world().now();
    advance(59min);
    EXPECT_EQ(shift_since(name, marked, {"a", 4}).value(), Shifted{.change = 4});
    advance(1min);
    take(name, "a", 2);
    EXPECT_EQ(shift_since(name, marked, {"a", 4}).value(), Shifted{.is_late = true});
    EXPECT_EQ(shift_since(name, marked, {"b", 4}).value(), Shifted{.is_late = true});
    EXPECT_EQ(usage(name, "a").used, 2);
    EXPECT_EQ(usage(name, "b").used, 0);
  }
}

TEST_P(ShiftTest, OfAStockIsNeverLate) {
  const std::string storage = define(stock(unique("storage")).amount(10));
  const Instant marked = world().now();
  advance(24h * 40);
  EXPECT_EQ(shift_since(storage, marked, {"a", 4}).value(), Shifted{.change = 4});
}

TEST_P(ShiftTest, ManyAtOnceAreEachForItself) {
  const std::string storage = define(stock(unique("storage")).amount(kAmountMax));
  take(storage, "full", kAmountMax);
  constexpr int kKeys = 450;  // more than travel together
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back("key-" + std::to_string(i));
  std::vector<Shift> shifts;
  for (int i = 0; i < kKeys; ++i) shifts.push_back({keys[static_cast<std::size_t>(i)], i});
  shifts.push_back({"full", 1});
  std::vector<Result<Shifted>> answers(shifts.size());
  world().store().shift({.limit = storage, .since = world().now(), .shifts = shifts, .answers = answers});
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].value(), Shifted{.change = i});
    EXPECT_EQ(usage(storage, keys[static_cast<std::size_t>(i)]).used, i);
  }
  expect_error(answers.back(), ErrorCode::kInvalid, storage);
  EXPECT_EQ(usage(storage, "full").used, kAmountMax);
}

TEST_P(ShiftTest, WorksAfterTheLimitWasChangedAndByTheKeysOwnAmount) {
  const std::string storage = define(stock(unique("storage")).amount(10));
  take(storage, "a", 4);
  limiter().override_amount(storage, "a", 50).value();
  define(stock(storage).amount(20));
  EXPECT_EQ(shift(storage, {"a", 6}).value(), Shifted{.change = 6});
  EXPECT_EQ(usage(storage, "a").used, 10);
  EXPECT_EQ(usage(storage, "a").limit, 50);
}

TEST_P(ShiftTest, BadInputIsRefusedAndChangesNothing) {
  const std::string storage = define(stock(unique("storage")).amount(10));
  const std::string api = define(bucket(unique("api")).amount(10).per(1s));
  const std::string login = define(sliding(unique("login")).amount(10).per(1min));
  expect_error(shift("no such limit", {"a", 1}), ErrorCode::kNoLimit, "no such limit");
  expect_error(shift(storage, {"", 1}), ErrorCode::kInvalid, "key");
  expect_error(shift(storage, {"a", kAmountMax + 1}), ErrorCode::kInvalid, "change");
  expect_error(shift(storage, {"a", -kAmountMax - 1}), ErrorCode::kInvalid, "change");
  expect_error(shift(api, {"a", 1}), ErrorCode::kInvalid, "bucket");
  expect_error(shift(login, {"a", 1}), ErrorCode::kInvalid, "sliding");
  EXPECT_EQ(usage(storage, "a").used, 0);
  EXPECT_EQ(usage(api, "a").used, 0);
}

TEST_P(ShiftTest, S6_WhatHappensBetweenMarkAndShiftIsNotLost) {
  const std::string storage = define(stock(unique("storage")).amount(1000));
  take(storage, "tenant", 480);
  const Amount mark = usage(storage, "tenant").used;
  const Amount truth = 500;  // counted from the files
  take(storage, "tenant", 100);
  limiter().give(storage, "tenant", 30).value();
  const std::string id = hold({storage, "tenant", 200}, 1h);
  limiter().commit(id, 150).value();
  shift(storage, {"tenant", truth - mark}).value();
  EXPECT_EQ(usage(storage, "tenant").used, 500 + 100 - 30 + 150);
}

INSTANTIATE_TEST_SUITE_P(Store, ShiftTest, ::testing::ValuesIn(stores()), store_name);

}  // namespace
}  // namespace mete::conformance
