// The sliding window: tables, its bound, and the exactness of its waits.
#include "core/sliding.h"

#include <gtest/gtest.h>

#include "unit/core/table.h"

namespace mete::core {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(Sliding, WeighsThePreviousWindow) {
  run_table(sliding_rule(10, 10s), k2023,
            {
                {0ns, 0, true, 10, 0ns, 0ns},
                {5s, 10, true, 0, 0ns, 15s},
                {9s, 1, false, 0, 2s, 11s},   // at 11 s the previous window weighs 9 of 10
                {10s, 1, false, 0, 1s, 10s},  // all of it is still covered
                {10s + 1ns, 1, false, 0, 1s - 1ns, 10s - 1ns},
                {11s, 1, true, 0, 0ns, 19s},  // 9 + 1
                {11s, 1, false, 0, 1s, 19s},
                {15s, 4, true, 0, 0ns, 15s},  // 5 + 1 + 4
                {20s - 1ns, 5, false, 4, 1ns, 10s + 1ns},
                {20s, 5, true, 0, 0ns, 20s},   // the first window is forgotten: 5 + 5
                {40s, 10, true, 0, 0ns, 20s},  // and so are all after a whole idle one
            });
}

TEST(Sliding, RoundsAgainstTheClient) {
  run_table(sliding_rule(3, 1s), k2023,
            {
                {0ns, 1, true, 2, 0ns, 2s},
                {1s + 1ns, 3, false, 2, 999'999'999ns, 999'999'999ns},  // 0.999999999 counts as 1
                {2s - 1ns, 3, false, 2, 1ns, 1ns},
                {2s, 3, true, 0, 0ns, 2s},
                {3s, 1, false, 0, 333'333'334ns, 1s},
                {3s + 333'333'333ns, 1, false, 0, 1ns, 666'666'667ns},
                {3s + 333'333'334ns, 1, true, 0, 0ns, 1'666'666'666ns},
            });
}

TEST(Sliding, EdgesOfAmountAndPeriod) {
  run_table(sliding_rule(kAmountMax, kPeriodMax), Instant(),
            {
                {0ns, kAmountMax, true, 0, 0ns, kPeriodMax + kPeriodMax},
                {0ns, kAmountMax, false, 0, kPeriodMax + kPeriodMax, kPeriodMax + kPeriodMax},
                {kPeriodMax, 1, false, 0, 36ns, kPeriodMax},  // one unit is 35.04 ns
                {kPeriodMax + Duration(35ns), 1, false, 0, 1ns, kPeriodMax + Duration(-35ns)},
                {kPeriodMax + Duration(36ns), 1, true, 0, 0ns, kPeriodMax + kPeriodMax + Duration(-36ns)},
            });
  run_table(sliding_rule(1'000'000'000'000'000, 1ms), k2500,
            {
                {0ns, 1'000'000'000'000'000, true, 0, 0ns, 2ms},
                {1ms + 1ns, 1'000'000'001, false, 1'000'000'000, 1ns, 999'999ns},
                {1ms + 1ns, 1'000'000'000, true, 0, 0ns, 2ms - 1ns},
                {1ms + 1ns, 1'000'000'000'000'001, false, 0, Duration::never(), 2ms - 1ns},
            });
}

// The last windows before the end of time are as long as any other.
TEST(Sliding, TheLastWindowsOfTime) {
  const Rule rule = sliding_rule(10, kPeriodMax);
  const Moment moment = moment_at(rule, Instant::max() + Duration(-1h));
  State state = settled(rule, {}, moment.now);
  charge(rule, state, 10, moment);
  EXPECT_GT(wait_for(rule, state, 1, moment), Duration());
  EXPECT_GT(wait_for(rule, state, 10, moment), Duration(1h));
}

TEST(Sliding, ForcedBeyondItsAmount) {
  const Rule rule = sliding_rule(10, 10s);
  State state = settled(rule, {}, k2023);
  charge(rule, state, 40, moment_at(rule, k2023));
  EXPECT_EQ(remaining(rule, state, moment_at(rule, k2023)), 0);
  EXPECT_EQ(wait_for(rule, state, 0, moment_at(rule, k2023)), Duration(17500ms));
  EXPECT_EQ(wait_for(rule, state, 10, moment_at(rule, k2023)), Duration(20s));
  expect_exact_wait(rule, state, 1, k2023 + 3s);
}

TEST(Sliding, OnlyTheCurrentWindowsPartsComeBack) {
  const Rule rule = sliding_rule(10, 10s);
  const HeldPart part{4, k2023 + 5s, k2023 + 1h};
  State state = settled(rule, {}, part.made_at);
  charge(rule, state, 6, moment_at(rule, part.made_at));

  State same = state;
  EXPECT_EQ(still_charged(rule, same, part, moment_at(rule, k2023 + 9s)), 4);
  release(rule, same, part, moment_at(rule, k2023 + 9s));
  EXPECT_EQ(used(rule, same, moment_at(rule, k2023 + 9s)), 2);

  const Moment next = moment_at(rule, k2023 + 10s);
  State later = settled(rule, state, next.now);
  charge(rule, later, 3, next);
  EXPECT_EQ(still_charged(rule, later, part, next), 0);
  release(rule, later, part, next);
  EXPECT_EQ(used(rule, later, next), 9);
}

TEST(Sliding, AReleaseNeverGoesBelowZero) {
  const Rule rule = sliding_rule(10, 10s);
  State state = settled(rule, {}, k2023);
  charge(rule, state, 2, moment_at(rule, k2023));
  release(rule, state, {5, k2023, k2023 + 1s}, moment_at(rule, k2023));
  EXPECT_TRUE(is_fresh(rule, state, moment_at(rule, k2023)));
}

TEST(SlidingProperty, NeverMoreThanTheAmountInAnAlignedWindowAndExactWaits) {
  Random random(5);
  for (int round = 0; round < 1000; ++round) {
    const Rule rule =
        sliding_rule(random.skewed(1, kAmountMax), Duration::from_ns(random.skewed(kPeriodMin.ns(), kPeriodMax.ns())));
    State state;
    Instant now = Instant::from_ns(base::to_unsigned(random.skewed(0, std::int64_t{1} << 62)));
    Instant window = Instant::max();
    Amount admitted = 0;
    for (int step = 0; step < 60; ++step) {
      const Moment moment = moment_at(rule, now);
      settle(rule, state, moment);
      if (moment.window.start != window) admitted = 0;
      window = moment.window.start;
      const Amount cost = random.between(0, 2) == 0 ? std::max<Amount>(1, remaining(rule, state, moment))
                                                    : random.skewed(0, rule.amount);
      expect_exact_wait(rule, state, cost, now);
      if (fits(rule, state, cost, moment)) {
        charge(rule, state, cost, moment);
        admitted += cost;
      }
      ASSERT_LE(admitted, rule.amount);
      const Duration wait = wait_for(rule, state, 1, moment);
      const std::int64_t step_max = random.between(0, 9) == 0 ? rule.period.ns() * 2 : rule.period.ns() / 4;
      now = now + (random.between(0, 1) == 0 ? wait : Duration::from_ns(random.skewed(0, step_max)));
    }
  }
}

}  // namespace
}  // namespace mete::core
