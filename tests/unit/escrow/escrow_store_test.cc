// Nodes that share one store, which is a real Mete server, and decide from their shares of it.
#include "escrow/escrow_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <thread>

#include "serving/fickle_store.h"
#include "serving/mete_server.h"
#include "store/embedded/embedded_store.h"
#include "store/keys.h"
#include "store/open.h"
#include "support/waiting.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using serving::FickleStore;
using serving::Mood;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EscrowStoreTest : public ::testing::Test {
 protected:
  // A node, with a store of its own in memory.
  std::unique_ptr<EscrowStore> node(std::string name) {
    EscrowParts parts;
    parts.local = std::make_unique<store::EmbeddedStore>(Options{});
    parts.shared = store::open_closed_store(shared.url(), {}).value();
    parts.node = std::move(name);
    parts.incarnation = ++incarnation;
    return EscrowStore::open(std::move(parts)).value();
  }
  static Limit hourly(std::string_view name, Amount amount) {
    return window(name).amount(amount).per(1h).scope(Scope::kEscrow);
  }
  static Result<core::Verdict> take(store::Store& store, std::string_view limit, Amount cost = 1,
                                    Mode mode = Mode::kTake) {
    const Charge charge{limit, "k", cost};
    return store.take({.charges = {&charge, 1}, .mode = mode});
  }
  // In the shared store: used, or held for a node.
  Amount drawn(std::string_view limit) {
    const Usage usage = shared.store().usage({limit, "k"}).value();
    return usage.limit - usage.remaining;
  }
  static Amount used(store::Store& store, std::string_view limit) { return store.usage({limit, "k"}).value().used; }

  serving::MeteServer shared{std::make_unique<store::EmbeddedStore>(Options{})};
  std::uint64_t incarnation = 0;
};

TEST_F(EscrowStoreTest, ATakeIsDecidedFromATenthOfTheLimit) {
  const auto a = node("a");
  ASSERT_TRUE(a->define(hourly("api", 1000)));
  const auto first = take(*a, "api").value();
  EXPECT_TRUE(first.is_allowed);
  EXPECT_EQ(first.remaining, 999);
  EXPECT_EQ(first.limit, 1000);
  EXPECT_EQ(drawn("api"), 100);
  EXPECT_EQ(used(*a, "api"), 1) << "what was used";
  EXPECT_TRUE(take(*a, "api").value().is_allowed);
  EXPECT_EQ(a->status().shares.local_decisions, 1U) << "the first one had to wait for the draw";
  EXPECT_EQ(a->status().shares.decisions, 2U);
}

TEST_F(EscrowStoreTest, ARequestLargerThanABatchDrawsWhatItNeeds) {  // Q4
  const auto a = node("a");
  ASSERT_TRUE(a->define(hourly("api", 100)));
  EXPECT_TRUE(take(*a, "api", 50).value().is_allowed);
  EXPECT_TRUE(take(*a, "api", 50).value().is_allowed);
  const auto denied = take(*a, "api").value();
  EXPECT_FALSE(denied.is_allowed);
  EXPECT_EQ(denied.violated, 1);
  EXPECT_GT(denied.retry_after, Duration());
  EXPECT_LE(denied.retry_after, Duration(1h));
}

TEST_F(EscrowStoreTest, NodesTogetherGetExactlyTheLimit) {
  const std::array nodes = {node("a"), node("b"), node("c")};
  constexpr Amount kAmount = 3000;
  ASSERT_TRUE(nodes[0]->define(hourly("api", kAmount)));
  std::atomic<Amount> admitted{0};
  const auto take_until_denied = [&](store::Store& store) {
    while (take(store, "api").value().is_allowed) ++admitted;
  };
  std::vector<std::thread> threads;
  for (const auto& each : nodes) {
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, store = each.get()] {
        // What another node has comes back when it is idle.
        EXPECT_TRUE(support::becomes_true(20s, [&] {
          take_until_denied(*store);
          return admitted >= kAmount;
        }));
        // And whatever else would come back does so within a second: nothing may.
        (void)support::becomes_true(1s, [&] {
          take_until_denied(*store);
          return admitted > kAmount;
        });
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, kAmount);
}

