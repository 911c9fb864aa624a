// Stock: only what is given back comes back.
#include <gtest/gtest.h>

#include "unit/core/table.h"

namespace mete::core {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr Duration kNever = Duration::never();

TEST(Stock, NothingComesBackByItself) {
  run_table(stock_rule(100), k2023,
            {
                {0ns, 60, true, 40, 0ns, kNever},
                {1s, 41, false, 40, kNever, kNever},
                {1s, 101, false, 40, kNever, kNever},
                {24h * 3653, 40, true, 0, 0ns, kNever},
                {24h * 3653 * 2, 1, false, 0, kNever, kNever},
            });
}

TEST(Stock, LargestAmount) {
  run_table(stock_rule(kAmountMax), k2500,
            {
                {0ns, kAmountMax, true, 0, 0ns, kNever},
                {0ns, kAmountMax, false, 0, kNever, kNever},
                {0ns, 0, true, 0, 0ns, kNever},
            });
}

TEST(Stock, AReleasedPartComesBackWheneverItWasMade) {
  const Rule rule = stock_rule(10);
  State state;
  charge(rule, state, 9, moment_at(rule, k2023));
  const HeldPart part{4, k2023, k2023 + 1h};
  EXPECT_EQ(still_charged(rule, state, part, moment_at(rule, k2500)), 4);
  release(rule, state, part, moment_at(rule, k2500));
  EXPECT_EQ(used(rule, state, moment_at(rule, k2500)), 5);
  release(rule, state, {6, k2023, k2023 + 1h}, moment_at(rule, k2500));
  EXPECT_TRUE(is_fresh(rule, state, moment_at(rule, k2500)));
}

TEST(Stock, WaitsForTheHoldThatMakesRoom) {
  const Rule rule = stock_rule(10);
  State state;
  charge(rule, state, 10, moment_at(rule, k2023));
  const std::vector<HeldPart> parts = {{2, k2023, k2023 + 1min}, {3, k2023, k2023 + 5min}, {1, k2023, k2023 + 1h}};
  const Moment moment = moment_at(rule, k2023 + 10s);
  const struct {
    Amount cost;
    Duration wait;
  } rows[] = {{0, 0ns}, {1, 50s}, {2, 50s}, {3, 290s}, {5, 290s}, {6, 3590s}, {7, kNever}, {10, kNever}, {11, kNever}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.cost);
    EXPECT_EQ(wait_for(rule, state, row.cost, moment, parts, parts.size()).ns(), row.wait.ns());
    expect_exact_wait(rule, state, row.cost, moment.now, parts);
  }
}

}  // namespace
}  // namespace mete::core
