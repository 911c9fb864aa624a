// Homes that fail on command, and an operation that is all or nothing over them.
#include "store/coordinator.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "serving/fickle_store.h"
#include "store/embedded/embedded_store.h"

namespace mete::store {
namespace {

using namespace std::chrono_literals;
using serving::FickleStore;
using serving::Mood;

constexpr std::size_t kHomes = 3;
constexpr Amount kAmount = 10;

struct How {
  Mode mode = Mode::kTake;
  std::string_view id = {};
  bool remembers_denial = true;
  std::span<Usage> usages = {};
};

// Each home has a stock of its own: "s0" at the first, and so on.
class CoordinatorTest : public ::testing::Test {
 protected:
  CoordinatorTest() {
    for (std::size_t i = 0; i < kHomes; ++i) {
      stores_[i] = std::make_unique<FickleStore>(std::make_unique<EmbeddedStore>(Options{.clock = &clock_}));
      stores_[i]->held().define(stock(names_[i]).amount(kAmount)).value();
      stores_[i]->mood = [this, i](std::string_view operation) { return mood_ ? mood_(i, operation) : Mood::kWell; };
    }
  }
  template <class Act>
  auto with(std::span<const Amount> costs, Act act) {
    const auto home_at = [this](std::size_t i) {
      return HomeOf([this, i](const auto& operation) { return stores_[i]->run(operation); });
    };
    std::vector<decltype(home_at(0))> homes;
    for (std::size_t i = 0; i < costs.size(); ++i) homes.push_back(home_at(i));
    std::vector<Charge> charges;
    std::vector<HomePart> parts;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      charges.push_back({names_[i], "k", costs[i]});
      parts.push_back({.home = &homes[i]});
      parts.back().add(charges.back(), i);
    }
    Coordinator whole(parts);
    return act(whole, charges);
  }
  // Of so many units from each of the homes, the first of which decides.
  Result<core::Verdict> take(const std::vector<Amount>& costs, const How& how = {}) {
    return with(costs, [&](Coordinator& whole, std::span<const Charge> charges) {
      return whole.take({.charges = charges,
                         .mode = how.mode,
                         .id = how.id,
                         .remembers_denial = how.remembers_denial,
                         .usages = how.usages});
    });
  }
  Result<Settlement> give(const std::vector<Amount>& costs, std::string_view id = {}) {
    return with(costs, [&](Coordinator& whole, std::span<const Charge> charges) { return whole.give({charges, id}); });
  }
  Usage usage(std::size_t home) { return stores_[home]->held().usage({names_[home], "k"}).value(); }
  void expect_used(std::vector<Amount> used) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      EXPECT_EQ(usage(i).used, used[i]) << "at home " << i;
      EXPECT_EQ(usage(i).held, 0) << "at home " << i;
    }
  }
  // The next operation of that name at that home fails, and no other.
  void fail_once(std::size_t home, std::string_view name, Mood how) {
    has_failed_ = false;
    mood_ = [this, home, name, how](std::size_t at, std::string_view operation) {
      if (at != home || operation != name || has_failed_) return Mood::kWell;
      has_failed_ = true;
      return how;
    };
  }

  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  const std::array<std::string, kHomes> names_ = {"s0", "s1", "s2"};
  std::array<std::unique_ptr<FickleStore>, kHomes> stores_;
  std::function<Mood(std::size_t home, std::string_view operation)> mood_;
  bool has_failed_ = false;
};

TEST_F(CoordinatorTest, AllOfItOrNothing) {
  const auto taken = take({1, 4, 3}).value();
  EXPECT_TRUE(taken.is_allowed);
  EXPECT_EQ(taken.taken, 8);
  EXPECT_EQ(taken.remaining, 6) << "the tightest";
  for (const auto& [costs, violated] :
       {std::pair(std::vector<Amount>{10, 1, 8}, 0b101), {{1, 7, 1}, 0b010}, {{10, 7, 8}, 0b111}}) {
    const auto denied = take(costs).value();
    EXPECT_FALSE(denied.is_allowed);
    EXPECT_EQ(denied.violated, violated);
    EXPECT_EQ(denied.taken, 0);
    EXPECT_EQ(denied.remaining, 6) << "how it stands without it";
  }
  expect_used({1, 4, 3});
  EXPECT_EQ(give({1, 2, 3}).value().amount, 6);
  expect_used({0, 2, 0});
}

