// What holds for every kind: waits over expiring parts, usage that is set, and redefinition between all kinds.
#include "core/meter.h"

#include <gtest/gtest.h>

#include "unit/core/table.h"

namespace mete::core {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

std::vector<Rule> all_kinds(Amount amount) {
  return {bucket_rule(amount, 60s), window_rule(amount, 60s), sliding_rule(amount, 60s), calendar_rule(amount),
          stock_rule(amount)};
}

TEST(Meter, AllZerosIsFreshForEveryKind) {
  for (const Rule& rule : all_kinds(10)) {
    SCOPED_TRACE(to_string(rule.kind));
    for (const Instant now : {Instant(), k2023, k2500}) {
      const Moment moment = moment_at(rule, now);
      const State state = settled(rule, {}, now);
      EXPECT_TRUE(is_fresh(rule, state, moment));
      EXPECT_EQ(used(rule, state, moment), 0);
      EXPECT_EQ(remaining(rule, state, moment), 10);
      EXPECT_EQ(reset_after(rule, state, moment), rule.kind == Kind::kStock ? Duration::never() : Duration());
      EXPECT_EQ(wait_for(rule, state, 10, moment), Duration());
      EXPECT_TRUE(wait_for(rule, state, 11, moment).is_never());
    }
  }
}

TEST(Meter, SettlingIsIdempotent) {
  for (const Rule& rule : all_kinds(10)) {
    SCOPED_TRACE(to_string(rule.kind));
    State state = settled(rule, {}, k2023);
    charge(rule, state, 7, moment_at(rule, k2023));
    const Moment later = moment_at(rule, k2023 + 61s);
    const State once = settled(rule, state, later.now);
    const State twice = settled(rule, once, later.now);
    EXPECT_EQ(used(rule, once, later), used(rule, twice, later));
    EXPECT_EQ(reset_after(rule, once, later), reset_after(rule, twice, later));
  }
}

TEST(Meter, SetUsedMakesTheUsageThatNumber) {
  for (const Rule& rule : all_kinds(10)) {
    SCOPED_TRACE(to_string(rule.kind));
    for (const Amount units : {Amount{0}, Amount{4}, Amount{10}, Amount{25}, kAmountMax}) {
      const Moment moment = moment_at(rule, k2023 + 3s);
      State state = settled(rule, {}, moment.now);
      charge(rule, state, 7, moment);
      set_used(rule, state, units, moment);
      EXPECT_EQ(used(rule, state, moment), units);
      EXPECT_EQ(remaining(rule, state, moment), std::max<Amount>(0, 10 - units));
    }
  }
}

TEST(Meter, GivesBackWhatIsUsedAndNotHeld) {
  const struct {
    Amount units;
    Amount held;
    Amount given;
  } rows[] = {{0, 0, 0}, {3, 0, 3}, {7, 0, 7}, {8, 0, 7}, {kAmountMax, 0, 7}, {7, 5, 2}, {1, 5, 1}, {4, 7, 0}};
  for (const Rule& rule : all_kinds(10)) {
    SCOPED_TRACE(to_string(rule.kind));
    for (const auto& row : rows) {
      const Moment moment = moment_at(rule, k2023 + 3s);
      State state = settled(rule, {}, moment.now);
      charge(rule, state, 7, moment);
      EXPECT_EQ(give_back(rule, state, row.units, row.held, moment), row.given);
      EXPECT_EQ(used(rule, state, moment), 7 - row.given);
    }
  }
}

TEST(Meter, GivesNothingBackOfAWindowThatIsOver) {
  for (const Rule& rule : {window_rule(10, 60s), sliding_rule(10, 60s), calendar_rule(10)}) {
    SCOPED_TRACE(to_string(rule.kind));
    State state = settled(rule, {}, k2023);
    charge(rule, state, 7, moment_at(rule, k2023));
    const Moment next = moment_at(rule, rule.kind == Kind::kCalendar ? k2023 + 24h : k2023 + 60s);
    settle(rule, state, next);
    const Amount before = used(rule, state, next);
    EXPECT_EQ(give_back(rule, state, 7, 0, next), 0);
    EXPECT_EQ(used(rule, state, next), before);
  }
}

TEST(Meter, APartThatExpiresCreditsTheWindowOfItsExpiry) {
  for (const Rule& rule : all_kinds(10)) {
    SCOPED_TRACE(to_string(rule.kind));
    State state = settled(rule, {}, k2023);
    charge(rule, state, 6, moment_at(rule, k2023));
    const HeldPart part{6, k2023, k2023 + 30s};
    expire(rule, state, part, moment_at(rule, part.expires_at));
    EXPECT_TRUE(is_fresh(rule, state, moment_at(rule, part.expires_at)));
  }
}

TEST(Meter, RedefiningKeepsTheUsageBetweenAllPairsOfKinds) {
  const Instant now = k2023 + 3s;
  for (const Rule& from : all_kinds(10)) {
    for (const Rule& to : all_kinds(4)) {
      SCOPED_TRACE(std::string(to_string(from.kind)) + " to " + std::string(to_string(to.kind)));
      State state = settled(from, {}, now);
      charge(from, state, 7, moment_at(from, now));
      const State rebased = rebase({from, moment_at(from, now)}, state, {to, moment_at(to, now)});
      EXPECT_EQ(used(to, rebased, moment_at(to, now)), 7);
      EXPECT_EQ(remaining(to, rebased, moment_at(to, now)), 0);
      EXPECT_FALSE(fits(to, rebased, 0, moment_at(to, now)));
      EXPECT_EQ(used(to, settled(to, rebased, now), moment_at(to, now)), 7);
    }
  }
}

TEST(Meter, RedefiningAFreshMeterLeavesItFresh) {
  for (const Rule& from : all_kinds(10)) {
    for (const Rule& to : all_kinds(4)) {
      const State state = settled(from, {}, k2023);
      const State rebased = rebase({from, moment_at(from, k2023)}, state, {to, moment_at(to, k2023)});
      EXPECT_TRUE(is_fresh(to, settled(to, rebased, k2023), moment_at(to, k2023)));
    }
  }
}

TEST(Meter, ASlidingWindowKeepsItsChargesUnderAnotherAmount) {
  const Rule from = sliding_rule(10, 60s);
  const Rule to = sliding_rule(20, 60s);
  State state = settled(from, {}, k2023);
  charge(from, state, 6, moment_at(from, k2023));
  const Instant now = k2023 + 59s;
  settle(from, state, moment_at(from, now));
  charge(from, state, 2, moment_at(from, now));
  const State rebased = rebase({from, moment_at(from, now)}, state, {to, moment_at(to, now)});
  EXPECT_EQ(used(to, rebased, moment_at(to, now)), 8);
  EXPECT_EQ(used(to, settled(to, rebased, k2023 + 60s), moment_at(to, k2023 + 60s)), 2);
  // Another period: all of it is as if charged at that instant.
  const Rule wider = sliding_rule(20, 3600s);
  const State carried = rebase({from, moment_at(from, now)}, state, {wider, moment_at(wider, now)});
  EXPECT_EQ(used(wider, carried, moment_at(wider, now)), 8);
  EXPECT_EQ(reset_after(wider, carried, moment_at(wider, now)), Duration(3600s));
}

TEST(Meter, ABucketKeepsItsFractionWhenRedefined) {
  const Rule from = bucket_rule(3, 1s);
  State state;
  charge(from, state, 2, moment_at(from, k2023));
  const Instant now = k2023 + 500ms;  // 0.5 units are left
  const struct {
    Rule to;
    Duration reset;
  } rows[] = {
      {bucket_rule(3, 1s), 166'666'667ns},     // the same
      {bucket_rule(3, 1s, 9), 166'666'667ns},  // another burst
      {bucket_rule(1, 1s), 500ms},             // slower
      {bucket_rule(1, 3s), 1500ms},            // slower by the period
      {bucket_rule(kAmountMax, 1ms), 1ns},
      {bucket_rule(1, kPeriodMax), kPeriodMax.ns() / 2 * 1ns},
      {bucket_rule(7, 999'999'937ns), 71'428'572ns},  // rounded up to a seventh of a microsecond
  };
  for (const auto& row : rows) {
    const State rebased = rebase({from, moment_at(from, now)}, state, {row.to, moment_at(row.to, now)});
    EXPECT_EQ(used(row.to, rebased, moment_at(row.to, now)), 1);
    EXPECT_EQ(reset_after(row.to, rebased, moment_at(row.to, now)).ns(), row.reset.ns());
  }
}

TEST(MeterProperty, RedefiningABucketNeverRefillsAndAddsLessThanATickOfAMicrosecond) {
  Random random(6);
  for (int round = 0; round < 5000; ++round) {
    const auto rule = [&] {
      return bucket_rule(random.skewed(1, kAmountMax),
                         Duration::from_ns(random.skewed(kPeriodMin.ns(), kPeriodMax.ns())),
                         random.skewed(1, kAmountMax));
    };
    const Rule from = rule();
    const Rule to = rule();
    State state;
    charge(from, state, random.skewed(0, kAmountMax), moment_at(from, k2023));
    const Instant now = k2023 + Duration::from_ns(random.skewed(0, kDay.ns() * 400));
    const State rebased = rebase({from, moment_at(from, now)}, state, {to, moment_at(to, now)});
    const base::Uint128 before = bucket::backlog(from, state.bucket, now);
    const base::Uint128 after = bucket::backlog(to, rebased.bucket, now);
    // Whole units are compared first: the cross product of the fractions then fits 128 bits.
    const base::Uint128 units_before = before / from.period_ns();
    const base::Uint128 fraction_after = after - units_before * to.period_ns();
    const base::Uint128 fraction_before = before % from.period_ns();
    ASSERT_GE(after, units_before * to.period_ns());
    ASSERT_TRUE(fraction_after * from.period_ns() >= fraction_before * to.period_ns());
    ASSERT_TRUE(fraction_after % 1000 == 0 || fraction_after == to.period_ns());
    ASSERT_TRUE(fraction_after <= to.period_ns());
    if (fraction_after >= 1000) {
      ASSERT_TRUE((fraction_after - 1000) * from.period_ns() < fraction_before * to.period_ns());
    }
  }
}

TEST(MeterProperty, ChargingNeverAddsAndReleasingNeverTakesAway) {
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    for (const Rule& rule : all_kinds(random.skewed(1, kAmountMax))) {
      Instant now = k2023 + Duration::from_ns(random.skewed(0, kDay.ns()));
      State state = settled(rule, {}, now);
      charge(rule, state, random.skewed(0, rule.amount), moment_at(rule, now));
      now = now + Duration::from_ns(random.skewed(0, kDay.ns()));
      settle(rule, state, moment_at(rule, now));
      const Moment moment = moment_at(rule, now);
      const Amount before = remaining(rule, state, moment);
      const Amount cost = random.skewed(0, before);
      ASSERT_TRUE(fits(rule, state, cost, moment));
      charge(rule, state, cost, moment);
      ASSERT_EQ(remaining(rule, state, moment), before - cost);
      release(rule, state, {cost, now, now + 1s}, moment);
      ASSERT_EQ(remaining(rule, state, moment), before);
    }
  }
}

