// Rule 5: what can never fit is said as such. Rule 6: retry_after is exact, and reset_after is judged after the charge.
#include <span>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, Rule05_WhatCanNeverFitHasNoWait) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    for (const Amount used : {0, 4}) {
      if (used > 0) take(limit.name(), "alice", used);
      const Decision decision = take(limit.name(), "alice", 11);
      EXPECT_FALSE(decision.allowed());
      EXPECT_TRUE(decision.retry_after.is_never());
      EXPECT_EQ(decision.retry_after.seconds(), -1);
      EXPECT_EQ(decision.limit, 10);
      EXPECT_TRUE(limiter().hold({{limit.name(), "alice", kAmountMax}}, 1h).value().retry_after.is_never());
    }
  }
}

TEST_P(Conformance, Rule05_ABurstIsWhatFits) {
  const std::string large = define(bucket(unique("large")).amount(10).per(1s).burst(20));
  EXPECT_TRUE(limiter().peek(large, "a", 20).value().allowed());
  EXPECT_TRUE(limiter().peek(large, "a", 21).value().retry_after.is_never());
  const std::string small = define(bucket(unique("small")).amount(10).per(1s).burst(4));
  EXPECT_TRUE(limiter().peek(small, "a", 4).value().allowed());
  EXPECT_TRUE(limiter().peek(small, "a", 5).value().retry_after.is_never());
}

TEST_P(Conformance, Rule05_StockWaitsOnlyForHolds) {
  const std::string storage = define(stock(unique("storage")).amount(10));
  take(storage, "alice", 4);
  EXPECT_TRUE(take(storage, "alice", 7).retry_after.is_never());
  hold({storage, "alice", 5}, 1min);
  EXPECT_EQ(take(storage, "alice", 2).retry_after.ns(), Duration(1min).ns());
  EXPECT_EQ(take(storage, "alice", 6).retry_after.ns(), Duration(1min).ns());
  EXPECT_TRUE(take(storage, "alice", 7).retry_after.is_never());
}

