#include "server/decisions/take_list.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "net/fiber.h"
#include "store/embedded/embedded_store.h"
#include "support/on_fibers.h"

namespace mete::server {
namespace {

// A store far away: it begins to carry out a call when it has come, some time after it was sent, and those that came
// later may come first.
class FarStore final : public store::Store {
 public:
  std::size_t most_under_way = 0;
  std::size_t calls = 0;

  [[nodiscard]] Instant now() const override { return inside.now(); }

  store::EmbeddedStore inside{Options{}};

 private:
  void execute(const store::Operation& operation, store::Execution& execution) override {
    most_under_way = std::max(most_under_way, ++under_way_);
    ++calls;
    net::pause_for(std::chrono::milliseconds(1 + way_() % 5));
    --under_way_;
    pass_on(inside, operation, execution);
  }

  std::size_t under_way_ = 0;
  std::minstd_rand way_;
};

struct Asked {
  std::vector<Charge> charges;
  Mode mode = Mode::kTake;
  std::string id = {};
};

std::vector<ListedTake> listed(const std::vector<Asked>& asked) {
  std::vector<ListedTake> takes;
  for (const Asked& each : asked) takes.push_back({.take = {each.charges, each.mode, each.id}});
  return takes;
}

class TakeListTest : public ::testing::Test {
 protected:
  TakeListTest() {
    for (store::Store* const store : {static_cast<store::Store*>(&far_.inside), static_cast<store::Store*>(&near_)}) {
      for (const char* const name : {"a", "b"}) EXPECT_TRUE(store->define(stock(name).amount(20)).has_value());
    }
  }

  // On a fiber, which waits for the store.
  std::vector<ListedTake> take(const std::vector<Asked>& asked) {
    auto takes = listed(asked);
    support::on_fibers(1, [&](std::size_t) {
      store::Execution execution;
      WakingStore store(nullptr, far_, execution);
      take_all(store, takes);
    });
    return takes;
  }
  // One after the other.
  std::vector<Result<core::Verdict>> take_singly(const std::vector<Asked>& asked) {
    std::vector<Result<core::Verdict>> answers;
    for (const ListedTake& each : listed(asked)) answers.push_back(near_.run(each.take));
    return answers;
  }

  FarStore far_;
  store::EmbeddedStore near_{Options{}};
};

TEST_F(TakeListTest, WhatSharesNothingWaitsTogether) {
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) keys.push_back("k" + std::to_string(i));
  std::vector<Asked> asked;
  for (const std::string& key : keys) {
    switch (asked.size() % 3) {
      case 0:
        asked.push_back({.charges = {{"a", key}}, .id = "id" + key});
        break;
      case 1:
        asked.push_back({.charges = {{"a", key, 3}}, .mode = Mode::kUpTo});
        break;
      default:
        asked.push_back({.charges = {{"a", key}, {"b", key}}});
    }
  }
  for (const ListedTake& each : take(asked)) EXPECT_TRUE(each.answer.value().is_allowed);
  EXPECT_EQ(far_.most_under_way, 60U);
}

TEST_F(TakeListTest, PlainOnesAreOneCall) {
  const std::vector<Asked> asked = {
      {.charges = {{"a", "k"}}}, {.charges = {{"a", "k"}}}, {.charges = {{"b", "k"}}}, {.charges = {{"none", "k"}}}};
  const auto takes = take(asked);
  EXPECT_EQ(far_.calls, 1U);
  EXPECT_EQ(takes[1].answer.value().remaining, 18);
  EXPECT_EQ(takes[2].answer.value().remaining, 19);
  EXPECT_EQ(takes[3].answer.error().code, ErrorCode::kNoLimit);
}

TEST_F(TakeListTest, WhatIsWrongAlreadyIsNotCarriedOut) {
  const std::vector<Asked> asked = {{.charges = {{"a", "k"}}, .id = "x"}, {.charges = {{"a", "k"}}, .id = "y"}};
  auto takes = listed(asked);
  takes[0].answer = Error{ErrorCode::kInvalid, "it is wrong"};
  store::Execution execution;
  WakingStore store(nullptr, near_, execution);
  take_all(store, takes);
  EXPECT_EQ(takes[0].answer.error().message, "it is wrong");
  EXPECT_EQ(takes[1].answer.value().remaining, 19);
}

TEST_F(TakeListTest, OneAfterTheOtherOnAMeter) {
  const std::vector<Asked> asked = {{.charges = {{"a", "k", 12}}, .id = "first"},
                                    {.charges = {{"a", "k", 12}}},
                                    {.charges = {{"a", "k", 12}}, .mode = Mode::kUpTo},
                                    {.charges = {{"b", "k"}, {"a", "k"}}},
                                    {.charges = {{"a", "k", 12}}, .id = "first"}};
  const auto takes = take(asked);
  EXPECT_EQ(takes[0].answer.value().remaining, 8);
  EXPECT_FALSE(takes[1].answer.value().is_allowed);
  EXPECT_EQ(takes[2].answer.value().taken, 8);
  EXPECT_FALSE(takes[3].answer.value().is_allowed);
  EXPECT_EQ(takes[4].answer.value().remaining, 8) << "the same answer again";
}

// Any list is answered as if each take had come after the other.
TEST_F(TakeListTest, AnyListIsAnsweredAsOneByOne) {
  std::mt19937 random(7);
  const auto any = [&](std::size_t count) { return random() % count; };
  const std::vector<std::string> keys = {"k1", "k2", "k3", "k4"};
  for (int round = 0; round < 40; ++round) {
    std::vector<Asked> asked;
    for (int i = 0; i < 30; ++i) {
      Asked one = {.charges = {{any(2) == 0 ? "a" : "b", keys[any(4)], static_cast<Amount>(any(3))}}};
      if (any(3) == 0) one.charges.push_back({one.charges[0].limit == "a" ? "b" : "a", keys[any(4)]});
      if (any(3) == 0) one.id = "id" + std::to_string(round) + "-" + std::to_string(any(8));
      if (one.charges.size() == 1 && any(4) == 0) one.mode = any(2) == 0 ? Mode::kUpTo : Mode::kPeek;
      if (one.mode == Mode::kPeek) one.id.clear();
      asked.push_back(one);
    }
    const auto together = take(asked);
    const auto singly = take_singly(asked);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      ASSERT_EQ(together[i].answer.has_value(), singly[i].has_value()) << round << " " << i;
      if (!singly[i].has_value()) {
        EXPECT_EQ(together[i].answer.error(), singly[i].error());
        continue;
      }
      EXPECT_EQ(together[i].answer->is_allowed, singly[i]->is_allowed) << round << " " << i;
      EXPECT_EQ(together[i].answer->remaining, singly[i]->remaining) << round << " " << i;
      EXPECT_EQ(together[i].answer->violated, singly[i]->violated) << round << " " << i;
      EXPECT_EQ(together[i].answer->taken, singly[i]->taken) << round << " " << i;
    }
    for (store::Store* const store : {static_cast<store::Store*>(&far_.inside), static_cast<store::Store*>(&near_)}) {
      ASSERT_TRUE(store->clear().has_value());
    }
  }
}

}  // namespace
}  // namespace mete::server
