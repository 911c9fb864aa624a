#include "net/fiber.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/fiber_mutex.h"
#include "net/signal.h"

namespace mete::net {
namespace {

using namespace std::chrono_literals;

// A loop with fibers on this thread; run_until() runs it until all of them have ended.
struct FiberTest : ::testing::Test {
  EventLoop loop;
  Fibers fibers{loop};

  void run_until_done() {
    while (fibers.under_way() > 0) {
      loop.after(1ms, [this] { loop.stop(); });
      loop.run();
    }
  }
};

struct TalkingPair {
  TalkingPair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0); }
  TalkingPair(const TalkingPair&) = delete;
  TalkingPair& operator=(const TalkingPair&) = delete;
  ~TalkingPair() {
    for (const int end : ends) ::close(end);
  }
  void say() const { EXPECT_EQ(::send(ends[1], "x", 1, 0), 1); }

  std::array<int, 2> ends{};
};

TEST_F(FiberTest, RunsAFunctionThatNeverWaitsAtOnce) {
  std::string said;
  fibers.run([&] { said += "function "; });
  said += "caller";
  EXPECT_EQ(said, "function caller");
  EXPECT_EQ(fibers.under_way(), 0U);
}

TEST_F(FiberTest, LetsTheLoopWorkWhileItWaitsForASocket) {
  const TalkingPair pair;
  std::vector<std::string> said;
  fibers.run([&] {
    said.emplace_back("waits");
    const bool is_ready = wait_for_socket(pair.ends[0], POLLIN, Deadline::in(10s));
    said.emplace_back(is_ready ? "ready" : "too late");
  });
  said.emplace_back("caller");
  loop.after(1ms, [&] {
    said.emplace_back("loop");
    pair.say();
  });
  run_until_done();
  EXPECT_EQ(said, (std::vector<std::string>{"waits", "caller", "loop", "ready"}));
}

TEST_F(FiberTest, AWaitEndsByItsDeadlineAndNotBefore) {
  const TalkingPair pair;
  const auto deadline = Deadline::in(20ms);
  bool is_ready = true;
  bool was_over = false;
  fibers.run([&] {
    is_ready = wait_for_socket(pair.ends[0], POLLIN, deadline);
    was_over = deadline.is_over();
  });
  run_until_done();
  EXPECT_FALSE(is_ready);
  EXPECT_TRUE(was_over);
}

TEST_F(FiberTest, ASocketCanBeWaitedForAgainAndAgain) {
  const TalkingPair pair;
  int times = 0;
  fibers.run([&] {
    char byte = 0;
    while (times < 3 && wait_for_socket(pair.ends[0], POLLIN, Deadline::in(10s))) {
      EXPECT_EQ(::recv(pair.ends[0], &byte, 1, 0), 1);
      ++times;
      pair.say();
    }
  });
  pair.say();
  run_until_done();
  EXPECT_EQ(times, 3);
}

TEST_F(FiberTest, AThousandWaitAtATime) {
  int awake = 0;
  for (int i = 0; i < 1000; ++i) {
    fibers.run([&] {
      pause_for(5ms);
      ++awake;
    });
  }
  EXPECT_EQ(fibers.under_way(), 1000U);
  run_until_done();
  EXPECT_EQ(awake, 1000);
}

TEST_F(FiberTest, AnExceptionIsCaughtWithinAFunctionThatHasWaited) {
  std::string caught;
  fibers.run([&] {
    try {
      pause_for(1ms);
      throw std::string("thrown");
    } catch (const std::string& what) {
      pause_for(1ms);
      caught = what;
    }
  });
  run_until_done();
  EXPECT_EQ(caught, "thrown");
}

struct SignalTest : FiberTest {
  std::mutex mutex;
  Signal signal;
  bool is_set = false;

  bool wait(const Deadline& deadline) {
    std::unique_lock lock(mutex);
    return signal.wait(lock, deadline, [this] { return is_set; });
  }
  void set() {
    const std::lock_guard guard(mutex);
    is_set = true;
    signal.notify_all();
  }
};

TEST_F(SignalTest, WakesFibersOfTheSameLoop) {
  int awake = 0;
  for (int i = 0; i < 3; ++i) fibers.run([&] { awake += wait(Deadline::in(10s)) ? 1 : 100; });
  fibers.run([&] { set(); });
  run_until_done();
  EXPECT_EQ(awake, 3);
}

