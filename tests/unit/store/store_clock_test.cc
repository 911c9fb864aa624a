// The clocks of a store in this process: they never run backwards.
#include "store/store_clock.h"

#include <gtest/gtest.h>

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

TEST(SystemClock, IsTheWallClock) {
  const SystemClock clock;
  const auto wall =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  const Duration distance = clock.now() - Instant::from_ns(static_cast<std::uint64_t>(wall.count()));
  EXPECT_LT(distance, Duration(1min));
  EXPECT_GT(distance, Duration(-1min));
}

TEST(SystemClock, GoesOnAndNeverBack) {
  const SystemClock clock;
  const Instant first = clock.now();
  Instant latest = first;
  for (int i = 0; i < 200'000; ++i) {
    const Instant now = clock.now();
    ASSERT_GE(now, latest);
    latest = now;
  }
  EXPECT_GT(latest, first);
}

}  // namespace
}  // namespace mete::store
