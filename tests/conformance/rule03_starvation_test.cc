// Rule 3: no starvation. A greedy client gets exactly burst + floor(amount · t / period), for every t.
#include <span>

#include "base/math.h"
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

struct Rate {
  Amount amount;
  Duration period;
  Amount burst;
  Amount cost;  // of one take
};

constexpr Duration kLongEnough = 24h * 365 * 60;

Amount due(const Rate& rate, Duration elapsed) {
  const auto refilled = base::multiply(base::to_unsigned(rate.amount), base::to_unsigned(elapsed.ns()));
  return rate.burst + base::saturate(base::div_floor(refilled, base::to_unsigned(rate.period.ns())));
}

const Rate kRates[] = {
    {3, 1s, 3, 1}, {7, 3s, 7, 1}, {7, 3s, 5, 3}, {1, 24h * 30, 1, 1}, {10, 2s, 100, 7},
};

// Some units in a microsecond, and more.
const Rate kFastRates[] = {
    {1'000'000'007, 1s, 1000, 999},
    {1'000'000'000'000'000, 1ms, 1'000'000'000'000'000, 333'333'333'333'333},
    {kAmountMax, kPeriodMin, kAmountMax, kAmountMax},
};

// Longer than a year until they are full, or nearly so.
const Rate kSlowRates[] = {
    {1, kPeriodMax, 2, 1},
    {kAmountMax, kPeriodMax, 10, 3},
};

class Rates : public Conformance {
 protected:
  void expect_what_is_due(std::span<const Rate> rates);
};

INSTANTIATE_TEST_SUITE_P(Store, Rates, ::testing::ValuesIn(stores()), store_name);

void Rates::expect_what_is_due(std::span<const Rate> rates) {
  for (const Rate& rate : rates) {
    SCOPED_TRACE(std::to_string(rate.amount) + " per " + std::to_string(rate.period.ns()) + " ns");
    // Where more than the burst comes back in the clock's smallest step, nobody can ask often enough.
    if (due(rate, world().clock_resolution()) > 2 * rate.burst) continue;
    const std::string name = unique("rate-" + std::to_string(&rate - rates.data()));
    define(bucket(name).amount(rate.amount).per(rate.period).burst(rate.burst));
    const Instant start = world().now();
    Amount admitted = 0;
    for (int i = 0; i < many(400) && world().now() - start < kLongEnough; ++i) {
      const Decision decision = take(name, "greedy", rate.cost);
      if (decision.allowed()) {
        admitted += rate.cost;
        EXPECT_LE(admitted, due(rate, world().now() - start));
        continue;
      }
      EXPECT_GT(admitted + rate.cost, due(rate, world().now() - start)) << "denied what is due";
      advance(decision.retry_after);
    }
    EXPECT_GT(admitted, rate.burst);
  }
}

TEST_P(Rates, Rule03_AGreedyClientGetsExactlyWhatIsDue) { expect_what_is_due(kRates); }

TEST_P(Rates, Rule03_AGreedyClientGetsExactlyWhatIsDueAtOnce) { expect_what_is_due(kFastRates); }

TEST_P(Rates, Rule03_AGreedyClientGetsExactlyWhatIsDueInTenYears) { expect_what_is_due(kSlowRates); }

TEST_P(Conformance, Rule03_EverySpacingGetsWhatIsDue) {
  // Asks for all there is at uneven times: nothing is lost as long as the bucket does not run full.
  const Rate rate{7, 3s, 7, 1};
  for (const Duration spacing : {Duration(1ms), Duration(99ms), Duration(428'571'428ns), Duration(1s)}) {
    SCOPED_TRACE(spacing.ns());
    const std::string name = unique("spacing-" + std::to_string(spacing.ns()));
    define(bucket(name).amount(rate.amount).per(rate.period).burst(rate.burst));
    const Instant start = world().now();
    Amount admitted = take_mode({name, "greedy", rate.burst}, Mode::kUpTo).taken;
    for (int i = 0; i < many(300); ++i) {
      advance(spacing);
      admitted += take_mode({name, "greedy", rate.burst}, Mode::kUpTo).taken;
      EXPECT_EQ(admitted, due(rate, world().now() - start));
    }
  }
}

TEST_P(Conformance, Rule03_ABucketFillsUpToItsBurstAndNoFurther) {
  const std::string api = define(bucket(unique("api")).amount(10).per(1s).burst(25));
  EXPECT_EQ(take(api, "alice", 25).remaining, 0);
  advance(2s);
  EXPECT_EQ(usage(api, "alice").remaining, 20);
  advance(1h);
  EXPECT_EQ(usage(api, "alice").remaining, 25);
  EXPECT_FALSE(take(api, "alice", 26).allowed());
}

}  // namespace
}  // namespace mete::conformance
