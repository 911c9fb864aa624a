// A store that fails on command, behind the decorator that admits what is open meanwhile.
#include "store/fail_open.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "serving/fickle_store.h"
#include "store/embedded/embedded_store.h"
#include "unit/store/watched_fixture.h"

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

class FailLocalTest : public FailOpenTest {
 protected:
  FailLocalTest() {
    there_->held().define(window("mine").amount(100).per(1h).on_fail(OnFail::kLocal)).value();
    there_->held().define(window("small").amount(9).per(1h).on_fail(OnFail::kLocal)).value();
    for (const char* limit : {"mine", "small", "open", "closed"}) EXPECT_TRUE(take({{limit, "k"}})->is_allowed);
  }
  Amount used_there(std::string_view limit, std::string_view key) {
    return there_->held().usage({limit, key}).value().used;
  }
};

TEST_F(FailLocalTest, AShareOfTheLimitDecides) {
  mood_ = Mood::kAway;
  for (int i = 0; i < 10; ++i) {
    const auto admitted = take({{"mine", "k"}}).value();
    EXPECT_TRUE(admitted.is_allowed);
    EXPECT_TRUE(admitted.is_unrecorded);
    EXPECT_EQ(admitted.limit, 10) << "a tenth";
    EXPECT_EQ(admitted.remaining, 9 - i);
  }
  const auto denied = take({{"mine", "k"}}).value();
  EXPECT_FALSE(denied.is_allowed);
  EXPECT_FALSE(denied.is_unrecorded);
  EXPECT_TRUE(denied.is_violated_by(0));
  EXPECT_TRUE(take({{"mine", "other"}})->is_allowed);
  expect_away(take({{"small", "k"}}));  // a tenth of it is less than one
  mood_ = Mood::kWell;
  const StoreStatistics statistics = store_->statistics();
  EXPECT_EQ(statistics.unrecorded_admissions, 11U);
  EXPECT_EQ(statistics.local_admissions, 11U);
  EXPECT_EQ(statistics.local_denials, 1U);
}

TEST_F(FailLocalTest, TheStoreIsToldOnceItIsBack) {
  mood_ = Mood::kAway;
  ASSERT_TRUE(take({{"mine", "k", 4}})->is_allowed);
  ASSERT_TRUE(take({{"mine", "k", 3}})->is_allowed);
  ASSERT_TRUE(take({{"mine", "other", 2}})->is_allowed);
  EXPECT_FALSE(store_->settle());
  EXPECT_EQ(used_there("mine", "k"), 1);
  mood_ = Mood::kMute;  // it happens, and nobody hears of it
  EXPECT_FALSE(store_->settle());
  mood_ = Mood::kWell;
  ASSERT_TRUE(store_->settle());
  EXPECT_EQ(used_there("mine", "k"), 8) << "once";
  EXPECT_EQ(used_there("mine", "other"), 2);
  EXPECT_EQ(store_->statistics().unsettled_meters, 0U);
  ASSERT_TRUE(store_->settle());
  EXPECT_EQ(used_there("mine", "k"), 8);

  mood_ = Mood::kAway;
  EXPECT_EQ(take({{"mine", "k"}})->remaining, 2) << "told is not given back";
}

TEST_F(FailLocalTest, ManyShortOutagesAdmitOneShareTogether) {
  int admitted = 0;
  for (int outage = 0; outage < 6; ++outage) {
    mood_ = Mood::kAway;
    for (int i = 0; i < 14; ++i) admitted += take({{"mine", "other"}})->is_allowed ? 1 : 0;
    mood_ = Mood::kWell;
    ASSERT_TRUE(store_->settle());
    EXPECT_EQ(used_there("mine", "other"), 10);
  }
  EXPECT_EQ(admitted, 10);
}

// A store that answers some: takes of this thread time out, and settling works meanwhile.
TEST_F(FailLocalTest, NothingIsLostThatIsTakenWhileTheStoreIsTold) {
  constexpr int kTakes = 20'000;
  there_->held().define(window("plenty").amount(1'000'000).per(1h).on_fail(OnFail::kLocal)).value();
  ASSERT_TRUE(take({{"plenty", "k"}}).has_value());
  there_->mood = [taker = std::this_thread::get_id()](std::string_view) {
    return std::this_thread::get_id() == taker ? Mood::kAway : Mood::kWell;
  };
  std::atomic<bool> is_over{false};
  std::thread settler([&] {
    while (!is_over) ASSERT_TRUE(store_->settle());
    ASSERT_TRUE(store_->settle());
  });
  // Several takes of each key in a row: what is lost of one is not told by a later one.
  const auto key_of = [](int i) { return "user:" + std::to_string(i / 4); };
  for (int i = 0; i < kTakes; ++i) ASSERT_TRUE(take({{"plenty", key_of(i)}})->is_allowed);
  is_over = true;
  settler.join();
  Amount told = 0;
  for (int i = 0; i < kTakes; i += 4) told += used_there("plenty", key_of(i));
  EXPECT_EQ(told, kTakes);
}

// As PastTheLimit: what was admitted happened, whether or not the store had anything left.
TEST_F(FailLocalTest, WhatIsToldMayPassTheLimit) {
  ASSERT_TRUE(take({{"mine", "full", 95}})->is_allowed);
  mood_ = Mood::kAway;
  ASSERT_TRUE(take({{"mine", "full", 10}})->is_allowed);
  mood_ = Mood::kWell;
  ASSERT_TRUE(store_->settle());
  EXPECT_EQ(used_there("mine", "full"), 105);
}