// Waits over parts that expire before, in and after the windows that matter.
TEST(MeterProperty, WaitsOverExpiringPartsAreExact) {
  Random random(8);
  for (int round = 0; round < 4000; ++round) {
    const Amount amount = random.between(1, 40);
    for (const Rule& rule : all_kinds(amount)) {
      SCOPED_TRACE(to_string(rule.kind));
      Instant now = k2023 + Duration::from_ns(random.between(0, Duration(100s).ns()));
      State state = settled(rule, {}, now);
      std::vector<HeldPart> parts;
      for (int i = 0; i < 5; ++i) {
        const Moment moment = moment_at(rule, now);
        settle(rule, state, moment);
        const Amount units = random.between(1, amount);
        const Duration ttl = Duration::from_ns(random.between(1, Duration(400s).ns()));
        if (fits(rule, state, units, moment)) {
          charge(rule, state, units, moment);
          if (random.between(0, 1) == 0) parts.push_back({units, now, now + ttl});
        }
        now = now + Duration::from_ns(random.between(0, Duration(20s).ns()));
      }
      std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.expires_at < b.expires_at; });
      while (!parts.empty() && parts.front().expires_at <= now) {
        const Moment expiry = moment_at(rule, parts.front().expires_at);
        expire(rule, state, parts.front(), expiry);
        parts.erase(parts.begin());
      }
      settle(rule, state, moment_at(rule, now));
      expect_exact_wait(rule, state, random.between(0, amount), now, parts);
    }
  }
}

}  // namespace
}  // namespace mete::core