// The slots are of 100 ms. The first hold expires after its period, and before its slot has passed: that makes no room.
// The second one does.
TEST_P(Conformance, Rule06_TheWaitCountsNoHoldThatExpiresAfterItsPeriod) {
  const std::string name = define(sliding(unique("sliding")).amount(100).per(12'500ms));
  start_window(12'500ms);
  advance(5ms);
  hold({name, "a", 50}, 12'530ms);
  for (int i = 0; i < 6; ++i) {
    advance(1ms);
    take(name, "a");
  }
  advance(1'994ms);
  hold({name, "a", 44}, 10'580ms);
  advance(10'507ms);
  const Decision denied = take(name, "a", 40);
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.retry_after.ns(), Duration(73ms).ns());
  expect_exact_wait({name, "a", 40});
}

TEST_P(Conformance, Rule06_TheWaitIsExact) {
  for (const Limit& limit : each_kind(10)) {
    if (limit.kind() == Kind::kStock) continue;
    SCOPED_TRACE(limit.name());
    const std::string& name = limit.name();
    start_window(kHour);
    take(name, "alice", 7);
    advance(11min + 13ns);
    take_mode({name, "alice", 10}, Mode::kUpTo);
    expect_exact_wait({name, "alice", 1});
    take(name, "alice", 1);
    expect_exact_wait({name, "alice", 10});
    take(name, "alice", 10);
    advance(1ns);
    expect_exact_wait({name, "alice", 3});
  }
}

struct OddRate {
  Amount amount;
  Duration period;
};
const OddRate kOddRates[] = {{3, 1s}, {7, 3s}, {1, 24h * 30}};
const OddRate kFastOddRates[] = {{999'999'937, 1s}, {11, 1ms}};

class OddRates : public Conformance {
 protected:
  void expect_exact_waits(Kind kind, std::span<const OddRate> rates) {
    for (const OddRate& rate : rates) {
      SCOPED_TRACE(std::to_string(rate.amount) + " per " + std::to_string(rate.period.ns()));
      const std::string name =
          define(Limit(kind, unique("rate" + std::to_string(rate.amount))).amount(rate.amount).per(rate.period));
      take(name, "alice", rate.amount);
      advance(Duration::from_ns(rate.period.ns() / 7));
      take_mode({name, "alice", rate.amount}, Mode::kUpTo);
      for (const Amount cost : {Amount{1}, rate.amount / 2 + 1, rate.amount}) {
        if (limiter().peek(name, "alice", cost).value().allowed()) continue;
        expect_exact_wait({name, "alice", cost});
        take(name, "alice", cost);
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Store, OddRates, ::testing::ValuesIn(stores()), store_name);

TEST_P(OddRates, Rule06_TheWaitIsExactForBuckets) { expect_exact_waits(Kind::kBucket, kOddRates); }

TEST_P(OddRates, Rule06_TheWaitIsExactForFastBuckets) { expect_exact_waits(Kind::kBucket, kFastOddRates); }

TEST_P(OddRates, Rule06_TheWaitIsExactForSlidingWindows) {
  expect_exact_waits(Kind::kSliding, kOddRates);
  expect_exact_waits(Kind::kSliding, kFastOddRates);
}

TEST_P(Conformance, Rule06_TheWaitCountsOnHoldsThatExpire) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    const std::string& name = limit.name();
    start_window(kHour);
    take(name, "alice", 2);
    hold({name, "alice", 3}, 2min);
    hold({name, "alice", 5}, 1min);
    // What a bucket has refilled since is not credited again, so there the last of the eight takes a minute more.
    const Duration wait = limit.kind() == Kind::kBucket ? 3min : 2min;
    EXPECT_EQ(limiter().peek(name, "alice", 8).value().retry_after.ns(), wait.ns());
    expect_exact_wait({name, "alice", 1});
    expect_exact_wait({name, "alice", 8});
    EXPECT_TRUE(take(name, "alice", 8).allowed());
  }
}

TEST_P(Conformance, Rule06_TheWaitOfUpToIsThatOfOneUnit) {
  const std::string api = define(bucket(unique("api")).amount(10).per(10s));
  take(api, "alice", 10);
  const Decision denied = take_mode({api, "alice", 8}, Mode::kUpTo);
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.retry_after.ns(), Duration(1s).ns());
  advance(1s);
  EXPECT_EQ(take_mode({api, "alice", 8}, Mode::kUpTo).taken, 1);
}

TEST_P(Conformance, Rule06_NoWaitWhereItIsAllowed) {
  for (const Limit& limit : each_kind(10)) {
    EXPECT_EQ(take(limit.name(), "alice", 10).retry_after, Duration());
    EXPECT_EQ(take(limit.name(), "alice", 0).retry_after, Duration());
  }
}

TEST_P(Conformance, Rule06_ResetIsJudgedAfterTheCharge) {
  const struct {
    Kind kind;
    Duration after_first;   // 3 of 10, at the start of an hour
    Duration after_second;  // 7 more, twenty minutes later
  } rows[] = {
      {Kind::kBucket, 18min, 42min},  // full again before the second
      {Kind::kWindow, 60min, 40min},   {Kind::kSliding, 60min, 60min},
      {Kind::kCalendar, 60min, 40min}, {Kind::kStock, Duration::never(), Duration::never()},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(to_string(row.kind));
    const std::string name = define(of_kind(row.kind, unique(to_string(row.kind)), 10));
    const bool is_stock = row.kind == Kind::kStock;
    EXPECT_EQ(usage(name, "a").reset_after.ns(), (is_stock ? Duration::never() : Duration()).ns()) << "fresh";
    start_window(kHour);
    EXPECT_EQ(take(name, "a", 3).reset_after.ns(), row.after_first.ns());
    advance(20min);
    EXPECT_EQ(take(name, "a", 7).reset_after.ns(), row.after_second.ns());
    EXPECT_EQ(usage(name, "a").reset_after.ns(), row.after_second.ns());
  }
}

TEST_P(Conformance, Rule06_AfterTheResetTheMeterIsFresh) {
  for (const Limit& limit : each_kind(10)) {
    if (limit.kind() == Kind::kStock) continue;
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    advance(13min + 1ns);
    const Duration reset = take(limit.name(), "alice", 9).reset_after;
    const Duration step = world().clock_resolution();
    advance(reset + Duration::from_ns(-step.ns()));
    EXPECT_GT(usage(limit.name(), "alice").used, 0);
    EXPECT_EQ(usage(limit.name(), "alice").reset_after.ns(), step.ns());
    advance(step);
    EXPECT_EQ(usage(limit.name(), "alice"), usage(limit.name(), "never charged"));
  }
}

TEST_P(Conformance, Rule06_SlidingCountsEachChargeForOnePeriod) {
  const std::string name = define(sliding(unique("sliding")).amount(100).per(1h));
  take(name, "a", 60);
  advance(15min);
  take(name, "a", 10);
  advance(45min + Duration(-1us));
  EXPECT_EQ(usage(name, "a").used, 70);
  advance(1us);
  EXPECT_EQ(usage(name, "a").used, 10);
  advance(15min + Duration(-1us));
  EXPECT_EQ(usage(name, "a").used, 10);
  advance(1us);
  EXPECT_EQ(usage(name, "a").used, 0);
}

// When there are many, they are counted in slots of a 125th of the period: here of 28.8 seconds.
TEST_P(Conformance, Rule06_SlidingCountsManyChargesByTheirSlots) {
  const std::string name = define(sliding(unique("sliding")).amount(100).per(1h));
  start_window(kHour);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(take(name, "a", 5).allowed());
    advance(2s);
  }
  EXPECT_EQ(take(name, "a").retry_after.ns(), Duration(1h + 28800ms - 40s).ns());
  advance(1h + 28800ms - 40s);
  EXPECT_EQ(usage(name, "a").used, 25) << "fifteen of them were made within the first slot";
  EXPECT_EQ(usage(name, "a").reset_after.ns(), Duration(28800ms).ns());
}

}  // namespace
}  // namespace mete::conformance
