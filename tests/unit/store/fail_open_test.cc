// A store that fails on command, behind the decorator that admits what is open meanwhile.
#include "store/fail_open.h"

#include <gtest/gtest.h>

#include <array>

#include "serving/fickle_store.h"
#include "store/embedded/embedded_store.h"

namespace mete::store {
namespace {

using namespace std::chrono_literals;
using serving::FickleStore;
using serving::Mood;

class FailOpenTest : public ::testing::Test {
 protected:
  FailOpenTest() {
    auto fickle = std::make_unique<FickleStore>(std::make_unique<EmbeddedStore>(Options{}));
    there_ = fickle.get();
    store_ = std::make_unique<FailOpen>(std::move(fickle));
    there_->mood = [this](std::string_view operation) {
      if (operation == "LIMIT") ++looks_;
      return mood_;
    };
    // Elsewhere: nobody has told the decorator.
    there_->held().define(bucket("open").amount(10).per(1h).burst(20).on_fail(OnFail::kOpen)).value();
    there_->held().define(stock("wide").amount(100).on_fail(OnFail::kOpen)).value();
    there_->held().define(stock("closed").amount(5)).value();
  }
  Result<core::Verdict> take(std::vector<Charge> charges, Mode mode = Mode::kTake) {
    return store_->take({.charges = charges, .mode = mode});
  }
  static void expect_away(const auto& answer) {
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  }