TEST_F(SignalTest, WakesAFiberFromAnotherThreadAndAThreadFromAFiber) {
  bool is_awake = false;
  fibers.run([&] { is_awake = wait(Deadline::in(10s)); });
  std::thread other([&] { set(); });
  run_until_done();
  other.join();
  EXPECT_TRUE(is_awake);

  is_set = false;
  std::thread waiting([&] { is_awake = wait(Deadline::in(10s)); });
  fibers.run([&] { set(); });
  waiting.join();
  EXPECT_TRUE(is_awake);
}

TEST_F(SignalTest, GivesUpAtTheDeadlineAndIsForgotten) {
  bool fiber_result = true;
  fibers.run([&] { fiber_result = wait(Deadline::in(2ms)); });
  run_until_done();
  EXPECT_FALSE(fiber_result);
  EXPECT_FALSE(wait(Deadline::in(2ms)));
  set();  // Nobody is left to be woken.
}

// A notification that meets the deadline must not end the next wait of the same fiber.
TEST_F(SignalTest, ALateNotificationEndsNoOtherWait) {
  for (int round = 0; round < 200; ++round) {
    is_set = false;
    bool has_paused = false;
    fibers.run([&] {
      std::ignore = wait(Deadline::in(100us));
      const auto pause = Deadline::in(1ms);
      pause_for(1ms);
      has_paused = pause.is_over();
    });
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(80 + round % 40));
      set();
    });
    run_until_done();
    other.join();
    EXPECT_TRUE(has_paused) << round;
  }
}

TEST_F(SignalTest, WakesOneAtATimeInTheOrderOfWaiting) {
  std::vector<int> order;
  int tokens = 0;
  for (int i = 0; i < 3; ++i) {
    fibers.run([&, i] {
      std::unique_lock lock(mutex);
      signal.wait(lock, Deadline::in(10s), [&] { return tokens > 0; });
      --tokens;
      order.push_back(i);
    });
  }
  for (int i = 0; i < 3; ++i) {
    const std::lock_guard guard(mutex);
    ++tokens;
    signal.notify_one();
  }
  run_until_done();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

struct FiberMutexTest : FiberTest {
  FiberMutex mutex;
  std::string said;

  // Holds the lock while it waits for something else.
  void say_slowly(char begin, char end) {
    const std::lock_guard lock(mutex);
    said += begin;
    pause_for(2ms);
    said += end;
  }
};

TEST_F(FiberMutexTest, MayBeHeldWhileAFiberWaits) {
  fibers.run([&] { say_slowly('a', 'A'); });
  fibers.run([&] { say_slowly('b', 'B'); });
  fibers.run([&] { said += '-'; });
  run_until_done();
  EXPECT_EQ(said, "a-AbB");
}

TEST_F(FiberMutexTest, IsForThreadsAndFibersAlike) {
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) say_slowly('x', 'X');
  });
  for (int i = 0; i < 5; ++i) fibers.run([&] { say_slowly('y', 'Y'); });
  run_until_done();
  other.join();
  ASSERT_EQ(said.size(), 20U);
  for (std::size_t i = 0; i < said.size(); i += 2) EXPECT_EQ(said[i + 1], std::toupper(said[i])) << said;
}

struct NamedLocksTest : FiberTest {
  NamedLocks locks;
  std::string said;

  void say_slowly(std::string_view name, char begin, char end) {
    const auto lock = locks.lock(name);
    said += begin;
    pause_for(2ms);
    said += end;
  }
};

TEST_F(NamedLocksTest, OneNameWaitsForNoOther) {
  fibers.run([&] { say_slowly("one", 'a', 'A'); });
  fibers.run([&] { say_slowly("one", 'b', 'B'); });
  fibers.run([&] { say_slowly("other", 'c', 'C'); });
  run_until_done();
  EXPECT_EQ(said, "acACbB");
}

TEST_F(NamedLocksTest, AreForThreadsAndFibersAlike) {
  int under_way = 0;  // under the lock
  int most = 0;
  const auto work = [&] {
    const auto lock = locks.lock("one");
    most = std::max(most, ++under_way);
    pause_for(1ms);
    --under_way;
  };
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) work();
  });
  for (int i = 0; i < 5; ++i) fibers.run(work);
  run_until_done();
  other.join();
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace mete::net
