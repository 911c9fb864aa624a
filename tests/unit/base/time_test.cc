// Duration and Instant: conversion, rounding, and ends that saturate.
#include <gtest/gtest.h>
#include <mete/time.h>

#include <limits>

namespace mete {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t kUint64Max = std::numeric_limits<std::uint64_t>::max();

TEST(Duration, ConvertsFromChrono) {
  EXPECT_EQ(Duration().ns(), 0);
  EXPECT_EQ(Duration(1ns).ns(), 1);
  EXPECT_EQ(Duration(250ms).ns(), 250'000'000);
  EXPECT_EQ(Duration(5min).ns(), 300'000'000'000);
  EXPECT_EQ(Duration(-1h).ns(), -3'600'000'000'000);
  EXPECT_EQ(Duration(std::chrono::duration<std::uint64_t>(kUint64Max)), Duration::never());
}

TEST(Duration, SaturatesInsteadOfOverflowing) {
  EXPECT_EQ(Duration(std::chrono::hours(24) * 366 * 300), Duration::never());
  EXPECT_EQ(Duration(std::chrono::hours(-24) * 366 * 300).ns(), kInt64Min);
  EXPECT_EQ(Duration::never() + Duration(1ns), Duration::never());
  EXPECT_EQ(Duration::from_ns(kInt64Min) + Duration(-1ns), Duration::from_ns(kInt64Min));
  EXPECT_EQ(Duration(2s) + Duration(-3s), Duration(-1s));
}

TEST(Duration, RoundsUpToTheWire) {
  const struct {
    Duration length;
    std::int64_t ms;
    std::int64_t seconds;
  } rows[] = {
      {Duration(), 0, 0},          {1ns, 1, 1},
      {999'999ns, 1, 1},           {1ms, 1, 1},
      {1'000'001ns, 2, 1},         {1s, 1000, 1},
      {1s + 1ns, 1001, 2},         {Duration::from_ns(kInt64Max - 1), 9'223'372'036'855, 9'223'372'037},
      {Duration::never(), -1, -1},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.length.ns());
    EXPECT_EQ(row.length.ms(), row.ms);
    EXPECT_EQ(row.length.seconds(), row.seconds);
  }
}

TEST(Duration, NeverIsLongerThanAnyWait) {
  EXPECT_TRUE(Duration::never().is_never());
  EXPECT_FALSE(Duration::from_ns(kInt64Max - 1).is_never());
  EXPECT_LT(Duration::from_ns(kInt64Max - 1), Duration::never());
}

TEST(Instant, TellsTheYears1970To2554) {
  EXPECT_EQ(Instant().ns(), 0U);
  EXPECT_EQ(Instant::from_unix_seconds(1'700'000'000).ns(), 1'700'000'000'000'000'000U);
  EXPECT_EQ(Instant::from_ns(1'999'999'999).unix_seconds(), 1U);
  EXPECT_EQ(Instant::from_unix_seconds(18'446'744'073).unix_seconds(), 18'446'744'073U);  // July 2554
}

TEST(Instant, SaturatesInsteadOfOverflowing) {
  EXPECT_EQ(Instant::from_unix_seconds(18'446'744'074), Instant::max());
  EXPECT_EQ(Instant::max() + Duration(1ns), Instant::max());
  EXPECT_EQ(Instant() + Duration::never() + Duration::never() + Duration(1ns), Instant::max());
  EXPECT_EQ(Instant() + Duration(-1ns), Instant());
  EXPECT_EQ(Instant::from_ns(5) + Duration::from_ns(kInt64Min), Instant());
}

TEST(Instant, MovesBothWays) {
  const struct {
    std::uint64_t at_ns;
    Duration step;
    std::uint64_t moved_ns;
  } rows[] = {
      {0, 1ns, 1},
      {5, -5ns, 0},
      {5, -4ns, 1},
      {1ULL << 63, Duration::from_ns(kInt64Min), 0},
      {kUint64Max, Duration::from_ns(kInt64Min), kUint64Max - (1ULL << 63)},
      {kUint64Max - 1, 1ns, kUint64Max},
  };
  for (const auto& row : rows) {
    EXPECT_EQ((Instant::from_ns(row.at_ns) + row.step).ns(), row.moved_ns) << row.at_ns << " + " << row.step.ns();
  }
}

TEST(Instant, DistanceIsSignedAndSaturates) {
  const Instant early = Instant::from_ns(10);
  const Instant late = Instant::from_ns(25);
  EXPECT_EQ(late - early, Duration(15ns));
  EXPECT_EQ(early - late, Duration(-15ns));
  EXPECT_EQ(Instant::max() - Instant(), Duration::never());
  EXPECT_EQ((Instant() - Instant::max()).ns(), -kInt64Max);
}

}  // namespace
}  // namespace mete