TEST_F(CoordinatorTest, TellsHowTheMetersStand) {
  std::array<Usage, kHomes> usages;
  take({1, 4, 3}, {.usages = usages}).value();
  for (std::size_t i = 0; i < kHomes; ++i) EXPECT_EQ(usages[i].limit - usages[i].remaining, usage(i).used);
  take({1, 7, 3}, {.usages = usages}).value();
  for (std::size_t i = 0; i < kHomes; ++i) EXPECT_EQ(usages[i].remaining, usage(i).remaining) << "denied";
}

TEST_F(CoordinatorTest, PeeksForcesAndChargesNothing) {
  EXPECT_EQ(take({1, 4, 3}, {.mode = Mode::kPeek}).value().remaining, 6);
  EXPECT_EQ(take({1, 40, 30}, {.mode = Mode::kPeek}).value().violated, 0b110);
  expect_used({0, 0, 0});
  EXPECT_EQ(take({2, 0, 1}).value().taken, 3) << "a hold of nothing is none";
  EXPECT_TRUE(take({0, 0, 0}).value().is_allowed);
  expect_used({2, 0, 1});
  EXPECT_TRUE(take({1, 40, 30}, {.mode = Mode::kForce, .id = "op"}).value().is_allowed);
  EXPECT_TRUE(take({1, 40, 30}, {.mode = Mode::kForce, .id = "op"}).value().is_allowed);
  expect_used({3, 40, 31});
}

TEST_F(CoordinatorTest, AnUnknownLimitChangesNothing) {
  stores_[2]->held().drop("s2").value();
  for (const Mode mode : {Mode::kTake, Mode::kForce, Mode::kPeek}) {
    EXPECT_EQ(take({1, 1, 1}, {.mode = mode, .id = mode == Mode::kPeek ? "" : "op"}).error().code, ErrorCode::kNoLimit);
  }
  EXPECT_EQ(give({1, 1, 1}).error().code, ErrorCode::kNoLimit);
  expect_used({0, 0});
}

// Whatever fails once, the same operation again is answered, and happens once; however late it is.
TEST_F(CoordinatorTest, AnOperationWithAnIdHappensOnceWhateverFails) {
  int failed = 0;
  for (const Duration wait : {Duration(), Duration(Coordinator::kMoment + 1s)}) {
    for (const Mood how : {Mood::kAway, Mood::kMute}) {
      for (const char* name : {"RECALL", "HOLD", "EXTEND", "TAKE", "COMMIT"}) {
        for (std::size_t home = 0; home < kHomes; ++home) {
          const std::string id = "op" + std::to_string(failed) + name + std::to_string(home);
          const std::vector<Amount> costs = {1, 2, 3};
          fail_once(home, name, how);
          const auto first = take(costs, {.id = id});
          mood_ = nullptr;
          // Not every home is asked everything.
          failed += has_failed_ ? 1 : 0;
          ASSERT_EQ(first.has_value(), !has_failed_) << id;
          clock_.advance(wait);
          const auto second = take(costs, {.id = id}).value();
          EXPECT_TRUE(second.is_allowed) << id;
          EXPECT_EQ(second.taken, 6);
          EXPECT_EQ(take(costs, {.id = id}).value(), second) << "the same answer again";
          expect_used({1, 2, 3});
          give(costs).value();
        }
      }
    }
  }
  EXPECT_EQ(failed, 2 * 2 * (1 + 2 + 2 + 1 + 2));
}

// The parts of an operation that nobody asks again are free after a while.
TEST_F(CoordinatorTest, WhatNobodyCompletesExpires) {
  fail_once(2, "HOLD", Mood::kAway);
  EXPECT_FALSE(take({1, 10, 1}, {.id = "op"}).has_value());
  EXPECT_FALSE(take({1, 1, 1}).value().is_allowed);
  clock_.advance(Coordinator::kMoment);
  EXPECT_TRUE(take({1, 10, 1}).value().is_allowed);
}

