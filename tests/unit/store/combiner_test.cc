#include "store/network/combiner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "support/waiting.h"

namespace mete::store {
namespace {

struct Call {
  int number = 0;
  std::uint64_t lane = 0;
  bool is_made = false;
};

// Runs that stand still until the test lets them go on.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ > 0; });
    --open_;
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void open(int count) {
    const std::lock_guard guard(mutex_);
    open_ += count;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  int open_ = 0;
};

struct World {
  World(std::size_t near, std::size_t together_max)
      : combiner({.near = near, .far = 8, .together_max = together_max}) {}

  // A thread that joins with a call.
  void start(bool result = true, std::uint64_t lane = 0) {
    calls.push_back(std::make_unique<Call>(Call{.number = static_cast<int>(calls.size()), .lane = lane}));
    threads.emplace_back([this, result, call = calls.back().get()] {
      results += combiner.join(*call, [&](std::span<Call* const> together) {
        gate.pass();
        const std::lock_guard guard(mutex);
        sizes.push_back(together.size());
        for (Call* one : together) one->is_made = true;
        return result;
      });
    });
  }
  void finish(int runs) {
    gate.open(runs);
    for (std::thread& thread : threads) thread.join();
  }

  Combiner<Call> combiner;
  Gate gate;
  std::mutex mutex;
  std::vector<std::size_t> sizes;
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<std::thread> threads;
  std::atomic<int> results{0};
};

TEST(Combiner, ACallGoesAtOnceWhereThereIsRoom) {
  World world(2, 10);
  world.start();
  world.start();
  world.gate.wait_for(2);
  world.finish(2);
  EXPECT_EQ(world.sizes, (std::vector<std::size_t>{1, 1}));
}

TEST(Combiner, WhatCameMeanwhileGoesTogether) {
  World world(1, 3);
  world.start();
  world.gate.wait_for(1);
  for (int i = 0; i < 5; ++i) world.start();
  ASSERT_TRUE(support::becomes_true(std::chrono::seconds(10), [&] { return world.combiner.waiting() == 5; }));
  world.finish(3);
  EXPECT_EQ(world.sizes, (std::vector<std::size_t>{1, 3, 2}));
  for (const auto& call : world.calls) EXPECT_TRUE(call->is_made) << call->number;
  EXPECT_EQ(world.results, 6);
}

TEST(Combiner, AllAreToldWhatBecameOfThem) {
  World world(1, 10);
  world.start(false);
  world.gate.wait_for(1);
  for (int i = 0; i < 3; ++i) world.start(false);
  ASSERT_TRUE(support::becomes_true(std::chrono::seconds(10), [&] { return world.combiner.waiting() == 3; }));
  world.finish(2);
  EXPECT_EQ(world.sizes, (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(world.results, 0);
}

TEST(Combiner, CallsOnTheSameThingWaitForEachOther) {
  World world(4, 10);
  world.start(true, 7);
  world.gate.wait_for(1);
  for (int i = 0; i < 3; ++i) world.start(true, 7);
  ASSERT_TRUE(support::becomes_true(std::chrono::seconds(10), [&] { return world.combiner.waiting() == 3; }));
  world.start(true, 8);
  world.gate.wait_for(2);
  EXPECT_EQ(world.combiner.waiting(), 3U) << "there is room, but not for these";
  world.finish(3);
  std::ranges::sort(world.sizes);
  EXPECT_EQ(world.sizes, (std::vector<std::size_t>{1, 1, 3}));
}

// The runs of this test take a long time each, of which most is the way.
TEST(Combiner, MoreAreUnderWayWhereTheServerIsFar) {
  constexpr auto kDistance = std::chrono::seconds(1);
  World world(1, 1);
  world.combiner.set_distance(kDistance);
  world.start();
  world.gate.wait_for(1);
  world.start();
  ASSERT_TRUE(support::becomes_true(std::chrono::seconds(10), [&] { return world.combiner.waiting() == 1; }))
      << "nothing is known of the server's work yet";
  world.gate.open(1);
  for (int i = 0; i < 9; ++i) world.start();
  world.gate.wait_for(1 + 8);
  ASSERT_TRUE(support::becomes_true(std::chrono::seconds(10), [&] { return world.combiner.waiting() == 2; }))
      << "so many at most";
  world.finish(10);
  EXPECT_EQ(world.sizes.size(), 11U);
}

// What has left together would come back together, and its callers would ask again together.
TEST(Combiner, WhatLeavesForAServerThatIsFarKeepsAGap) {
  constexpr int kCalls = 5;
  Combiner<Call> combiner({.near = kCalls, .far = kCalls, .together_max = 1});
  combiner.set_distance(std::chrono::milliseconds(320));
  Gate gate;
  std::mutex mutex;
  std::vector<Instant> departures;
  std::vector<std::thread> threads;
  for (int i = 0; i < kCalls; ++i) {
    threads.emplace_back([&] {
      Call call;
      combiner.join(call, [&](std::span<Call* const>) {
        {
          const std::lock_guard guard(mutex);
          departures.push_back(base::monotonic_now());
        }
        gate.pass();
        return true;
      });
    });
  }
  gate.wait_for(kCalls);
  gate.open(kCalls);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(departures.back() - departures.front(), (kCalls - 1) * std::chrono::milliseconds(10));
}

TEST(Combiner, ManyThreadsAreEachServedOnce) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 2000;
  Combiner<Call> combiner({.near = 2, .together_max = 4});
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < kCalls; ++call) {
        Call one;
        combiner.join(one, [&](std::span<Call* const> together) {
          EXPECT_LE(together.size(), 4U);
          for (Call* each : together) {
            EXPECT_FALSE(each->is_made);
            each->is_made = true;
          }
          made += static_cast<int>(together.size());
          return true;
        });
        EXPECT_TRUE(one.is_made);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, kThreads * kCalls);
}

}  // namespace
}  // namespace mete::store