TEST_F(FailLocalTest, ManyMetersAreToldTogether) {
  constexpr int kMeters = 500;
  mood_ = Mood::kAway;
  for (int i = 0; i < kMeters; ++i) ASSERT_TRUE(take({{"mine", "user:" + std::to_string(i), i % 10 + 1}})->is_allowed);
  mood_ = Mood::kWell;
  ASSERT_TRUE(store_->settle());
  for (int i = 0; i < kMeters; ++i) EXPECT_EQ(used_there("mine", "user:" + std::to_string(i)), i % 10 + 1);
  EXPECT_EQ(store_->statistics().unsettled_meters, 0U);
}

TEST_F(FailLocalTest, WhatTheStoreRefusesIsCountedAndSaidOnce) {
  LogText text;
  auto fickle = std::make_unique<FickleStore>(std::make_unique<EmbeddedStore>(Options{}));
  Store& there = fickle->held();
  bool is_away = false;
  fickle->mood = [&](std::string_view) { return is_away ? Mood::kAway : Mood::kWell; };
  there.define(window("mine").amount(100).per(1h).on_fail(OnFail::kLocal)).value();
  FailOpen store(std::move(fickle), {.log = &text.log()});
  const Charge known{"mine", "k", 1};
  ASSERT_TRUE(store.take({.charges = {&known, 1}}).has_value());
  is_away = true;
  const Charge charges[] = {{"mine", "a", 4}, {"mine", "b", 2}};
  for (const Charge& charge : charges) ASSERT_TRUE(store.take({.charges = {&charge, 1}})->is_allowed);
  is_away = false;
  there.drop("mine").value();
  ASSERT_TRUE(store.settle());
  EXPECT_EQ(store.statistics().local_lost, 6U);
  EXPECT_EQ(store.statistics().unsettled_meters, 0U);
  const std::string logged = text.read();
  EXPECT_NE(logged.find("it is not charged  limit=mine  key=a"), std::string::npos) << logged;
  EXPECT_EQ(logged.find("key=b"), std::string::npos) << logged;
}

TEST_F(FailLocalTest, AmongSeveralChargesTheLocalOnesDecide) {
  mood_ = Mood::kAway;
  EXPECT_TRUE(take({{"open", "k", 20}, {"mine", "k", 10}})->is_unrecorded);
  const auto denied = take({{"open", "k"}, {"mine", "k"}}).value();
  EXPECT_FALSE(denied.is_allowed);
  EXPECT_FALSE(denied.is_violated_by(0));
  EXPECT_TRUE(denied.is_violated_by(1));
  expect_away(take({{"mine", "other"}, {"closed", "k"}}));
  expect_away(take({{"mine", "k"}}, Mode::kPeek));
}

// Where a part of the store is away, such as one meter that somebody has locked, the limit can be looked for then.
TEST_F(FailOpenTest, WhatTheStoreStillTellsIsKnown) {
  there_->mood = [](std::string_view operation) { return operation == "LIMIT" ? Mood::kWell : Mood::kAway; };
  EXPECT_TRUE(take({{"open", "k"}}).value().is_unrecorded);
  expect_away(take({{"closed", "k"}}));
  expect_away(take({{"nothing", "k"}}));
}

// Whoever defines a limit, drops it or looks for it tells what it says.
TEST_F(FailOpenTest, DefinitionsThatPassAreKnownAtOnce) {
  ASSERT_TRUE(store_->define(stock("mine").amount(7).on_fail(OnFail::kOpen)));
  ASSERT_TRUE(store_->limit("wide").value().has_value());
  mood_ = Mood::kAway;
  EXPECT_EQ(take({{"mine", "k"}}).value().limit, 7);
  EXPECT_EQ(take({{"wide", "k"}}).value().limit, 100);
  EXPECT_EQ(looks_, 1) << "the test's own";
  expect_away(store_->define(stock("mine").amount(9)));
  expect_away(take({{"mine", "k"}}));
  mood_ = Mood::kWell;
  ASSERT_TRUE(store_->define(stock("wide").amount(100)));
  ASSERT_TRUE(store_->define(stock("mine").amount(7).on_fail(OnFail::kOpen)));
  ASSERT_TRUE(store_->drop("mine").value());
  mood_ = Mood::kAway;
  expect_away(take({{"wide", "k"}}));
  expect_away(take({{"mine", "k"}}));
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
// What headers tell of a limit behind a take costs no look of its own.
TEST_F(FailOpenTest, WhatWasLookedForIsTold) {
  EXPECT_EQ(store_->known_limit("closed"), std::nullopt);
  take({{"closed", "k"}}).value();
  const int looks = looks_;
  ASSERT_TRUE(store_->known_limit("closed").has_value());
  EXPECT_EQ(store_->known_limit("closed")->amount(), 5);
  EXPECT_EQ(looks_, looks);
  mood_ = Mood::kAway;
  expect_away(take({{"closed", "k"}}));
  mood_ = Mood::kWell;
  store_->drop("closed").value();
  EXPECT_EQ(store_->known_limit("closed"), std::nullopt);
}

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
  FailOpen store(std::move(fickle), {.find = [](std::string_view name) {
                   return name == "told" ? std::optional(stock("told").amount(3).on_fail(OnFail::kOpen)) : std::nullopt;
                 }});
  const Charge told{"told", "k"};
  const Charge other{"other", "k"};
  EXPECT_EQ(store.take({.charges = {&told, 1}}).value().limit, 3);
  expect_away(store.take({.charges = {&other, 1}}));
  EXPECT_EQ(store.admissions(), 1U);
}

}  // namespace
}  // namespace mete::store
