#include "server/decisions/wait_queue.h"

#include <gtest/gtest.h>

#include "base/monotonic.h"
#include "server/decisions/waking_store.h"
#include "store/embedded/embedded_store.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;

// Counts what it is asked for.
class CountingStore final : public store::StoreOf<CountingStore> {
 public:
  explicit CountingStore(store::Store& store) : store_(store) {}
  template <class What>
  Result<typename What::Answer> perform(const What& operation, store::Execution& execution) {
    ++calls;
    return store_.run(operation, execution);
  }
  [[nodiscard]] Instant now() const override { return store_.now(); }

  std::size_t calls = 0;

 private:
  store::Store& store_;
};

// The loop's time is the system's, the store's stands still: so a take fits when something is given back, when the
// store's clock is moved on, or never.
class WaitQueueTest : public ::testing::Test {
 protected:
  WaitQueueTest() {
    EXPECT_TRUE(store.define(stock("s").amount(1)).has_value());
    EXPECT_TRUE(store.define(stock("t").amount(1)).has_value());
    EXPECT_TRUE(store.define(bucket("b").amount(1).per(1h)).has_value());
  }

  void wait(std::uint64_t caller, std::vector<Charge> charges, Duration patience = 1h, Mode mode = Mode::kTake,
            std::string_view id = {}) {
    // Each from an address of its own.
    queue.wait({caller, {.high = 0, .low = caller}},
               std::make_shared<const WaitQueue::Waiter>(core::Take{charges, mode, id}, patience),
               [this, caller](const Result<core::Verdict>& verdict, store::Ticket) {
                 log += (log.empty() ? "" : " ") + std::to_string(caller) +
                        (!verdict.has_value()  ? "!"
                         : verdict->is_allowed ? "+"
                                               : "-");
                 last = verdict;
               });
  }
  // All that can be done without waiting.
  void settle() {
    for (int round = 0; round < 20; ++round) {
      loop.stop();
      loop.run();
    }
  }
  // Until so many answers have come.
  void settle_until(std::size_t answers) {
    while (std::count(log.begin(), log.end(), ' ') + (log.empty() ? 0 : 1) < static_cast<std::ptrdiff_t>(answers)) {
      loop.after(1ms, [this] { loop.stop(); });
      loop.run();
    }
  }
  void take(std::string_view limit, std::string_view key) {
    const Charge charge{limit, key};
    EXPECT_TRUE(store.take({{&charge, 1}})->is_allowed);
  }
  void give(std::string_view limit, std::string_view key) {
    const Charge charge{limit, key};
    EXPECT_TRUE(store.give({&charge, 1}, {}).has_value());
    queue.nudge({&charge, 1});
    settle();
  }

