// The token bucket: tables, and exactness over simulated years.
#include "core/bucket.h"

#include <gtest/gtest.h>

#include "unit/core/table.h"

namespace mete::core {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(Bucket, ThreePerSecond) {
  run_table(bucket_rule(3, 1s), k2023,
            {
                {0ns, 1, true, 2, 0ns, 333'333'334ns},
                {0ns, 2, true, 0, 0ns, 1s},
                {0ns, 1, false, 0, 333'333'334ns, 1s},
                {0ns, 0, true, 0, 0ns, 1s},
                {333'333'333ns, 1, false, 0, 1ns, 666'666'667ns},
                {333'333'334ns, 1, true, 0, 0ns, 1s},  // 0.33 ns short of it, rounded up
                {1s, 2, true, 0, 0ns, 1s},
                {1s, 3, false, 0, 1s, 1s},
                {10s, 0, true, 3, 0ns, 0ns},
            });
}

TEST(Bucket, SevenPerThreeSeconds) {
  run_table(bucket_rule(7, 3s), k2023,
            {
                {0ns, 7, true, 0, 0ns, 3s},
                {428'571'428ns, 1, false, 0, 1ns, 2'571'428'572ns},
                {428'571'429ns, 1, true, 0, 0ns, 3s},  // 2 999 999 999.57 ns, rounded up
                {3s, 6, true, 0, 0ns, 3s},
                {3s, 8, false, 0, Duration::never(), 3s},
            });
}

TEST(Bucket, OnePerThirtyDays) {
  run_table(bucket_rule(1, 720h), k2023,
            {
                {0ns, 1, true, 0, 0ns, 720h},
                {24h, 1, false, 0, 696h, 696h},  // F2: a day later it is not full again
                {720h - 1ns, 1, false, 0, 1ns, 1ns},
                {720h, 1, true, 0, 0ns, 720h},
                {720h * 4, 0, true, 1, 0ns, 0ns},
            });
}

TEST(Bucket, ManyUnitsPerNanosecond) {
  run_table(bucket_rule(1'000'000'000'000'000, 1ms), k2500,
            {
                {0ns, 1'000'000'000'000'000, true, 0, 0ns, 1ms},
                {0ns, 1, false, 0, 1ns, 1ms},
                {1ns, 1'000'000'001, false, 1'000'000'000, 1ns, 999'999ns},
                {1ns, 1'000'000'000, true, 0, 0ns, 1ms},
                {2ns, 1, true, 999'999'999, 0ns, 1ms},
            });
}

TEST(Bucket, LargestAmountOverTheShortestAndTheLongestPeriod) {
  run_table(bucket_rule(kAmountMax, kPeriodMin), k2500,
            {
                {0ns, kAmountMax, true, 0, 0ns, kPeriodMin},
                {1ms - 1ns, kAmountMax, false, 9'007'190'247'541'736, 1ns, 1ns},
                {1ms, kAmountMax, true, 0, 0ns, kPeriodMin},
            });
  run_table(bucket_rule(kAmountMax, kPeriodMax), Instant(),
            {
                {0ns, kAmountMax, true, 0, 0ns, kPeriodMax},
                {kPeriodMax + Duration(-1ns), kAmountMax, false, kAmountMax - 1, 1ns, 1ns},
                {kPeriodMax, kAmountMax, true, 0, 0ns, kPeriodMax},
            });
}

TEST(Bucket, BurstAboveAndBelowTheAmount) {
  run_table(bucket_rule(10, 1min, 25), k2023,
            {
                {0ns, 25, true, 0, 0ns, 150s},
                {6s, 1, true, 0, 0ns, 150s},
                {66s, 26, false, 10, Duration::never(), 90s},
                {66s, 11, false, 10, 6s, 90s},
            });
  run_table(bucket_rule(10, 1min, 2), k2023,
            {
                {0ns, 3, false, 2, Duration::never(), 0ns},
                {0ns, 2, true, 0, 0ns, 12s},
                {1h, 2, true, 0, 0ns, 12s},
                {1h + 11s, 2, false, 1, 1s, 1s},
            });
}

TEST(Bucket, AWaitOfCenturiesIsNever) {
  const Rule rule = bucket_rule(1, kPeriodMax, kAmountMax);
  State state;
  const Moment moment = moment_at(rule, k2023);
  charge(rule, state, 30, moment);
  EXPECT_TRUE(wait_for(rule, state, kAmountMax, moment).is_never());           // 300 years
  EXPECT_EQ(wait_for(rule, state, kAmountMax - 1, moment).is_never(), false);  // 290 years
  EXPECT_TRUE(reset_after(rule, state, moment).is_never());
}

TEST(Bucket, AWaitBeyondTheLastInstantIsToldInFull) {
  const Rule rule = bucket_rule(1, kPeriodMax);
  for (const Instant now : {k2500, Instant::max()}) {
    State state;
    const Moment moment = moment_at(rule, now);
    charge(rule, state, 10, moment);
    EXPECT_EQ(wait_for(rule, state, 1, moment).ns(), kPeriodMax.ns() * 10);
    EXPECT_EQ(reset_after(rule, state, moment).ns(), kPeriodMax.ns() * 10);
  }
  State state;
  const Moment moment = moment_at(rule, k2500);
  charge(rule, state, 10, moment);
  const std::vector<HeldPart> parts = {{1, k2500, k2500 + kPeriodMax}};  // refilled by the time it expires
  EXPECT_EQ(wait_for(rule, state, 1, moment, parts, parts.size()).ns(), kPeriodMax.ns() * 10);
}

TEST(Bucket, ForcedBeyondItsCapacityComesBackAtTheSameRate) {
  const Rule rule = bucket_rule(10, 1s);
  State state;
  charge(rule, state, 35, moment_at(rule, k2023));
  EXPECT_EQ(used(rule, state, moment_at(rule, k2023)), 35);
  EXPECT_EQ(remaining(rule, state, moment_at(rule, k2023)), 0);
  EXPECT_FALSE(fits(rule, state, 0, moment_at(rule, k2023)));
  EXPECT_EQ(wait_for(rule, state, 1, moment_at(rule, k2023)), Duration(2600ms));
  EXPECT_EQ(reset_after(rule, state, moment_at(rule, k2023)), Duration(3500ms));
  EXPECT_EQ(used(rule, state, moment_at(rule, k2023 + 2500ms)), 10);
}

TEST(Bucket, HeldPartsComeBackWithoutWhatWasRefilledSince) {
  const Rule rule = bucket_rule(10, 1s);
  const HeldPart part{5, k2023, k2023 + 1h};
  const struct {
    Duration after;
    Amount still;  // of the part, rounded up
    Amount used;   // after its release, of 8 that were charged with it
  } rows[] = {
      {0ns, 5, 3}, {1ns, 5, 3}, {100ms, 4, 3}, {250ms, 3, 3}, {499ms, 1, 3}, {500ms, 0, 3}, {600ms, 0, 2}, {1h, 0, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.after.ns());
    State state;
    charge(rule, state, 8, moment_at(rule, k2023));
    const Moment moment = moment_at(rule, k2023 + row.after);
    EXPECT_EQ(still_charged(rule, state, part, moment), row.still);
    release(rule, state, part, moment);
    EXPECT_EQ(used(rule, state, moment), row.used);
  }
}

TEST(Bucket, ReleaseNeverGoesBelowZero) {
  const Rule rule = bucket_rule(10, 1s);
  State state;
  charge(rule, state, 3, moment_at(rule, k2023));
  release(rule, state, {9, k2023, k2023 + 1s}, moment_at(rule, k2023));
  EXPECT_TRUE(is_fresh(rule, state, moment_at(rule, k2023)));
}

// A client that always takes what is there, and never lets the bucket run over.
TEST(BucketProperty, GreedyClientGetsBurstPlusTheExactRefill) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const Amount amount = random.skewed(1, kAmountMax);
    const Duration period = Duration::from_ns(random.skewed(kPeriodMin.ns(), kPeriodMax.ns()));
    // Room for what one nanosecond refills: a bucket cannot be asked more often than that.
    const Amount burst_min = amount < period.ns() ? 1 : std::min<Amount>(kAmountMax, 2 + amount / period.ns());
    const Rule rule = bucket_rule(amount, period, random.skewed(burst_min, kAmountMax));
    const Instant start = Instant::from_ns(base::to_unsigned(random.skewed(0, k2023.ns() & (~0ULL >> 1))));
    SCOPED_TRACE(std::to_string(amount) + " per " + std::to_string(period.ns()) + " ns, burst " +
                 std::to_string(rule.capacity) + " from " + std::to_string(start.ns()));
    State state;
    Instant now = start;
    base::Uint128 total = 0;
    for (int step = 0; step < 40; ++step) {
      const Moment moment = moment_at(rule, now);
      const Amount available = remaining(rule, state, moment);
      charge(rule, state, available, moment);
      total += base::to_unsigned(available);
      const auto elapsed = base::to_unsigned((now - start).ns());
      const auto refilled = base::div_floor(base::multiply(elapsed, base::to_unsigned(amount)), rule.period_ns());
      ASSERT_TRUE(total == base::to_unsigned(rule.capacity) + refilled) << "at step " << step;
      const Duration until_full = reset_after(rule, state, moment);
      const std::int64_t centuries = kPeriodMax.ns() * 20;
      const std::int64_t wait_max = amount < period.ns() ? until_full.ns() : until_full.ns() - 1;
      now = now + Duration::from_ns(random.skewed(0, std::min(wait_max, centuries / 40)));
    }
  }
}

// Asks at a fixed spacing, and counts tokens in the obvious way: a fraction with the period as its denominator.
TEST(BucketProperty, AnySpacingGetsItsExactDue) {
  Random random(2);
  for (int round = 0; round < 1000; ++round) {
    const Rule rule =
        bucket_rule(random.skewed(1, kAmountMax), Duration::from_ns(random.skewed(kPeriodMin.ns(), kPeriodMax.ns())),
                    random.skewed(1, kAmountMax));
    const Amount cost = random.skewed(1, rule.capacity);
    const Duration spacing = Duration::from_ns(random.skewed(1, kDay.ns()));
    const base::Uint128 full = base::multiply(base::to_unsigned(rule.capacity), rule.period_ns());
    const base::Uint128 price = base::multiply(base::to_unsigned(cost), rule.period_ns());
    const base::Uint128 refill = base::multiply(base::to_unsigned(spacing.ns()), base::to_unsigned(rule.amount));
    base::Uint128 tokens = full;
    State state;
    Instant now = k2023;
    for (int step = 0; step < 200; ++step, now = now + spacing) {
      const Moment moment = moment_at(rule, now);
      ASSERT_EQ(fits(rule, state, cost, moment), tokens >= price);
      ASSERT_EQ(base::to_unsigned(remaining(rule, state, moment)),
                static_cast<std::uint64_t>(std::min(tokens, full) / rule.period_ns()));
      if (tokens >= price) {
        charge(rule, state, cost, moment);
        tokens -= price;
      }
      // What runs over is lost, but for less than a unit within the last nanosecond: nobody could have asked earlier.
      tokens += refill;
      const base::Uint128 kept_below = std::min(base::to_unsigned(rule.amount), rule.period_ns());
      if (tokens >= full + kept_below) tokens = full;
    }
  }
}

// F1: fractions are not thrown away.
TEST(BucketProperty, SpacingsThatStarveARoundedBucket) {
  const struct {
    Rule rule;
    Duration spacing;
    int asked;
    int admitted;
  } rows[] = {
      {bucket_rule(10, 1s), 99ms, 1000, 999},  // the burst of 10 covers what is asked beyond 10 per second for 99 s
      {bucket_rule(10, 2s), 150ms, 81, 70},    // 10 + 5 · 12, of 81 in 12 s
      {bucket_rule(10, 1s), 100ms, 1000, 1000},
  };
  for (const auto& row : rows) {
    State state;
    int admitted = 0;
    Instant now = k2023;
    for (int i = 0; i < row.asked; ++i, now = now + row.spacing) {
      const Moment moment = moment_at(row.rule, now);
      if (!fits(row.rule, state, 1, moment)) continue;
      charge(row.rule, state, 1, moment);
      ++admitted;
    }
    EXPECT_EQ(admitted, row.admitted) << row.spacing.ns();
  }
}

TEST(BucketProperty, WaitsAreExact) {
  Random random(3);
  for (int round = 0; round < 5000; ++round) {
    const Rule rule =
        bucket_rule(random.skewed(1, kAmountMax), Duration::from_ns(random.skewed(kPeriodMin.ns(), kPeriodMax.ns())),
                    random.skewed(1, kAmountMax));
    State state;
    const Instant start = random.between(0, 1) == 0 ? Instant() : k2023;
    charge(rule, state, random.skewed(0, rule.capacity), moment_at(rule, start));
    const Instant now = start + Duration::from_ns(random.skewed(0, kDay.ns()));
    expect_exact_wait(rule, state, random.skewed(0, rule.capacity), now);
  }
}

}  // namespace
}  // namespace mete::core
