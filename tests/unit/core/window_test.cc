// Fixed windows, and calendar periods, which the core treats alike.
#include "core/window.h"

#include <gtest/gtest.h>

#include "unit/core/table.h"

namespace mete::core {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(Window, ComesBackAllAtOnce) {
  // The start is a multiple of ten seconds.
  run_table(window_rule(5, 10s), k2023,
            {
                {0ns, 0, true, 5, 0ns, 0ns},
                {1s, 3, true, 2, 0ns, 9s},
                {9s, 3, false, 2, 1s, 1s},
                {10s - 1ns, 2, true, 0, 0ns, 1ns},
                {10s, 5, true, 0, 0ns, 10s},
                {10s, 1, false, 0, 10s, 10s},
                {10s, 6, false, 0, Duration::never(), 10s},
                {45s, 1, true, 4, 0ns, 5s},
            });
}

TEST(Window, StartsAtMultiplesOfThePeriodSinceTheEpoch) {
  EXPECT_EQ(fixed_window(7s, Instant::from_unix_seconds(20)),
            (Span{Instant::from_unix_seconds(14), Instant::from_unix_seconds(21)}));
  EXPECT_EQ(fixed_window(7s, Instant::from_unix_seconds(21)).start, Instant::from_unix_seconds(21));
  EXPECT_EQ(fixed_window(kPeriodMax, Instant()).end, Instant() + kPeriodMax);
}

TEST(Window, EdgesOfAmountAndPeriod) {
  run_table(window_rule(kAmountMax, kPeriodMax), Instant(),
            {
                {0ns, kAmountMax, true, 0, 0ns, kPeriodMax},
                {kPeriodMax + Duration(-1ns), 1, false, 0, 1ns, 1ns},
                {kPeriodMax, kAmountMax, true, 0, 0ns, kPeriodMax},
            });
  run_table(window_rule(1'000'000'000'000'000, 1ms), k2500,
            {
                {0ns, 1'000'000'000'000'000, true, 0, 0ns, 1ms},
                {999'999ns, 1, false, 0, 1ns, 1ns},
                {1ms, 1, true, 999'999'999'999'999, 0ns, 1ms},
            });
}

TEST(Window, ForcedBeyondItsAmountIsForgottenWithTheWindow) {
  const Rule rule = window_rule(5, 10s);
  State state = settled(rule, {}, k2023);
  charge(rule, state, 50, moment_at(rule, k2023));
  EXPECT_EQ(remaining(rule, state, moment_at(rule, k2023)), 0);
  EXPECT_FALSE(fits(rule, state, 0, moment_at(rule, k2023)));
  expect_exact_wait(rule, state, 1, k2023 + 3s);
  EXPECT_TRUE(is_fresh(rule, settled(rule, state, k2023 + 10s), moment_at(rule, k2023 + 10s)));
}

TEST(Window, AHeldPartBelongsToTheWindowItWasMadeIn) {
  const Rule rules[] = {window_rule(10, kDay), calendar_rule(10)};
  for (const Rule& rule : rules) {
    const HeldPart part{4, k2023 + 20h, k2023 + 100h};
    State state = settled(rule, {}, part.made_at);
    charge(rule, state, 6, moment_at(rule, part.made_at));

    State same = state;
    const Moment last = moment_at(rule, k2023 + 24h + Duration(-1ns));
    EXPECT_EQ(still_charged(rule, same, part, last), 4);
    release(rule, same, part, last);
    EXPECT_EQ(used(rule, same, last), 2);

    const Moment next = moment_at(rule, k2023 + 24h);
    State later = settled(rule, state, next.now);
    charge(rule, later, 5, next);
    EXPECT_EQ(still_charged(rule, later, part, next), 0);
    release(rule, later, part, next);
    EXPECT_EQ(used(rule, later, next), 5);
  }
}

TEST(Window, TimeStandsStillBehindItsWindow) {
  const Rule rule = window_rule(5, 10s);
  const State state = settled(rule, {}, k2023 + 10s);
  EXPECT_EQ(not_before(rule, state, k2023 + 3s), k2023 + 10s);
  EXPECT_EQ(not_before(rule, state, k2023 + 12s), k2023 + 12s);
  State sliding;
  charge(sliding_rule(5, 10s), sliding, 1, moment_at(sliding_rule(5, 10s), k2023 + 10s));
  EXPECT_EQ(not_before(sliding_rule(5, 10s), sliding, k2023 + 3s), k2023 + 10s);
  EXPECT_EQ(not_before(bucket_rule(5, 10s), {}, k2023), k2023);
}

TEST(Calendar, BehavesAsTheWindowItIsGiven) {
  run_table(calendar_rule(20), k2023,
            {
                {1h, 15, true, 5, 0ns, 23h},
                {23h, 6, false, 5, 1h, 1h},
                {23h, 21, false, 5, Duration::never(), 1h},
                {24h, 20, true, 0, 0ns, 24h},
            });
}

TEST(WindowProperty, NeverMoreThanTheAmountInAWindow) {
  Random random(4);
  for (int round = 0; round < 500; ++round) {
    const Rule rule =
        window_rule(random.skewed(1, kAmountMax), Duration::from_ns(random.skewed(kPeriodMin.ns(), kPeriodMax.ns())));
    State state;
    Instant now = k2023;
    Instant window = Instant::max();
    base::Uint128 admitted = 0;
    for (int step = 0; step < 100; ++step) {
      const Moment moment = moment_at(rule, now);
      settle(rule, state, moment);
      if (moment.window.start != window) admitted = 0;
      window = moment.window.start;
      const Amount cost = random.skewed(0, rule.amount);
      ASSERT_EQ(fits(rule, state, cost, moment), admitted + base::to_unsigned(cost) <= base::to_unsigned(rule.amount));
      expect_exact_wait(rule, state, cost, now);
      if (fits(rule, state, cost, moment)) {
        const Amount before = remaining(rule, state, moment);
        charge(rule, state, cost, moment);
        admitted += base::to_unsigned(cost);
        ASSERT_EQ(remaining(rule, state, moment), before - cost);
      }
      now = now + Duration::from_ns(random.skewed(0, rule.period.ns() / 4));
    }
  }
}

}  // namespace
}  // namespace mete::core
