// Whose work comes next.
#include "server/running/background.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

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

TEST_F(BackgroundTest, OneAddressCannotTakeAllPlaces) {
  std::size_t taken = 0;
  while (background.run(kGreedy, [] {})) ++taken;
  EXPECT_EQ(taken, Background::kTasksOfSourceMax);
  EXPECT_TRUE(background.run(kModest, note("m")));
  EXPECT_TRUE(background.run_first(note("A")));
  last = kModest;
  rest();
}

}  // namespace
}  // namespace mete::server