TEST_F(EscrowStoreTest, ACleanStopGivesEverythingBack) {
  auto a = node("a");
  ASSERT_TRUE(a->define(hourly("api", 1000)));
  ASSERT_TRUE(a->define(stock("seats").amount(1000).scope(Scope::kEscrow)));
  ASSERT_TRUE(take(*a, "api", 3).value().is_allowed);
  ASSERT_TRUE(take(*a, "seats", 4).value().is_allowed);
  a.reset();
  EXPECT_EQ(used(shared.store(), "api"), 3);
  EXPECT_EQ(used(shared.store(), "seats"), 4);
  EXPECT_EQ(shared.store().usage({"api", "k"}).value().held, 0);
}

TEST_F(EscrowStoreTest, AnIdleShareGoesBack) {
  const auto a = node("a");
  const auto b = node("b");
  ASSERT_TRUE(a->define(hourly("api", 100)));
  ASSERT_TRUE(take(*a, "api").value().is_allowed);
  EXPECT_EQ(drawn("api"), 10);
  EXPECT_TRUE(support::becomes_true(10s, [&] { return drawn("api") == 1; }));
  EXPECT_TRUE(take(*b, "api", 99).value().is_allowed);
  EXPECT_FALSE(take(*a, "api").value().is_allowed);
}

TEST_F(EscrowStoreTest, EveryKindIsDrawnAndSpent) {
  const auto a = node("a");
  for (const Limit& limit : {bucket("bucket").amount(100).per(1h), window("window").amount(100).per(1h),
                             sliding("sliding").amount(100).per(1h), calendar("calendar").amount(100).per(Unit::kYear),
                             stock("stock").amount(100)}) {
    Limit escrow = limit;
    ASSERT_TRUE(a->define(escrow.scope(Scope::kEscrow)));
    Amount admitted = 0;
    // A bucket's share loses fractions of a unit, which come back.
    EXPECT_TRUE(support::becomes_true(5s, [&] {
      while (take(*a, limit.name()).value().is_allowed) ++admitted;
      return admitted >= 100;
    })) << limit.name();
    EXPECT_EQ(admitted, 100) << limit.name();
  }
}

TEST_F(EscrowStoreTest, DefinitionsReachOtherNodesWithinASecond) {
  const auto a = node("a");
  const auto b = node("b");
  ASSERT_TRUE(a->define(hourly("api", 10)));
  EXPECT_TRUE(take(*b, "api").value().is_allowed) << "one that is not known yet is asked for";
  ASSERT_TRUE(a->define(hourly("api", 20)));
  EXPECT_TRUE(support::becomes_true(1s, [&] { return b->limit("api").value()->amount() == 20; }));
  ASSERT_TRUE(a->drop("api").value());
  EXPECT_TRUE(support::becomes_true(1s, [&] { return !take(*b, "api").has_value(); }));
  EXPECT_EQ(take(*b, "api").error().code, ErrorCode::kNoLimit);
}

TEST_F(EscrowStoreTest, UpToTakesWhatIsLeftOfTheWhole) {
  const auto a = node("a");
  ASSERT_TRUE(a->define(hourly("api", 10)));
  ASSERT_TRUE(take(*a, "api", 3).value().is_allowed);
  EXPECT_EQ(take(*a, "api", 100, Mode::kUpTo).value().taken, 7);
  EXPECT_FALSE(take(*a, "api", 100, Mode::kUpTo).value().is_allowed);
}

TEST_F(EscrowStoreTest, APeekSeesTheWholeAndChangesNothing) {
  const auto a = node("a");
  ASSERT_TRUE(a->define(hourly("api", 100)));
  ASSERT_TRUE(take(*a, "api").value().is_allowed);
  const auto peek = take(*a, "api", 99, Mode::kPeek).value();
  EXPECT_TRUE(peek.is_allowed);
  EXPECT_EQ(peek.remaining, 0);
  EXPECT_FALSE(take(*a, "api", 100, Mode::kPeek).value().is_allowed);
  EXPECT_EQ(used(*a, "api"), 1);
}

TEST_F(EscrowStoreTest, AnIdIsGoodAtEveryNode) {
  const auto a = node("a");
  const auto b = node("b");
  ASSERT_TRUE(a->define(hourly("api", 100)));
  ASSERT_TRUE(take(*a, "api").value().is_allowed);  // has a share of 10
  const Charge charge{"api", "k", 99};
  const auto first = a->take({.charges = {&charge, 1}, .id = "op"}).value();
  EXPECT_TRUE(first.is_allowed) << "what the node had went back for it";
  EXPECT_EQ(b->take({.charges = {&charge, 1}, .id = "op"}).value(), first);
  EXPECT_EQ(used(*b, "api"), 100);
}

