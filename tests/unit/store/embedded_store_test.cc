// The embedded store behind its seam: what a server needs of it beside limits and their meters.
#include "store/embedded/embedded_store.h"
#include "store/keys.h"

#include <gtest/gtest.h>

namespace mete::store {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = Instant::from_unix_seconds(1'700'000'000);

class EmbeddedStoreTest : public ::testing::Test {
 protected:
  Amount take(std::string_view limit, std::string_view key, Amount cost, std::string_view id = {}) {
    const Charge charge{limit, key, cost};
    return store.take({.charges = {&charge, 1}, .id = id}).value().taken;
  }
  void hold(std::string_view id, Amount cost, Duration ttl) {
    const Charge charge{"credits", "alice", cost};
    ASSERT_TRUE(store.hold({.charges = {&charge, 1}, .ttl = ttl, .id = id, .tag = "job"}).value().is_allowed);
  }

  ManualClock clock{kStart};
  EmbeddedStore store{{.clock = &clock}};
};

TEST_F(EmbeddedStoreTest, TellsItsTime) {
  EXPECT_EQ(store.now(), kStart);
  clock.advance(5s);
  EXPECT_EQ(store.now(), kStart + 5s);
  clock.set(kStart);
  EXPECT_EQ(store.now(), kStart + 5s) << "it never runs backwards";
}

TEST_F(EmbeddedStoreTest, RecallsTheAnswerOfAnIdAndChangesNothing) {
  store.define(stock("credits").amount(100)).value();
  const Charge charge{"credits", "alice", 60};
  const Charge other{"credits", "alice", 61};
  const auto taking = [](const Charge& one, std::string_view id) { return Take{{&one, 1}, Mode::kTake, id}; };
  EXPECT_EQ(store.recall(taking(charge, "first")).value(), std::nullopt);
  EXPECT_EQ(store.statistics().ids, 0U);
  const core::Verdict allowed = store.take(taking(charge, "first")).value();
  const core::Verdict denied = store.take(taking(charge, "second")).value();
  EXPECT_FALSE(denied.is_allowed);
  EXPECT_EQ(store.recall(taking(charge, "first")).value(), allowed);
  EXPECT_EQ(store.recall(taking(charge, "second")).value(), denied);
  EXPECT_EQ(store.recall(taking(charge, {})).value(), std::nullopt);
  EXPECT_EQ(store.recall(taking(other, "first")).error().code, ErrorCode::kMismatch);
  EXPECT_EQ(store.recall({{}, Mode::kTake, "first"}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(store.usage({"credits", "alice"}).value().used, 60);
  clock.advance(24h);
  EXPECT_EQ(store.recall(taking(charge, "first")).value(), std::nullopt);
}

TEST_F(EmbeddedStoreTest, TellsHowEachChargeStands) {
  store.define(stock("credits").amount(100)).value();
  store.define(stock("jobs").amount(5)).value();
  const Charge charges[] = {{"credits", "alice", 10}, {"jobs", "alice", 1}, {"credits", "alice", 20}};
  const auto usage = [this](std::string_view limit) { return store.usage({limit, "alice"}).value(); };
  std::array<Usage, 3> usages;
  const auto expect_told = [&] {
    EXPECT_EQ(usages, (std::array{usage("credits"), usage("jobs"), usage("credits")}));
    usages = {};
  };
  ASSERT_TRUE(store.take({.charges = charges, .usages = usages}).value().is_allowed);
  EXPECT_EQ(usages[2].used, 30);
  expect_told();
  const Hold holding{.charges = charges, .ttl = 1h, .id = "hold", .usages = usages};
  ASSERT_TRUE(store.hold(holding).value().is_allowed);
  EXPECT_EQ(usages[1].held, 1);
  expect_told();
  ASSERT_TRUE(store.hold(holding).value().is_allowed);
  EXPECT_EQ(usages[0], Usage{}) << "an answer from before";
  ASSERT_TRUE(store.take({.charges = charges, .usages = usages}).value().is_allowed);
  ASSERT_FALSE(store.take({.charges = charges, .usages = usages}).value().is_allowed);
  expect_told();
  ASSERT_FALSE(store.hold({.charges = charges, .ttl = 1h, .id = "x", .is_id_random = true, .usages = usages})
                   .value()
                   .is_allowed);
  expect_told();
  const std::span<const Charge> first(charges, 1);
  std::array<Usage, 1> alone;
  ASSERT_TRUE(store.take({.charges = first, .usages = alone}).value().is_allowed);
  EXPECT_EQ(alone[0], usage("credits"));
}

TEST_F(EmbeddedStoreTest, TellsOverrides) {
  store.define(stock("credits").amount(100)).value();
  EXPECT_EQ(store.override_of({"credits", "alice"}).value(), std::nullopt);
  store.set_override({"credits", "alice"}, 50).value();
  EXPECT_EQ(store.override_of({"credits", "alice"}).value(), 50);
  EXPECT_EQ(store.override_of({"credits", "bob"}).value(), std::nullopt);
  store.set_override({"credits", "alice"}, std::nullopt).value();
  EXPECT_EQ(store.override_of({"credits", "alice"}).value(), std::nullopt);
  EXPECT_EQ(store.override_of({"nope", "alice"}).error().code, ErrorCode::kNoLimit);
  EXPECT_EQ(store.override_of({"credits", ""}).error().code, ErrorCode::kInvalid);
}

TEST_F(EmbeddedStoreTest, ClearForgetsAllButLimitsAndOverrides) {
  store.define(stock("credits").amount(100)).value();
  store.set_override({"credits", "alice"}, 50).value();
  take("credits", "alice", 10);
  take("credits", "bob", 10, "operation");
  hold("hold", 5, 1h);
  store.keys().add("counter", 1).value();
  store.keys().quota_set("quota", {10, 60s}).value();
  ASSERT_TRUE(store.keys().throttle("throttle", {5, 1, 1s, 1}).value().is_allowed);
  StoreStatistics before = store.statistics();
  EXPECT_EQ(before.meters, 2U);
  EXPECT_EQ(before.keys, 3U);
  EXPECT_EQ(before.ids, 2U);
  EXPECT_EQ(before.open_holds, 1U);
  EXPECT_EQ(before.rules, 4U);

  store.clear().value();
  const StoreStatistics after = store.statistics();
  EXPECT_EQ(after.meters, 0U);
  EXPECT_EQ(after.keys, 0U);
  EXPECT_EQ(after.ids, 0U);
  EXPECT_EQ(after.open_holds, 0U);
  EXPECT_EQ(store.limits()->size(), 1U);
  EXPECT_EQ(after.overrides, 1U);
  EXPECT_EQ(after.rules, 2U);
  EXPECT_EQ(store.usage({"credits", "alice"}).value(), (Usage{0, 0, 50, 50, Duration::never()}));
  EXPECT_EQ(store.commit({.id = "hold"}).error().code, ErrorCode::kNoHold);
  EXPECT_TRUE(store.holds_tagged("job").value().empty());
  EXPECT_EQ(take("credits", "bob", 100, "operation"), 100) << "its id is forgotten too";
  hold("hold", 50, 1h);
}

TEST_F(EmbeddedStoreTest, TheOldestHoldsAreThoseMadeFirst) {
  store.define(stock("credits").amount(1000)).value();
  EXPECT_TRUE(store.oldest_holds(10).value().empty());
  for (int i = 0; i < 20; ++i) {
    hold("hold" + std::to_string(i), i + 1, i == 3 ? Duration(20s) : Duration(1h) + Duration::from_ns(-i));
    clock.advance(1s);
  }
  store.cancel("hold0").value();
  clock.advance(10s);  // and the hold of 20 s has expired
  const std::vector<HoldInfo> oldest = store.oldest_holds(4).value();
  ASSERT_EQ(oldest.size(), 4U);
  const int expected[] = {1, 2, 4, 5};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(oldest[i].id, "hold" + std::to_string(expected[i]));
    EXPECT_EQ(oldest[i].state, HoldState::kHeld);
    EXPECT_EQ(oldest[i].age, Duration(std::chrono::seconds(30 - expected[i])));
    EXPECT_EQ(oldest[i].tag, "job");
    EXPECT_EQ(oldest[i].charges, (std::vector<HeldCharge>{{"credits", "alice", expected[i] + 1}}));
  }
  EXPECT_EQ(oldest[0].expires_in, Duration(1h - 29s - 1ns));
  EXPECT_EQ(store.oldest_holds(100).value().size(), 18U);
  EXPECT_TRUE(store.oldest_holds(0).value().empty());
}

TEST_F(EmbeddedStoreTest, OptionsOfALimitAreKept) {
  const Limit limit =
      bucket("api").amount(10).per(10s).durable(Durable::kNever).on_fail(OnFail::kOpen).scope(Scope::kShared).shadow();
  store.define(limit).value();
  EXPECT_EQ(store.limit("api").value(), limit);
}

TEST_F(EmbeddedStoreTest, AChangeOfOptionsAloneRebasesNothing) {
  // A third of a unit is left over after the rebase to another rate, which rounds up; it must not be here.
  Limit limit = bucket("api").amount(3).per(10s);
  store.define(limit).value();
  take("api", "alice", 3);
  clock.advance(1ns);
  const Duration wait = store.usage({"api", "alice"}).value().reset_after;
  for (const Durable durable : {Durable::kAlways, Durable::kNever}) {
    store.define(limit.durable(durable).on_fail(OnFail::kOpen)).value();
    EXPECT_EQ(store.limit("api").value(), limit);
    EXPECT_EQ(store.usage({"api", "alice"}).value().reset_after, wait);
    EXPECT_EQ(store.statistics().rules, 1U);
  }
}

TEST_F(EmbeddedStoreTest, KeysGoByTheStoresClock) {
  Keys keys = store.keys();
  keys.set({.key = "c", .value = 1, .expiry = Expiry::in(10s)}).value();
  clock.advance(4s);
  EXPECT_EQ(keys.expires_at("c").value(), clock.now() + 6s);
  clock.advance(6s);
  EXPECT_EQ(keys.get("c").value(), std::nullopt);
  EXPECT_EQ(keys.size().value(), 0U);
}

}  // namespace
}  // namespace mete::store
