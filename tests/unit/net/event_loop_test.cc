#include "net/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <string>
#include <thread>

namespace mete::net {
namespace {

using namespace std::chrono_literals;

TEST(EventLoop, RunsTimersWhenTheyAreDueInTheirOrder) {
  EventLoop loop;
  std::string log;
  loop.after(20ms, [&] {
    log += 'c';
    loop.stop();
  });
  loop.after(10ms, [&] { log += 'b'; });
  loop.after(Duration(), [&] { log += 'a'; });
  loop.after(Duration::from_ns(-5), [&] { log += 'a'; });
  const std::uint64_t started_ns = loop.now_ns();
  loop.run();
  EXPECT_EQ(log, "aabc");
  EXPECT_GE(loop.now_ns() - started_ns, 20'000'000U);
}

TEST(EventLoop, EndsARoundWhenAllElseIsDone) {
  EventLoop loop;
  std::string log;
  loop.after(Duration(), [&] {
    loop.at_round_end([&] {
      log += 'c';
      loop.at_round_end([&] { log += 'd'; });
      loop.post([&] {
        log += 'e';
        loop.stop();
      });
    });
    loop.post([&] { log += 'b'; });
    log += 'a';
  });
  loop.run();
  EXPECT_EQ(log, "abcde");
}

TEST(EventLoop, DoesNotRunWhatIsCancelled) {
  EventLoop loop;
  std::string log;
  EventLoop::TimerId later = 0;
  const auto first = loop.after(1ms, [&] { log += 'x'; });
  loop.after(2ms, [&] {
    log += 'a';
    loop.cancel(later);
  });
  later = loop.after(3ms, [&] { log += 'x'; });
  loop.cancel(first);
  loop.cancel(first);
  loop.cancel(0);
  loop.cancel(12345);
  loop.after(5ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(log, "a");
}

// Timers that are far off and cancelled leave no more than a few tasks behind, and those that stay keep their order.
TEST(EventLoop, ForgetsCancelledTimers) {
  EventLoop loop;
  const auto counter = std::make_shared<int>(0);
  std::string log;
  loop.after(2ms, [&] { log += 'b'; });
  loop.after(1ms, [&] { log += 'a'; });
  for (int round = 0; round < 10'000; ++round) loop.cancel(loop.after(1h, [counter] { ++*counter; }));
  EXPECT_LT(counter.use_count(), 100);
  loop.after(3ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(log, "ab");
  EXPECT_EQ(*counter, 0);
}

TEST(EventLoop, RunsWhatOtherThreadsPostInTheirOrder) {
  EventLoop loop;
  constexpr int kThreads = 4;
  constexpr int kPosts = 2'000;
  std::vector<int> last(kThreads, -1);
  bool is_ordered = true;
  int left = kThreads * kPosts;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int index = 0; index < kPosts; ++index) {
        loop.post([&, thread, index] {
          is_ordered = is_ordered && last[static_cast<std::size_t>(thread)] == index - 1;
          last[static_cast<std::size_t>(thread)] = index;
          if (--left == 0) loop.stop();
        });
      }
    });
  }
  loop.run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_ordered);
  EXPECT_EQ(left, 0);
}

TEST(EventLoop, WhatATaskPostsRunsInALaterRound) {
  EventLoop loop;
  std::string log;
  loop.post([&] {
    loop.post([&] {
      log += 'c';
      loop.stop();
    });
    log += 'a';
  });
  loop.post([&] { log += 'b'; });
  loop.run();
  EXPECT_EQ(log, "abc");
}

TEST(EventLoop, CanBeRunAgain) {
  EventLoop loop;
  int count = 0;
  for (int round = 0; round < 3; ++round) {
    loop.post([&] { ++count; });
    loop.stop();
    loop.run();
  }
  EXPECT_EQ(count, 3);
}

class Watched final : public EventHandler {
 public:
  explicit Watched(std::function<void(std::uint32_t)> handle) : handle_(std::move(handle)) {}
  ~Watched() override {
    if (on_destroyed) on_destroyed();
  }
  void on_events(std::uint32_t events) override { handle_(events); }

  std::function<void()> on_destroyed;

 private:
  std::function<void(std::uint32_t)> handle_;
};

TEST(EventLoop, TellsHandlersOfTheirDescriptors) {
  EventLoop loop;
  const Descriptor descriptor(::eventfd(1, EFD_NONBLOCK));
  std::vector<std::uint32_t> seen;
  Watched handler([&](std::uint32_t events) {
    seen.push_back(events);
    if (seen.size() == 1) {
      loop.change(descriptor.get(), EPOLLOUT, handler);
    } else {
      loop.forget(descriptor.get());
      loop.stop();
    }
  });
  ASSERT_TRUE(loop.watch(descriptor.get(), EPOLLIN, handler));
  EXPECT_FALSE(loop.watch(descriptor.get(), EPOLLIN, handler)) << "twice";
  loop.run();
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{EPOLLIN, EPOLLOUT}));
}

// Two descriptors are ready in one round, and each handler buries the other: both must still be there for their events.
TEST(EventLoop, TheBuriedLiveUntilTheRoundIsOver) {
  EventLoop loop;
  const Descriptor one(::eventfd(1, EFD_NONBLOCK));
  const Descriptor two(::eventfd(1, EFD_NONBLOCK));
  std::unique_ptr<Watched> handlers[2];
  std::string log;
  const auto make = [&](std::size_t self) {
    handlers[self] = std::make_unique<Watched>([&, self](std::uint32_t) {
      log += 'e';
      const std::size_t other = 1 - self;
      if (handlers[other] == nullptr) return;
      loop.forget(other == 0 ? one.get() : two.get());
      loop.bury(std::move(handlers[other]));
      log += 'b';
    });
    handlers[self]->on_destroyed = [&] { log += 'd'; };
  };
  make(0);
  make(1);
  ASSERT_TRUE(loop.watch(one.get(), EPOLLIN, *handlers[0]));
  ASSERT_TRUE(loop.watch(two.get(), EPOLLIN, *handlers[1]));
  loop.post([&] { log += 'p'; });
  loop.stop();
  loop.run();
  EXPECT_EQ(log, "ebebpdd");
  for (auto& handler : handlers) {
    if (handler) handler->on_destroyed = nullptr;
  }
}

}  // namespace
}  // namespace mete::net