TEST_F(EscrowStoreTest, WhatWasTakenCanBeGivenBackAndHeld) {
  const auto a = node("a");
  ASSERT_TRUE(a->define(hourly("api", 100)));
  ASSERT_TRUE(take(*a, "api", 30).value().is_allowed);
  const Charge back{"api", "k", 10};
  EXPECT_EQ(a->give({&back, 1}, {}).value().amount, 10);
  EXPECT_EQ(used(*a, "api"), 20);
  const Charge all{"api", "k", 80};
  EXPECT_TRUE(a->hold({.charges = {&all, 1}, .ttl = 1min, .id = "h"}).value().is_allowed);
  EXPECT_FALSE(take(*a, "api").value().is_allowed);
  EXPECT_EQ(a->cancel("h").value().amount, 80);
}

TEST_F(EscrowStoreTest, SeveralChargesAreAllOrNothingWhereverTheyAreDecided) {
  const auto a = node("a");
  ASSERT_TRUE(a->define(hourly("wide", 100)));
  ASSERT_TRUE(a->define(hourly("narrow", 2)));
  ASSERT_TRUE(a->define(window("there").amount(3).per(1h).scope(Scope::kShared)));
  ASSERT_TRUE(a->define(window("here").amount(4).per(1h)));
  const auto take_all = [&](std::vector<Charge> charges, std::string_view id = {}) {
    return a->take({.charges = charges, .id = id}).value();
  };
  EXPECT_TRUE(take_all({{"wide", "k"}, {"narrow", "k", 2}}).is_allowed);
  const auto denied = take_all({{"wide", "k"}, {"narrow", "k"}, {"there", "k", 4}});
  EXPECT_FALSE(denied.is_allowed);
  EXPECT_EQ(denied.violated, 0b110);
  EXPECT_EQ(used(*a, "wide"), 1);
  EXPECT_TRUE(take_all({{"here", "k"}, {"wide", "k"}, {"there", "k"}}).is_allowed);
  EXPECT_EQ(take_all({{"here", "k", 4}, {"wide", "k"}, {"there", "k"}}).violated, 0b001);
  EXPECT_EQ(take_all({{"here", "k"}, {"wide", "k"}, {"there", "k", 3}}).violated, 0b100);
  EXPECT_TRUE(take_all({{"here", "k"}, {"wide", "k"}}, "op").is_allowed);
  EXPECT_TRUE(take_all({{"here", "k"}, {"wide", "k"}}, "op").is_allowed) << "the same again";
  EXPECT_EQ(used(*a, "here"), 2);
  EXPECT_EQ(used(*a, "wide"), 3);
  EXPECT_EQ(used(*a, "there"), 1);
}

TEST_F(EscrowStoreTest, ALoweredLimitDeniesWhatIsNotGrantedYet) {
  const auto a = node("a");
  const auto b = node("b");
  ASSERT_TRUE(a->define(hourly("api", 1000)));
  ASSERT_TRUE(take(*a, "api").value().is_allowed);
  ASSERT_TRUE(b->define(hourly("api", 50)));
  EXPECT_FALSE(take(*b, "api").value().is_allowed) << "100 are granted already";
  EXPECT_EQ(a->outstanding("api").value(), 99);
  EXPECT_EQ(b->outstanding("api").value(), 100) << "how much of it is spent, the other node knows";
}

TEST_F(EscrowStoreTest, NamesAndScopesThatCannotBeAreRefused) {
  const auto a = node("a");
  EXPECT_THAT(a->define(hourly("mete.nodes", 1)).error().message, HasSubstr("must not start with 'mete.'"));
  ASSERT_TRUE(a->define(hourly("api", 10)));
  ASSERT_TRUE(a->define(window("here").amount(1).per(1h)));
  EXPECT_THAT(a->define(hourly("here", 1)).error().message, HasSubstr("has scope node, and what is used of it cannot"));
  EXPECT_THAT(a->define(window("decade").amount(1).per(24h * 3650).scope(Scope::kEscrow)).error().message,
              HasSubstr("within 366 days"));
  EXPECT_EQ(take(*a, "nothing").error().code, ErrorCode::kNoLimit);
  EXPECT_THAT(a->limits().value(), ElementsAre("api", "here"));
}

