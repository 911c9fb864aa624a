// Exact integer arithmetic, and CHECK.
#include "base/math.h"

#include <gtest/gtest.h>

#include "base/span.h"

namespace mete::base {
namespace {

constexpr std::uint64_t kUint64Max = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

TEST(Math, DivisionSaysItsDirection) {
  const struct {
    Uint128 dividend;
    std::uint64_t divisor;
    Uint128 floor;
    Uint128 ceil;
  } rows[] = {
      {0, 7, 0, 0},
      {1, 7, 0, 1},
      {7, 7, 1, 1},
      {8, 7, 1, 2},
      {kUint64Max, 1, kUint64Max, kUint64Max},
      {kUint64Max, 2, kUint64Max / 2, Uint128{1} << 63},
      {Uint128{1} << 64, 3, kUint64Max / 3, kUint64Max / 3 + 1},
      {Uint128{1} << 117, 1ULL << 53, Uint128{1} << 64, Uint128{1} << 64},
      {(Uint128{1} << 117) + 1, 1ULL << 53, Uint128{1} << 64, (Uint128{1} << 64) + 1},
  };
  for (const auto& row : rows) {
    EXPECT_TRUE(div_floor(row.dividend, row.divisor) == row.floor);
    EXPECT_TRUE(div_ceil(row.dividend, row.divisor) == row.ceil);
  }
  EXPECT_EQ(div_floor(std::uint64_t{8}, std::uint64_t{7}), 1U);
}

TEST(Math, MultipliesWithoutOverflow) {
  const Uint128 square = multiply(kUint64Max, kUint64Max);
  EXPECT_EQ(static_cast<std::uint64_t>(square), 1U);
  EXPECT_EQ(static_cast<std::uint64_t>(square >> 64), kUint64Max - 1);
}

TEST(Math, SaturatesWhereItDoesNotFit) {
  EXPECT_EQ(saturate(0), 0);
  EXPECT_EQ(saturate(to_unsigned(kInt64Max)), kInt64Max);
  EXPECT_EQ(saturate(to_unsigned(kInt64Max) + Uint128{1}), kInt64Max);
  EXPECT_EQ(saturate(Uint128{1} << 120), kInt64Max);
  EXPECT_EQ(saturate(9, 10), 9);
  EXPECT_EQ(saturate(11, 10), 10);
}

TEST(Math, IsConstexpr) {
  static_assert(div_ceil(Uint128{10}, 4) == 3);
  static_assert(saturate(multiply(3, 4)) == 12);
}

TEST(CheckDeathTest, NamesTheConditionAndStops) {
  EXPECT_DEATH(to_unsigned(-1), "CHECK failed: value >= 0");
  EXPECT_EQ(to_unsigned(5), 5U);
}

TEST(Span, IsHalfOpen) {
  const Span span{Instant::from_ns(10), Instant::from_ns(20)};
  EXPECT_FALSE(span.contains(Instant::from_ns(9)));
  EXPECT_TRUE(span.contains(Instant::from_ns(10)));
  EXPECT_TRUE(span.contains(Instant::from_ns(19)));
  EXPECT_FALSE(span.contains(Instant::from_ns(20)));
}

}  // namespace
}  // namespace mete::base
