// The processor's counter as a clock: it goes as fast as the monotonic one.
#include "base/processor_clock.h"

#include <gtest/gtest.h>

#include "base/monotonic.h"

namespace mete::base {
namespace {

TEST(ProcessorClock, GoesAsFastAsTheMonotonicClock) {
  const ProcessorClock* clock = ProcessorClock::get();
  if (clock == nullptr) GTEST_SKIP() << "not safe on this machine";
  EXPECT_EQ(clock, ProcessorClock::get()) << "measured once";
  const std::uint64_t counter = clock->now_ns();
  const std::uint64_t monotonic = monotonic_ns();
  while (monotonic_ns() - monotonic < 50'000'000) {
  }
  const auto by_counter = static_cast<double>(clock->now_ns() - counter);
  const auto by_monotonic = static_cast<double>(monotonic_ns() - monotonic);
  // A per mille is stated; the rest is for a thread that is interrupted between two lines.
  EXPECT_GT(by_counter, by_monotonic * 0.9);
  EXPECT_LT(by_counter, by_monotonic * 1.1);
}

TEST(ProcessorClock, ARateIsNanosecondsPerTick) {
  const ProcessorClock slow(std::uint64_t{1} << 32);
  const ProcessorClock fast(std::uint64_t{4} << 32);
  const std::uint64_t ticks = slow.now_ns();
  EXPECT_GE(fast.now_ns(), 4 * ticks);
  EXPECT_LT(fast.now_ns() - 4 * ticks, 4'000'000'000'000) << "some ticks later, at four a piece";
}

}  // namespace
}  // namespace mete::base