TEST_F(EscrowStoreTest, ALimitOfAllNodesStaysOneWhenItsScopeIsNode) {
  const auto a = node("a");
  ASSERT_TRUE(a->define(hourly("api", 10)));
  ASSERT_TRUE(take(*a, "api", 3).value().is_allowed);
  const auto b = node("b");
  for (const Scope scope : {Scope::kNode, Scope::kShared, Scope::kNode, Scope::kEscrow}) {
    ASSERT_TRUE(a->define(window("api").amount(10).per(1h).scope(scope)));
    EXPECT_TRUE(support::becomes_true(10s, [&] { return b->limit("api").value()->scope() == scope; }));
    EXPECT_TRUE(take(*b, "api").value().is_allowed);
    EXPECT_TRUE(support::becomes_true(10s, [&] { return used(*a, "api") == used(*b, "api"); }));
  }
  EXPECT_EQ(used(*b, "api"), 7);
}

TEST_F(EscrowStoreTest, QuotaKeysAreLimitsOfAllNodes) {
  const auto a = node("a");
  const auto b = node("b");
  ASSERT_TRUE(a->keys().quota_set("q\n%", {.amount = 10, .window = 3600s}));
  EXPECT_EQ(a->keys().add("q\n%", 4).value(), 6);
  EXPECT_TRUE(support::becomes_true(1s, [&] { return b->keys().type("q\n%").value() == core::KeyType::kQuota; }));
  EXPECT_EQ(b->keys().quota_get("q\n%").value()->rule.amount, 10);
  EXPECT_EQ(a->keys().scan(2, 10).value().keys[0].key, "q\n%");
  EXPECT_EQ(b->keys().quota_take("q\n%", {.amount = 99, .window = 1s}, 6).value(), 0) << "its rule is the first one";
  EXPECT_EQ(b->keys().add("q\n%", 1).value(), core::kQuotaDenied);
  ASSERT_TRUE(b->keys().quota_remove("q\n%").value());
  EXPECT_TRUE(
      support::becomes_true(1s, [&] { return a->keys().type("q\n%").value() == core::KeyType::kNone; }));  // Q13
  EXPECT_THAT(a->keys().quota_set(std::string(200, 'q'), {.amount = 1, .window = 1s}).error().message,
              HasSubstr("117 bytes"));
}

// A shared store that fails on command.
class EscrowFailuresTest : public ::testing::Test {
 protected:
  EscrowFailuresTest() {
    auto shared = std::make_unique<FickleStore>(std::make_unique<store::EmbeddedStore>(Options{.clock = &clock_}));
    shared_ = shared.get();
    EscrowParts parts;
    parts.local = std::make_unique<store::EmbeddedStore>(Options{.clock = &clock_});
    parts.shared = std::move(shared);
    parts.node = "a";
    parts.incarnation = 1;
    parts.has_threads = false;
    node_ = EscrowStore::open(std::move(parts)).value();
    node_->define(stock("here").amount(5)).value();
    node_->define(stock("there").amount(100).scope(Scope::kShared)).value();
    node_->define(hourly("drawn")).value();
  }
  ~EscrowFailuresTest() override { shared_->mood = nullptr; }
  static Limit hourly(std::string_view name) { return window(name).amount(100).per(1h).scope(Scope::kEscrow); }
  Amount used(std::string_view limit) { return node_->usage({limit, "k"}).value().used; }
  // The next operation of that name at the shared store fails.
  void fail_once(std::string_view name, Mood how) {
    has_failed_ = false;
    shared_->mood = [this, name, how](std::string_view operation) {
      if (operation != name || has_failed_) return Mood::kWell;
      has_failed_ = true;
      return how;
    };
  }

  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  FickleStore* shared_ = nullptr;
  std::unique_ptr<EscrowStore> node_;
  bool has_failed_ = false;
};

