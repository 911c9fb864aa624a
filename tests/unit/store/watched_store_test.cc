// A store that fails and forgets on command, and what is noticed of that.
#include "store/away/watched_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "unit/store/watched_fixture.h"

namespace mete::store {
namespace {

using namespace std::chrono_literals;
using serving::FickleStore;
using serving::Mood;
using ::testing::HasSubstr;

class WatchedStoreTest : public ::testing::Test {
 protected:
  WatchedStoreTest() {
    auto fickle = std::make_unique<FickleStore>(std::make_unique<EmbeddedStore>(Options{.clock = &clock_}));
    there_ = fickle.get();
    there_->mood = [this](std::string_view operation) {
      return is_away_ || operation == failing_ ? Mood::kAway : Mood::kWell;
    };
    there_->held().define(bucket("api").amount(10).per(60s)).value();
    there_->held().define(stock("disk").amount(10)).value();
    store_ = *WatchedStore::open(std::move(fickle),
                                 {.name = "it", .log = &log_.log(), .clock = &clock_, .has_thread = false});
  }
  Result<core::Verdict> take(std::string_view limit) {
    const Charge charge{limit, "k", 1};
    return store_->take({.charges = {&charge, 1}});
  }
  void expect_refused(std::string_view limit, const std::string& words) {
    const auto answer = take(limit);
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(answer.error().message, HasSubstr(words));
  }
  std::string logged() { return log_.read(); }
  void wipe() {
    for (const std::string& name : *there_->held().limits()) there_->held().drop(name).value();
  }

  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  LogText log_;
  FickleStore* there_ = nullptr;
  bool is_away_ = false;
  std::string failing_ = "nothing";
  std::unique_ptr<WatchedStore> store_;
};

TEST_F(WatchedStoreTest, AnOutageIsOneLineAndItsEndAnother) {
  is_away_ = true;
  for (int i = 0; i < 3; ++i) expect_refused("api", "it is away");
  clock_.advance(2s);
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("the store is away  store=it  reason=\"it is away\"\n"));
  expect_refused("api", "it is away");
  clock_.advance(3s);
  store_->look();
  EXPECT_EQ(logged(), "");
  is_away_ = false;
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("the store is back  store=it  away_ms=5000  refused=4\n"));
  store_->look();
  EXPECT_EQ(logged(), "");
  EXPECT_TRUE(take("api")->is_allowed);
}

TEST_F(WatchedStoreTest, AnOutageThatNobodyMetIsNoticedToo) {
  is_away_ = true;
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("the store is away"));
  clock_.advance(1s);
  is_away_ = false;
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("away_ms=1000  refused=0"));
}

TEST_F(WatchedStoreTest, ACallThatFailsAloneIsNoOutage) {
  failing_ = "TAKE";
  expect_refused("api", "it is away");
  store_->look();
  EXPECT_EQ(logged(), "");
}

TEST_F(WatchedStoreTest, WhatALossRefusesIsNoPartOfAnOutage) {
  store_->on_loss([&] { return there_->held().define(stock("disk").amount(10)); });
  wipe();
  store_->look();
  for (int i = 0; i < 3; ++i) expect_refused("disk", "until store.when_wiped is fresh");
  clock_.advance(100s);
  logged();
  is_away_ = true;
  store_->look();
  clock_.advance(2s);
  is_away_ = false;
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("the store is back  store=it  away_ms=2000  refused=0\n"));
}

TEST_F(WatchedStoreTest, AnOutageBeginsWithTheCallThatMetIt) {
  failing_ = "TAKE";
  expect_refused("api", "it is away");
  store_->look();  // it was that call alone
  failing_ = "nothing";
  clock_.advance(100s);
  is_away_ = true;
  expect_refused("api", "it is away");
  clock_.advance(1s);
  store_->look();
  clock_.advance(2s);
  is_away_ = false;
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("away_ms=3000  refused=1\n"));
}

TEST_F(WatchedStoreTest, AfterALossTakesAreRefusedUntilFreshMetersAreAsStrict) {
  int calls = 0;
  store_->on_loss([&]() -> Result<void> {
    if (++calls == 1) return Error{ErrorCode::kInvalid, "not yet"};
    there_->held().define(bucket("api").amount(10).per(60s)).value();
    return there_->held().define(stock("disk").amount(10));
  });
  ASSERT_TRUE(take("disk")->is_allowed);
  wipe();
  clock_.advance(1s);
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("the store has lost its state  store=it  reason=\"it has forgotten everything\""));
  clock_.advance(1s);
  store_->look();
  EXPECT_EQ(calls, 2);
  clock_.advance(1s);
  store_->look();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(logged(), "") << "once is enough";

  expect_refused("api", "for another 58s");
  expect_refused("disk", "until store.when_wiped is fresh");
  const Charge charge{"api", "k", 1};
  EXPECT_EQ(store_->hold({.charges = {&charge, 1}, .ttl = 1h, .id = "job"}).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(store_->usage({"api", "k"}).has_value());
  clock_.advance(57s);
  expect_refused("api", "for another 1s");
  clock_.advance(1s);
  EXPECT_TRUE(take("api")->is_allowed);
  expect_refused("disk", "until");
  store_->set_when_wiped(WhenWiped::kFresh);
  EXPECT_TRUE(take("disk")->is_allowed);
}

TEST_F(WatchedStoreTest, WithoutAStockItOpensByItself) {
  there_->held().drop("disk").value();
  store_->on_loss([&] { return there_->held().define(bucket("api").amount(10).per(60s)); });
  wipe();
  clock_.advance(1s);
  store_->look();
  logged();
  clock_.advance(60s);
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("nothing is refused any more"));
  EXPECT_TRUE(take("api")->is_allowed);
}

TEST_F(WatchedStoreTest, AfterALossTakesMayFindFreshMeters) {
  store_->set_when_wiped(WhenWiped::kFresh);
  store_->on_loss([&] { return there_->held().define(stock("disk").amount(10)); });
  wipe();
  clock_.advance(1s);
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("takes=\"admitted from fresh meters\""));
  EXPECT_TRUE(take("disk")->is_allowed);
}

TEST_F(WatchedStoreTest, AnotherStoreInItsPlaceIsNoticed) {
  clock_.advance(20s);  // by then nobody else makes an identity at the same time
  store_->look();
  there_->held().set_override({"mete.store", "identity"}, 1).value();
  store_->look();
  EXPECT_THAT(logged(), HasSubstr("reason=\"it is another store than before\""));
  store_->look();
  EXPECT_EQ(logged(), "");
}

TEST_F(WatchedStoreTest, FlushallIsNoLoss) {
  ASSERT_TRUE(store_->clear().has_value());
  clock_.advance(20s);
  store_->look();
  EXPECT_EQ(logged(), "");
  EXPECT_EQ(*store_->limits(), (std::vector<std::string>{"api", "disk"})) << "what is kept there is nobody's limit";
}

}  // namespace
}  // namespace mete::store
