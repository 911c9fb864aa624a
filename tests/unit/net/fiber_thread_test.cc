#include "net/fiber_thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

namespace mete::net {
namespace {

constexpr Duration kMoment = std::chrono::milliseconds(1);

TEST(FiberThread, RunsSoManyAtATimeAndEndsWithTheLast) {
  int under_way = 0;  // on one thread
  int most = 0;
  int ended = 0;
  {
    FiberThread thread(3);
    for (int i = 0; i < 20; ++i) {
      thread.run([&] {
        most = std::max(most, ++under_way);
        pause_for(kMoment);
        --under_way;
        ++ended;
      });
    }
  }
  EXPECT_EQ(ended, 20);
  EXPECT_EQ(most, 3);
}

TEST(FiberThread, WaitsForWhatItsFunctionsBring) {
  std::atomic<int> ended = 0;
  {
    FiberThread thread(1);
    thread.run([&] {
      pause_for(kMoment);
      thread.run([&] {
        thread.run([&] { ++ended; });
        ++ended;
      });
    });
  }
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace mete::net