// A limit of this node beside another one: whoever is told UNAVAILABLE and asks again with the same id is charged.
TEST_F(EscrowFailuresTest, WhatIsAskedAgainIsChargedWhereverItIsDecided) {
  for (const char* other : {"there", "drawn"}) {
    for (const Mood how : {Mood::kAway, Mood::kMute}) {
      const Amount before = used(other);
      int admitted = 0;
      for (int i = 0; i < 12; ++i) {
        const Charge charges[] = {{"here", "k"}, {other, "k"}};
        const std::string id = other + std::to_string(static_cast<int>(how)) + std::to_string(i);
        fail_once("TAKE", how);
        auto answer = node_->take({.charges = charges, .id = id});
        if (has_failed_ && !answer.has_value()) {
          EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
        }
        shared_->mood = nullptr;
        answer = node_->take({.charges = charges, .id = id});
        ASSERT_TRUE(answer.has_value()) << answer.error().message;
        admitted += answer->is_allowed ? 1 : 0;
      }
      EXPECT_EQ(admitted, 5) << other;
      EXPECT_EQ(used("here"), 5) << other;
      EXPECT_EQ(used(other) - before, 5) << other;
      const Charge back{"here", "k", 5};
      node_->give({&back, 1}, {}).value();
    }
  }
}

// A denial that nobody heard of, asked for again, leaves nothing set aside.
TEST_F(EscrowFailuresTest, ADenialThatIsToldLateHoldsNothing) {
  const Charge charges[] = {{"here", "k", 2}, {"there", "k", 100}};
  const Charge first{"there", "k", 1};
  ASSERT_TRUE(node_->take({.charges = {&first, 1}}).value().is_allowed);
  fail_once("TAKE", Mood::kMute);
  EXPECT_EQ(node_->take({.charges = charges, .id = "op"}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(node_->usage({"here", "k"}).value().held, 2) << "as long as nobody knows";
  EXPECT_FALSE(node_->take({.charges = charges, .id = "op"}).value().is_allowed);
  EXPECT_EQ(node_->usage({"here", "k"}).value().held, 0);
}

TEST_F(EscrowFailuresTest, AChargeOfNothingBesideOthersIsOnlyLookedAt) {
  const Charge charges[] = {{"here", "k", 0}, {"there", "k", 1}};
  const auto answer = node_->take({.charges = charges});
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->remaining, 5) << "the tightest";
  EXPECT_EQ(used("there"), 1);
}

TEST_F(EscrowFailuresTest, GivenBackWhereverItWasTaken) {
  const Charge charges[] = {{"here", "k", 2}, {"there", "k", 3}};
  ASSERT_TRUE(node_->take({.charges = charges}).value().is_allowed);
  fail_once("GIVE", Mood::kMute);
  EXPECT_FALSE(node_->give(charges, "back").has_value());
  EXPECT_EQ(node_->give(charges, "back").value().amount, 5);
  EXPECT_EQ(used("here") + used("there"), 0);
}

TEST_F(EscrowFailuresTest, AnOpenLimitAdmitsWhileTheSharedStoreIsAway) {
  node_->define(stock("open").amount(50).scope(Scope::kShared).on_fail(OnFail::kOpen)).value();
  node_->define(stock("share").amount(50).scope(Scope::kEscrow).on_fail(OnFail::kOpen)).value();
  shared_->mood = [](std::string_view /*operation*/) { return Mood::kAway; };
  for (const char* limit : {"open", "share"}) {
    const Charge alone{limit, "k"};
    const auto admitted = node_->take({.charges = {&alone, 1}});
    ASSERT_TRUE(admitted.has_value()) << admitted.error().message;
    EXPECT_TRUE(admitted->is_unrecorded);
    EXPECT_EQ(admitted->limit, 50);
    const Charge beside[] = {{limit, "k"}, {"here", "k"}};
    const auto both = node_->take({.charges = beside});
    ASSERT_TRUE(both.has_value()) << both.error().message;
    EXPECT_TRUE(both->is_unrecorded);
    EXPECT_TRUE(node_->take({.charges = beside, .id = limit}).value().is_unrecorded);
  }
  const Charge closed[] = {{"open", "k"}, {"there", "k"}};
  EXPECT_EQ(node_->take({.charges = closed}).error().code, ErrorCode::kUnavailable);
  shared_->mood = nullptr;
  EXPECT_EQ(used("here"), 4) << "what is decided here is charged here";
  EXPECT_EQ(used("open") + used("share"), 0) << "no share was drawn from what nobody recorded";
  EXPECT_EQ(node_->statistics().unrecorded_admissions, 6U);
}

}  // namespace
}  // namespace mete::escrow