  ManualClock clock{Instant::from_unix_seconds(1'700'000'000)};
  store::EmbeddedStore store{Options{.clock = &clock}};
  net::EventLoop loop;
  CountingStore counting{store};
  WaitQueue queue{loop, nullptr, counting, 5};
  std::string log;
  Result<core::Verdict> last;
};

TEST_F(WaitQueueTest, ATakeThatFitsIsAnsweredAtOnce) {
  wait(1, {{"s", "k"}});
  settle();
  EXPECT_EQ(log, "1+");
  EXPECT_EQ(queue.size(), 0U);
}

TEST_F(WaitQueueTest, FirstComeFirstServed) {
  take("s", "k");
  for (const std::uint64_t caller : {7U, 3U, 5U}) wait(caller, {{"s", "k"}});
  settle();
  EXPECT_EQ(log, "");
  EXPECT_EQ(queue.size(), 3U);
  give("s", "k");
  EXPECT_EQ(log, "7+");
  give("s", "k");
  EXPECT_EQ(log, "7+ 3+");
  give("s", "k");
  EXPECT_EQ(log, "7+ 3+ 5+");
  EXPECT_EQ(queue.size(), 0U);
}

TEST_F(WaitQueueTest, MetersDoNotWaitForEachOther) {
  take("s", "k");
  wait(1, {{"s", "k"}});
  wait(2, {{"s", "other"}});
  wait(3, {{"t", "k"}});
  settle();
  EXPECT_EQ(log, "2+ 3+");
}

// 2 waits for both meters; 3 shares one of them and came later, so it waits behind 2 although it would fit.
TEST_F(WaitQueueTest, NobodyOvertakesOnASharedMeter) {
  take("s", "k");
  wait(1, {{"s", "k"}});
  wait(2, {{"s", "k"}, {"t", "k"}});
  wait(3, {{"t", "k"}});
  settle();
  EXPECT_EQ(log, "");
  give("s", "k");
  EXPECT_EQ(log, "1+");
  give("s", "k");
  EXPECT_EQ(log, "1+ 2+");
  give("t", "k");
  EXPECT_EQ(log, "1+ 2+ 3+");
}

TEST_F(WaitQueueTest, WhoeverCancelsMakesWay) {
  take("s", "k");
  wait(1, {{"s", "k"}});
  wait(2, {{"s", "k"}});
  settle();
  queue.cancel(1);
  queue.cancel(99);
  give("s", "k");
  EXPECT_EQ(log, "2+");
}

TEST_F(WaitQueueTest, WhoeverCancelsInFrontLetsTheNextTry) {
  take("s", "k");
  wait(1, {{"s", "k"}, {"t", "k"}});
  wait(2, {{"t", "k"}});
  settle();
  EXPECT_EQ(log, "");
  queue.cancel(1);
  settle();
  EXPECT_EQ(log, "2+");
}

TEST_F(WaitQueueTest, IsTriedAgainWhenItsTimeHasCome) {
  take("b", "k");
  wait(1, {{"b", "k"}});
  settle();
  clock.advance(1h);
  settle_until(1);  // nobody announces it
  EXPECT_EQ(log, "1+");
}

TEST_F(WaitQueueTest, AStockIsNotPolled) {
  take("s", "k");
  wait(1, {{"s", "k"}});
  settle();
  EXPECT_EQ(counting.calls, 1U);
  loop.after(300ms, [this] { loop.stop(); });
  loop.run();
  EXPECT_EQ(counting.calls, 1U);
  give("s", "k");
  EXPECT_EQ(log, "1+");
}

// What a door does wakes those who wait for its meters, and nobody else.
TEST_F(WaitQueueTest, OnlyThoseWhomItConcernsAreWoken) {
  for (const std::string_view key : {"k", "l", "m"}) take("s", key);
  for (const std::uint64_t caller : {1U, 2U, 3U}) wait(caller, {{"s", std::string_view("klm").substr(caller - 1, 1)}});
  settle();
  counting.calls = 0;
  store::Execution execution;
  WakingStore door(&queue, store, execution);
  const Charge other{"s", "other"};
  EXPECT_TRUE(door.take({{&other, 1}})->is_allowed);
  EXPECT_TRUE(door.give({&other, 1}, {}).has_value());
  EXPECT_TRUE(door.hold({.charges = {&other, 1}, .ttl = 1h, .id = "hold"})->is_allowed);
  EXPECT_TRUE(door.cancel("hold").has_value());
  settle();
  EXPECT_EQ(counting.calls, 0U);
  const Charge second{"s", "l"};
  EXPECT_TRUE(door.give({&second, 1}, {}).has_value());
  settle();
  EXPECT_EQ(log, "2+");
  EXPECT_EQ(counting.calls, 1U);
}

TEST_F(WaitQueueTest, PatienceEndsWithADenial) {
  take("s", "k");
  wait(1, {{"s", "k"}}, 5ms);
  wait(2, {{"s", "k"}}, 10ms);
  settle_until(2);
  EXPECT_EQ(log, "1- 2-");
  EXPECT_EQ(last->violated, 1);
}

// Those before it come first, whatever is left: it is denied although it would fit.
TEST_F(WaitQueueTest, PatienceEndsWithADenialBehindOthersToo) {
  take("s", "k");
  wait(1, {{"s", "k"}, {"t", "k"}});
  wait(2, {{"t", "k"}}, 5ms);
  settle_until(1);
  EXPECT_EQ(log, "2-");
  EXPECT_EQ(store.usage({"t", "k"})->used, 0);
}

TEST_F(WaitQueueTest, WhatCanNeverFitDoesNotWait) {
  wait(1, {{"s", "k", 2}});
  settle();
  EXPECT_EQ(log, "1-");
}

TEST_F(WaitQueueTest, AnErrorDoesNotWait) {
  wait(1, {{"nope", "k"}});
  settle();
  EXPECT_EQ(log, "1!");
  EXPECT_EQ(last.error().code, ErrorCode::kNoLimit);
}

TEST_F(WaitQueueTest, IsBounded) {
  take("s", "k");
  for (std::uint64_t caller = 1; caller <= 6; ++caller) wait(caller, {{"s", "k"}});
  settle();
  EXPECT_EQ(log, "6!");
  EXPECT_EQ(last.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(queue.size(), 5U);
}

// No address has more than half of what others leave; whoever has gone leaves its place.
TEST_F(WaitQueueTest, OneAddressCannotTakeAllPlaces) {
  const auto wait_from = [this](std::uint64_t caller, std::uint64_t address) {
    const Charge charge{"s", "k"};
    queue.wait({caller, {.high = 0, .low = address}},
               std::make_shared<const WaitQueue::Waiter>(core::Take{{&charge, 1}}, 1h),
               [this, caller](const Result<core::Verdict>& verdict, store::Ticket) {
                 log += std::to_string(caller) + (verdict.has_value() ? "+" : "!");
               });
  };
  take("s", "k");
  for (std::uint64_t caller = 1; caller <= 4; ++caller) wait_from(caller, 7);
  settle();
  EXPECT_EQ(log, "4!");
  wait_from(5, 8);
  wait_from(6, 9);
  settle();
  EXPECT_EQ(log, "4!") << "others have places";
  EXPECT_EQ(queue.size(), 5U);
  for (const std::uint64_t gone : {2U, 5U, 6U}) queue.cancel(gone);
  wait_from(7, 7);
  settle();
  EXPECT_EQ(log, "4!");
  EXPECT_EQ(queue.size(), 3U);
}

// However soon something comes back: of a hundred meters each is looked at once a second.
TEST_F(WaitQueueTest, AStoreElsewhereIsAskedSeldom) {
  constexpr std::size_t kMeters = 50;
  EXPECT_TRUE(store.define(bucket("fast").amount(10'000).per(1s).burst(1)).has_value());
  net::Fibers fibers(loop);
  WaitQueue far(loop, &fibers, counting, kMeters);
  const auto began_ns = base::monotonic_ns();
  for (std::uint64_t caller = 0; caller < kMeters; ++caller) {
    const std::string key = std::to_string(caller);
    const Charge charge{"fast", key};
    take("fast", key);
    far.wait({caller, {.high = 0, .low = caller}},
             std::make_shared<const WaitQueue::Waiter>(core::Take{{&charge, 1}}, 1h),
             [](const Result<core::Verdict>&, store::Ticket) {});
  }
  loop.after(300ms, [this] { loop.stop(); });
  loop.run();
  const std::uint64_t elapsed_ns = base::monotonic_ns() - began_ns;
  EXPECT_EQ(far.size(), kMeters);
  // Each at its start, and again after 0.5 s at the earliest.
  EXPECT_LE(counting.calls, kMeters + kMeters * (1 + elapsed_ns / 500'000'000));
}

// A thousand who wait for one meter leave in the time of a thousand, and not of a million.
TEST_F(WaitQueueTest, FinishLetsTheLoopDoSomethingElse) {
  constexpr std::size_t kWaiters = 1'000;
  take("s", "k");
  WaitQueue many(loop, nullptr, counting, kWaiters * 2);
  std::size_t answers = 0;
  std::size_t answers_at_tick = 0;
  for (std::uint64_t caller = 0; caller < kWaiters; ++caller) {
    const Charge charge{"s", "k"};
    many.wait({caller, {.high = 0, .low = caller}},
              std::make_shared<const WaitQueue::Waiter>(core::Take{{&charge, 1}}, 1h),
              [&answers](const Result<core::Verdict>&, store::Ticket) { ++answers; });
  }
  settle();
  EXPECT_EQ(many.size(), kWaiters);
  many.finish();
  loop.post([&] { loop.post([&] { answers_at_tick = answers; }); });
  while (answers < kWaiters) settle();
  EXPECT_GT(answers_at_tick, 0U);
  EXPECT_LT(answers_at_tick, kWaiters);
  EXPECT_EQ(many.size(), 0U);
}

TEST_F(WaitQueueTest, AChangedLimitIsTriedByAll) {
  take("s", "k");
  take("s", "l");
  wait(1, {{"s", "k"}});
  wait(2, {{"s", "l"}});
  settle();
  EXPECT_TRUE(store.define(stock("s").amount(2)).has_value());
  queue.nudge_all();
  settle();
  EXPECT_EQ(log, "1+ 2+");
}

TEST_F(WaitQueueTest, ADroppedLimitIsAnError) {
  take("s", "k");
  wait(1, {{"s", "k"}});
  settle();
  EXPECT_TRUE(*store.drop("s"));
  queue.nudge_all();
  settle();
  EXPECT_EQ(log, "1!");
}

TEST_F(WaitQueueTest, FinishDeniesEveryone) {
  take("s", "k");
  for (const std::uint64_t caller : {1U, 2U, 3U}) wait(caller, {{"s", "k"}});
  settle();
  queue.finish();
  settle();
  EXPECT_EQ(log, "1- 2- 3-");
  EXPECT_EQ(queue.size(), 0U);
}

// An id is used up by the take that is answered, and by no attempt before it.
TEST_F(WaitQueueTest, AttemptsLeaveTheIdAlone) {
  take("s", "k");
  wait(1, {{"s", "k"}}, 1h, Mode::kTake, "op");
  settle();
  give("s", "k");
  EXPECT_EQ(log, "1+");
  wait(2, {{"s", "k"}}, 1h, Mode::kTake, "op");
  settle();
  EXPECT_EQ(log, "1+ 2+");
  EXPECT_EQ(store.usage({"s", "k"})->used, 1);
}

// Somebody else has asked by the same id while this one stood behind others.
TEST_F(WaitQueueTest, PatienceEndsWithTheAnswerOfTheId) {
  take("s", "k");
  wait(1, {{"s", "k"}, {"t", "k"}});
  wait(2, {{"t", "k"}}, 5ms, Mode::kTake, "op");
  settle();
  EXPECT_EQ(log, "");
  const Charge charge{"t", "k"};
  EXPECT_TRUE(store.take({{&charge, 1}, Mode::kTake, "op"})->is_allowed);
  settle_until(1);
  EXPECT_EQ(log, "2+");
  EXPECT_EQ(store.usage({"t", "k"})->used, 1);
}

TEST_F(WaitQueueTest, UpToWaitsForTheFirstUnit) {
  EXPECT_TRUE(store.define(stock("s").amount(3)).has_value());
  const Charge all{"s", "k", 3};
  EXPECT_TRUE(store.take({{&all, 1}})->is_allowed);
  wait(1, {{"s", "k", 2}}, 1h, Mode::kUpTo);
  settle();
  EXPECT_EQ(log, "");
  give("s", "k");
  EXPECT_EQ(log, "1+");
  EXPECT_EQ(last->taken, 1);
}

// The same meter twice in one take is one place in its line.
TEST_F(WaitQueueTest, AMeterThatIsChargedTwiceIsWaitedForOnce) {
  EXPECT_TRUE(store.define(stock("s").amount(2)).has_value());
  take("s", "k");
  wait(1, {{"s", "k"}, {"s", "k"}});
  settle();
  EXPECT_EQ(log, "");
  give("s", "k");
  EXPECT_EQ(log, "1+");
}

}  // namespace
}  // namespace mete::server
