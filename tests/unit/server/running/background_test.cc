// Whose work comes next.
#include "server/running/background.h"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/fiber_mutex.h"

namespace mete::server {
namespace {

constexpr GuessSource kGreedy{.high = 0, .low = 1};
constexpr GuessSource kModest{.high = 0, .low = 2};

// What is waiting while the first piece is at work, and the order in which it is done.
class BackgroundTest : public ::testing::Test {
 protected:
  BackgroundTest() {
    EXPECT_TRUE(background.run(kGreedy, [this] {
      has_begun.set_value();
      may_end.get_future().wait();
    }));
    has_begun.get_future().wait();
  }
  Background::Task note(const std::string& name) {
    return [this, name] { order += name; };
  }
  std::string rest() {
    std::promise<void> done;
    EXPECT_TRUE(background.run(last, [&done] { done.set_value(); }));
    may_end.set_value();
    done.get_future().wait();
    return order;
  }

  std::promise<void> has_begun;
  std::promise<void> may_end;
  std::string order;
  GuessSource last = kGreedy;
  Background background;
};

TEST_F(BackgroundTest, ClientsHaveTheirTurnsByAddress) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(background.run(kGreedy, note("g")));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(background.run(kModest, note("m")));
  EXPECT_EQ(rest(), "gmgmggg");
}

TEST_F(BackgroundTest, TheAdminWaitsForOnePieceOfOthers) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(background.run(kGreedy, note("g")));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(background.run_first(note("A")));
  EXPECT_EQ(rest(), "AgAgAgg");
}

TEST_F(BackgroundTest, KeepsTheOrderOfAnAddress) {
  for (const char* const name : {"a", "b", "c", "d"}) EXPECT_TRUE(background.run(kGreedy, note(name)));
  EXPECT_EQ(rest(), "abcd");
}

TEST_F(BackgroundTest, RefusesMoreThanItKeeps) {
  std::size_t taken = 0;
  for (std::uint64_t address = 10; address < 20; ++address) {
    while (background.run({.high = 1, .low = address}, [] {})) ++taken;
  }
  EXPECT_EQ(taken, Background::kTasksMax);
  EXPECT_FALSE(background.run(kModest, [] {}));
  may_end.set_value();
}

// What the tasks of one address keep is bounded too; but one of them may have more.
TEST_F(BackgroundTest, OneAddressCannotKeepAllMemory) {
  constexpr std::size_t kHalf = Background::kBytesOfSourceMax / 2;
  EXPECT_TRUE(background.run(kGreedy, note("g"), kHalf));
  EXPECT_TRUE(background.run(kGreedy, note("g"), kHalf));
  EXPECT_FALSE(background.run(kGreedy, note("x"), 1));
  EXPECT_TRUE(background.run(kGreedy, note("g")));
  EXPECT_TRUE(background.run(kModest, note("m"), 3 * kHalf));
  EXPECT_EQ(rest(), "gmgg");
  // What has ended is kept no more; a piece has ended a moment after it has told so.
  const auto wait_for = [&](std::size_t bytes) {
    std::promise<void> done;
    while (!background.run(
        kGreedy, [&done] { done.set_value(); }, bytes)) {
      std::this_thread::yield();
    }
    done.get_future().wait();
  };
  wait_for(2 * kHalf);
  wait_for(2 * kHalf);
}

TEST_F(BackgroundTest, OneAddressCannotTakeAllPlaces) {
  std::size_t taken = 0;
  while (background.run(kGreedy, [] {})) ++taken;
  EXPECT_EQ(taken, Background::kTasksOfSourceMax);
  EXPECT_TRUE(background.run(kModest, note("m")));
  EXPECT_TRUE(background.run_first(note("A")));
  last = kModest;
  rest();
}

// Pieces that wait for something far away until the test lets them go on.
class WaitingPiecesTest : public ::testing::Test {
 protected:
  ~WaitingPiecesTest() override { go_on(); }

  Background::Task wait_far_away() {
    return [this] {
      std::unique_lock lock(mutex);
      ++waiting;
      changed.notify_all();
      changed.wait(lock, kPatience, [this] { return may_go_on; });
    };
  }
  // Until so many wait.
  bool has_waiting(std::size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait(lock, kPatience, [&] { return waiting >= count; });
  }
  void go_on() {
    const std::lock_guard lock(mutex);
    may_go_on = true;
    changed.notify_all();
  }
  // Whether a piece comes to its end, whatever waits.
  static bool is_done(const std::function<bool(Background::Task)>& run) {
    auto done = std::make_shared<std::promise<void>>();
    EXPECT_TRUE(run([done] { done->set_value(); }));
    return done->get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }
  bool is_done(const GuessSource& source) {
    return is_done([&](Background::Task task) { return background.run(source, std::move(task)); });
  }

  const net::Deadline kPatience = net::Deadline::in(std::chrono::seconds(60));
  std::mutex mutex;
  net::Signal changed;
  std::size_t waiting = 0;
  bool may_go_on = false;
  Background background;
};

TEST_F(WaitingPiecesTest, KeepNobodyWaiting) {
  EXPECT_TRUE(background.run(kGreedy, wait_far_away()));
  EXPECT_TRUE(background.run_first(wait_far_away()));
  EXPECT_TRUE(has_waiting(2));
  EXPECT_TRUE(is_done(kGreedy));
  EXPECT_TRUE(is_done([this](Background::Task task) { return background.run_first(std::move(task)); }));
}

TEST_F(WaitingPiecesTest, OfOneAddressLeavePlacesToOthers) {
  for (std::size_t i = 0; i < 2 * Background::kAtOnceOfSource; ++i) {
    EXPECT_TRUE(background.run(kGreedy, wait_far_away()));
  }
  EXPECT_TRUE(has_waiting(Background::kAtOnceOfSource));
  EXPECT_TRUE(is_done(kModest));
  EXPECT_EQ(waiting, Background::kAtOnceOfSource);
}

TEST_F(WaitingPiecesTest, OfAllAddressesLeavePlacesToTheAdmin) {
  for (std::uint64_t address = 10; address < 15; ++address) {
    for (std::size_t i = 0; i < Background::kAtOnceOfSource; ++i) {
      EXPECT_TRUE(background.run({.high = 1, .low = address}, wait_far_away()));
    }
  }
  EXPECT_TRUE(has_waiting(Background::kAtOnce));
  EXPECT_TRUE(is_done([this](Background::Task task) { return background.run_first(std::move(task)); }));
  EXPECT_EQ(waiting, Background::kAtOnce);
  go_on();
  EXPECT_TRUE(is_done(kModest));
}

}  // namespace
}  // namespace mete::server