  FickleStore* there_ = nullptr;
  std::unique_ptr<FailOpen> store_;
  Mood mood_ = Mood::kWell;
  int looks_ = 0;
};

TEST_F(FailOpenTest, AnOpenLimitAdmitsWhatNobodyRecords) {
  const auto before = take({{"open", "k", 3}}).value();
  EXPECT_FALSE(before.is_unrecorded);
  EXPECT_EQ(before.remaining, 17);
  mood_ = Mood::kAway;
  const auto admitted = take({{"open", "k", 30}}).value();
  EXPECT_TRUE(admitted.is_allowed);
  EXPECT_TRUE(admitted.is_unrecorded);
  EXPECT_EQ(admitted.taken, 30);
  EXPECT_EQ(admitted.limit, 20) << "a bucket's burst";
  EXPECT_EQ(admitted.remaining, 20) << "nobody knows: as if it were fresh";
  mood_ = Mood::kWell;
  EXPECT_EQ(store_->statistics().unrecorded_admissions, 1U);
  EXPECT_EQ(store_->usage({"open", "k"}).value().used, 3);
  EXPECT_FALSE(take({{"open", "k"}}).value().is_unrecorded);
}

TEST_F(FailOpenTest, AllOfTheLimitsMustBeOpen) {
  for (const char* limit : {"open", "wide", "closed"}) ASSERT_TRUE(take({{limit, "k"}}).has_value());
  mood_ = Mood::kAway;
  std::array<Usage, 2> usages;
  const Charge open[] = {{"wide", "k", 4}, {"open", "k", 2}};
  const auto admitted = store_->take({.charges = open, .usages = usages}).value();
  EXPECT_EQ(admitted.taken, 6);
  EXPECT_EQ(admitted.limit, 20) << "the tightest";
  EXPECT_EQ(usages[0].remaining, 100);
  EXPECT_EQ(usages[1].remaining, 20);
  expect_away(take({{"open", "k"}, {"closed", "k"}}));
  expect_away(take({{"closed", "k"}}));
}

TEST_F(FailOpenTest, OfTakesThatComeTogetherEachIsAnsweredForItself) {
  const Charge charges[] = {{"open", "a"}, {"closed", "a"}, {"open", "b"}, {"nothing", "a"}};
  std::array<Result<core::Verdict>, 4> answers;
  store_->take_each(charges, answers);
  EXPECT_EQ(answers[3].error().code, ErrorCode::kNoLimit);
  mood_ = Mood::kAway;
  store_->take_each(charges, answers);
  EXPECT_TRUE(answers[0].value().is_unrecorded);
  expect_away(answers[1]);
  EXPECT_TRUE(answers[2].value().is_unrecorded);
  expect_away(answers[3]);
  mood_ = Mood::kWell;
  EXPECT_EQ(store_->statistics().unrecorded_admissions, 2U);
}

TEST_F(FailOpenTest, EverythingElseFails) {
  ASSERT_TRUE(take({{"open", "k"}}).has_value());
  mood_ = Mood::kAway;
  const Charge charge{"open", "k"};
  expect_away(take({{"open", "k"}}, Mode::kPeek));
  expect_away(store_->hold({.charges = {&charge, 1}, .ttl = 1min, .id = "h"}));
  expect_away(store_->give({&charge, 1}, {}));
  expect_away(store_->usage({"open", "k"}));
  EXPECT_TRUE(take({{"open", "k"}}, Mode::kForce).value().is_unrecorded);
  EXPECT_EQ(take({{"open", "k"}}, Mode::kUpTo).value().taken, 1);
}

TEST_F(FailOpenTest, WhatIsNotKnownIsClosed) {
  mood_ = Mood::kAway;
  expect_away(take({{"open", "k"}}));
  expect_away(take({{"open", "k"}}));
  mood_ = Mood::kWell;
  ASSERT_TRUE(take({{"open", "k"}}).has_value());
  mood_ = Mood::kAway;
  EXPECT_TRUE(take({{"open", "k"}}).has_value());
}

// Whoever defines a limit, drops it or looks for it tells what it says.
TEST_F(FailOpenTest, DefinitionsThatPassAreKnownAtOnce) {
  ASSERT_TRUE(store_->define(stock("mine").amount(7).on_fail(OnFail::kOpen)));
  ASSERT_TRUE(store_->limit("wide").value().has_value());
  mood_ = Mood::kAway;
  EXPECT_EQ(take({{"mine", "k"}}).value().limit, 7);
  EXPECT_EQ(take({{"wide", "k"}}).value().limit, 100);
  expect_away(store_->define(stock("mine").amount(9)));
  expect_away(take({{"mine", "k"}}));
  mood_ = Mood::kWell;
  ASSERT_TRUE(store_->define(stock("wide").amount(100)));
  ASSERT_TRUE(store_->define(stock("mine").amount(7).on_fail(OnFail::kOpen)));
  ASSERT_TRUE(store_->drop("mine").value());
  mood_ = Mood::kAway;
  expect_away(take({{"wide", "k"}}));
  expect_away(take({{"mine", "k"}}));
  EXPECT_EQ(looks_, 1) << "the test's own";
}

// An unknown limit is an error, and never an allowance: also once the store is away.
TEST_F(FailOpenTest, ALimitThatWasDroppedElsewhereIsForgottenWithTheFirstError) {
  ASSERT_TRUE(take({{"open", "k"}}).has_value());
  there_->held().drop("open").value();
  EXPECT_EQ(take({{"open", "k"}}).error().code, ErrorCode::kNoLimit);
  mood_ = Mood::kAway;
  expect_away(take({{"open", "k"}}));
}

TEST_F(FailOpenTest, ALimitInUseIsLookedForOnceInAWhile) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(take({{"wide", "k"}}, Mode::kPeek).has_value());
  std::array<Charge, 50> charges;
  charges.fill({"wide", "k"});
  std::array<Result<core::Verdict>, 50> answers;
  store_->take_each(charges, answers);
  EXPECT_EQ(looks_, 1);
}

// Which the store decides when it is back: nothing is remembered here.
TEST_F(FailOpenTest, AnIdIsDecidedAnewWhenTheStoreIsBack) {
  ASSERT_TRUE(take({{"open", "k", 15}}).value().is_allowed);
  const Charge charge{"open", "k", 10};
  const Take with_id{.charges = {&charge, 1}, .id = "op"};
  mood_ = Mood::kAway;
  EXPECT_FALSE(store_->recall(with_id).value().has_value());
  EXPECT_TRUE(store_->take(with_id).value().is_unrecorded);
  EXPECT_TRUE(store_->take(with_id).value().is_unrecorded);
  mood_ = Mood::kWell;
  EXPECT_FALSE(store_->take(with_id).value().is_allowed);
}

TEST_F(FailOpenTest, WhoKnowsTheLimitsIsAsked) {
  auto fickle = std::make_unique<FickleStore>(std::make_unique<EmbeddedStore>(Options{}));
  fickle->mood = [](std::string_view /*operation*/) { return Mood::kAway; };
  FailOpen store(std::move(fickle), [](std::string_view name) {
    return name == "told" ? std::optional(stock("told").amount(3).on_fail(OnFail::kOpen)) : std::nullopt;
  });
  const Charge told{"told", "k"};
  const Charge other{"other", "k"};
  EXPECT_EQ(store.take({.charges = {&told, 1}}).value().limit, 3);
  expect_away(store.take({.charges = {&other, 1}}));
  EXPECT_EQ(store.admissions(), 1U);
}

}  // namespace
}  // namespace mete::store