TEST_F(CoordinatorTest, WithoutAnIdNothingStaysHeld) {
  for (const Mood how : {Mood::kAway, Mood::kMute}) {
    fail_once(0, "TAKE", how);
    EXPECT_EQ(take({1, 2, 3}).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(usage(1).used + usage(1).held + usage(2).used + usage(2).held, 0);
  }
}

// Decided, and its part has expired while somebody else took what was left: it has happened all the same.
TEST_F(CoordinatorTest, APartThatIsLateIsChargedBeyondTheLimit) {
  fail_once(1, "COMMIT", Mood::kAway);
  EXPECT_FALSE(take({1, 10}, {.id = "op"}).has_value());
  clock_.advance(Coordinator::kMoment);
  EXPECT_TRUE(take({0, 10}).value().is_allowed);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take({1, 10}, {.id = "op"}).value().is_allowed);
  expect_used({1, 20});
}

TEST_F(CoordinatorTest, ADenialIsTheSameAgain) {
  ASSERT_TRUE(take({9, 0}).value().is_allowed);
  EXPECT_FALSE(take({2, 1}, {.id = "there"}).value().is_allowed);
  const Charge back{"s0", "k", 9};
  stores_[0]->give({&back, 1}, {}).value();
  EXPECT_FALSE(take({2, 1}, {.id = "there"}).value().is_allowed);
  ASSERT_TRUE(take({0, 9}).value().is_allowed);
  EXPECT_FALSE(take({1, 2}, {.id = "here"}).value().is_allowed);
  const Charge here{"s1", "k", 9};
  stores_[1]->give({&here, 1}, {}).value();
  EXPECT_FALSE(take({1, 2}, {.id = "here"}).value().is_allowed);
  expect_used({0, 0});
}

// A take that waits is tried again and again under its id, each time with a hold of its own.
TEST_F(CoordinatorTest, ADenialThatIsNotRememberedMayBecomeAnAdmission) {
  ASSERT_TRUE(take({10, 0}).value().is_allowed);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(take({1, 2, 3}, {.id = "op", .remembers_denial = false}).value().is_allowed);
    EXPECT_EQ(usage(1).held, 0);
  }
  const Charge back{"s0", "k", 10};
  stores_[0]->give({&back, 1}, {}).value();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take({1, 2, 3}, {.id = "op"}).value().is_allowed);
  expect_used({1, 2, 3});
}

TEST_F(CoordinatorTest, TheSameIdForAnotherOperationIsAMismatch) {
  ASSERT_TRUE(take({1, 2}, {.id = "op"}).value().is_allowed);
  EXPECT_EQ(take({2, 2}, {.id = "op"}).error().code, ErrorCode::kMismatch);
  EXPECT_EQ(take({1, 3}, {.id = "op"}).error().code, ErrorCode::kMismatch);
  expect_used({1, 2});
}

TEST_F(CoordinatorTest, AGiveWithAnIdHappensOnce) {
  ASSERT_TRUE(take({4, 4, 4}).value().is_allowed);
  fail_once(1, "GIVE", Mood::kMute);
  EXPECT_FALSE(give({1, 1, 1}, "back").has_value());
  EXPECT_EQ(give({1, 1, 1}, "back").value().amount, 3);
  expect_used({3, 3, 3});
}

// At random: whoever asks until there is an answer is charged for each admission, to the unit, at each home.
TEST_F(CoordinatorTest, EveryAdmissionIsChargedOnceAtEachHome) {
  std::mt19937 random(17);  // NOLINT(cert-msc51-cpp): the same each time
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  for (auto& each : stores_) {
    for (const std::string& name : names_) each->held().define(stock(name).amount(200)).value();
  }
  mood_ = [&](std::size_t, std::string_view) {
    return !one_in(6) ? Mood::kWell : one_in(2) ? Mood::kAway : Mood::kMute;
  };
  std::array<Amount, kHomes> admitted{};
  int denied = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<Amount> costs;
    for (std::size_t home = 0; home < kHomes; ++home) costs.push_back(static_cast<Amount>(random() % 3));
    const std::string id = "op" + std::to_string(i);
    auto answer = take(costs, {.id = id});
    while (!answer.has_value()) {
      ASSERT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
      if (one_in(4)) clock_.advance(Coordinator::kMoment);
      answer = take(costs, {.id = id});
    }
    denied += answer->is_allowed ? 0 : 1;
    for (std::size_t home = 0; home < kHomes && answer->is_allowed; ++home) admitted[home] += costs[home];
  }
  mood_ = nullptr;
  clock_.advance(Coordinator::kMoment);
  expect_used({admitted[0], admitted[1], admitted[2]});
  EXPECT_GT(denied, 0);
}

}  // namespace
}  // namespace mete::store
