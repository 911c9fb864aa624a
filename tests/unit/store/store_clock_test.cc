// The clocks of a store in this process: they never run backwards.
#include "store/store_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace mete::store {
namespace {

using namespace std::chrono_literals;

TEST(MonotoneClock, StandsStillWhileTheClockIsBehind) {
  const Instant start = Instant::from_unix_seconds(1000);
  ManualClock hand(start);
  const MonotoneClock clock(hand);
  EXPECT_EQ(clock.now(), start);
  hand.advance(10s);
  EXPECT_EQ(clock.now(), start + 10s);
  hand.set(start);
  EXPECT_EQ(clock.now(), start + 10s);
  hand.set(Instant());
  EXPECT_EQ(clock.now(), start + 10s);
  hand.set(start + 10s);
  EXPECT_EQ(clock.now(), start + 10s);
  hand.set(start + 10s + Duration(1ns));
  EXPECT_EQ(clock.now(), start + 10s + Duration(1ns));
  hand.set(Instant::max());
  EXPECT_EQ(clock.now(), Instant::max());
}

TEST(MonotoneClock, NoThreadSeesItRunBackwards) {
  ManualClock hand(Instant::from_unix_seconds(1000));
  const MonotoneClock clock(hand);
  std::atomic<int> backwards{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Instant latest;
      for (int j = 0; j < 20'000; ++j) {
        if (i == 0) hand.advance(j % 3 == 0 ? Duration(-5ns) : Duration(7ns));
        const Instant now = clock.now();
        if (now < latest) ++backwards;
        latest = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(backwards, 0);
}

Instant wall_clock() {
  const auto wall =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  return Instant::from_ns(static_cast<std::uint64_t>(wall.count()));
}

// By the processor's counter, where it is safe, and by the monotonic clock.
class SystemClockTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && base::ProcessorClock::get() == nullptr) GTEST_SKIP() << "no counter that is safe";
  }

  const SystemClock clock_{GetParam() ? base::ProcessorClock::get() : nullptr};
};

TEST_P(SystemClockTest, IsTheWallClock) {
  const Duration distance = clock_.now() - wall_clock();
  EXPECT_LT(distance, Duration(1min));
  EXPECT_GT(distance, Duration(-1min));
}

TEST_P(SystemClockTest, GoesOnAndNeverBackInAnyThread) {
  std::atomic<int> backwards{0};
  std::vector<std::thread> threads;
  const Instant first = clock_.now();
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      Instant latest = first;
      // Past several looks at the wall clock.
      while (latest - first < Duration(400ms)) {
        const Instant now = clock_.now();
        if (now < latest) ++backwards;
        latest = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(backwards, 0);
}

// What is stated is 0.1 ms. The rest is for a machine that does other things between the looks at both clocks, and sets
// its wall clock right: the least distance of many counts.
TEST_P(SystemClockTest, StaysWithTheWallClock) {
  const Instant first = clock_.now();
  Duration least = Duration::never();
  while (clock_.now() - first < Duration(300ms)) {
    const Instant before = wall_clock();
    const Instant now = clock_.now();
    const Instant after = wall_clock();
    const Duration distance = now < before ? before - now : now > after ? now - after : Duration();
    least = std::min(least, distance);
  }
  EXPECT_LT(least, Duration(1ms));
}

INSTANTIATE_TEST_SUITE_P(Carriers, SystemClockTest, ::testing::Bool(),
                         [](const auto& carrier) { return carrier.param ? "Counter" : "Monotonic"; });

// A wall clock that steps when it is told to.
std::atomic<std::int64_t> step_ns{0};
std::uint64_t stepping_wall_ns() { return wall_clock().ns() + static_cast<std::uint64_t>(step_ns.load()); }

class SteppingClockTest : public ::testing::TestWithParam<bool> {
 protected:
  ~SteppingClockTest() override { step_ns = 0; }
  void SetUp() override {
    if (GetParam() && base::ProcessorClock::get() == nullptr) GTEST_SKIP() << "no counter that is safe";
  }
  static void step(Duration by) { step_ns += by.ns(); }
  // Reads the clock until it has looked at the wall clock several times.
  void read_on() {
    const auto started = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - started < 350ms) std::ignore = clock_.now();
  }
  [[nodiscard]] Duration ahead() const { return clock_.now() - wall_clock(); }

  const SystemClock clock_{GetParam() ? base::ProcessorClock::get() : nullptr, Duration(10min), stepping_wall_ns};
};

TEST_P(SteppingClockTest, AYearAheadForASecondChangesNothing) {
  step(24h * 365);
  read_on();
  EXPECT_LT(ahead(), Duration(10s));
  EXPECT_EQ(clock_.status().refused_steps, 1U);
  EXPECT_GT(clock_.status().refused_by, Duration(24h * 364));
  read_on();
  EXPECT_EQ(clock_.status().refused_steps, 1U) << "it is the same step";
  step(-24h * 365);
  read_on();
  EXPECT_EQ(clock_.status().refused_by, Duration());
  EXPECT_LT(ahead(), Duration(10s));
  EXPECT_GT(ahead(), Duration(-10s));
  step(24h * 365);
  read_on();
  EXPECT_EQ(clock_.status().refused_steps, 2U);
}

TEST_P(SteppingClockTest, AYearBackDoesNotLetTimeStandStill) {
  step(-24h * 365);
  read_on();
  const Instant before = clock_.now();
  read_on();
  EXPECT_GT(clock_.now() - before, Duration(200ms));
  EXPECT_EQ(clock_.status().refused_steps, 1U);
  EXPECT_LT(clock_.status().refused_by, Duration());
}

TEST_P(SteppingClockTest, ASmallStepIsFollowed) {
  step(5min);
  read_on();
  EXPECT_GT(ahead(), Duration(4min));
  EXPECT_EQ(clock_.status().refused_steps, 0U);
}

INSTANTIATE_TEST_SUITE_P(Carriers, SteppingClockTest, ::testing::Bool(),
                         [](const auto& carrier) { return carrier.param ? "Counter" : "Monotonic"; });

// A counter that is not what it was, as after the machine was suspended: it is noticed, and nobody was ever told a time
// that is further ahead than one look at the wall clock is from the next.
TEST(SystemClock, GivesUpACounterThatGoesWrong) {
  const base::ProcessorClock* right = base::ProcessorClock::get();
  if (right == nullptr) GTEST_SKIP() << "no counter that is safe";
  for (const std::uint64_t wrong_rate : {right->rate() / 2, right->rate() * 3 / 2, right->rate() * 1000}) {
    const base::ProcessorClock wrong(wrong_rate);
    const SystemClock clock(&wrong);
    EXPECT_TRUE(clock.is_by_counter());
    Instant latest;
    const auto started = std::chrono::steady_clock::now();
    while (clock.is_by_counter() && std::chrono::steady_clock::now() - started < 10s) {
      const Instant now = clock.now();
      EXPECT_GE(now, latest);
      EXPECT_LT(now - wall_clock(), Duration(120ms));
      latest = now;
    }
    EXPECT_FALSE(clock.is_by_counter());
    // It stands where it was ahead, and is the wall clock from there on.
    while (clock.now() == latest && std::chrono::steady_clock::now() - started < 10s) {
    }
    const Duration distance = clock.now() - wall_clock();
    EXPECT_GE(clock.now(), latest);
    EXPECT_LT(distance, Duration(1s));
    EXPECT_GT(distance, Duration(-1s));
  }
}

}  // namespace
}  // namespace mete::store
