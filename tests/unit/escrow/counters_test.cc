// The table of counters: what store::Keys says of counters, and what goes from one table to another.
#include "escrow/counters/counters.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "unit/escrow/counters_fixture.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using core::Expiry;
using core::ExpiryCondition;
using core::KeyType;
using core::SetCondition;

constexpr std::size_t kPlenty = 1 << 20;

std::vector<CounterState> states_of(const Counters::Changes& changes) {
  std::vector<CounterState> all;
  for (const std::string& piece : changes.states) {
    const auto states = decode_states(piece).value();
    all.insert(all.end(), states.begin(), states.end());
  }
  return all;
}

// Brings everything that `from` has to `to`, and tells how many states that were. The clock of `from` is late by
// `late`.
std::size_t bring(Counters& from, Counters& to, Instant now = kNow, Counters::Cursor cursor = {}, Duration late = {}) {
  const Instant sent_at = now + Duration::from_ns(-late.ns());
  const auto changes = from.changes_since(cursor, {source_of(to.self()), sent_at}, kPlenty);
  const auto states = states_of(changes);
  for (const CounterState& state : states) to.merge(state, source_of(from.self()), now);
  return states.size();
}

struct CountersTest : ::testing::Test {
  Counters a{{"a", 1}};
  Counters b{{"b", 1}};
};

TEST_F(CountersTest, AddsSetsAndRemoves) {
  EXPECT_EQ(a.get("k", kNow), std::nullopt);
  EXPECT_EQ(a.add("k", 0, kNow).value(), 0);
  EXPECT_EQ(a.type("k", kNow), KeyType::kCounter);
  EXPECT_EQ(a.add("k", -7, kNow).value(), -7);
  EXPECT_EQ(a.set({.key = "k", .value = 5}, kNow).value(), (core::SetAnswer{.is_set = true, .old = -7}));
  EXPECT_EQ(a.add("k", 1, kNow).value(), 6);
  EXPECT_EQ(a.size(), 1U);
  EXPECT_EQ(a.take_out("k", kNow), 6);
  EXPECT_EQ(a.take_out("k", kNow), std::nullopt);
  EXPECT_FALSE(a.remove("k", kNow));
  EXPECT_EQ(a.size(), 0U);
  EXPECT_EQ(a.type("k", kNow), KeyType::kNone);
  EXPECT_EQ(a.add("k", 1, kNow).value(), 1) << "it starts at 0 again";
}

TEST_F(CountersTest, SetsOnCondition) {
  EXPECT_FALSE(a.set({.key = "k", .value = 1, .condition = SetCondition::kIfPresent}, kNow)->is_set);
  EXPECT_TRUE(a.set({.key = "k", .value = 2, .condition = SetCondition::kIfAbsent}, kNow)->is_set);
  EXPECT_EQ(a.set({.key = "k", .value = 3, .condition = SetCondition::kIfAbsent}, kNow).value(),
            (core::SetAnswer{.old = 2}));
  EXPECT_EQ(a.get("k", kNow), 2);
}

TEST_F(CountersTest, RefusesSumsPast64Bits) {
  using Limits = std::numeric_limits<std::int64_t>;
  ASSERT_EQ(a.add("k", Limits::max(), kNow).value(), Limits::max());
  const auto sum = a.add("k", 1, kNow);
  ASSERT_FALSE(sum.has_value());
  EXPECT_EQ(sum.error().message, "increment or decrement would overflow");
  EXPECT_EQ(a.get("k", kNow), Limits::max());
  // Up and down again, for longer than a slot of 64 bits would last.
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(a.add("k", -Limits::max(), kNow).value(), 0);
    ASSERT_EQ(a.add("k", Limits::max(), kNow).value(), Limits::max());
  }
  ASSERT_EQ(b.add("k", 10, kNow).value(), 10);
  bring(b, a);
  EXPECT_EQ(a.get("k", kNow), Limits::max());
  EXPECT_FALSE(a.add("k", 1, kNow).has_value());
  EXPECT_EQ(a.add("k", -1, kNow).value(), Limits::max()) << "there is a way back";
  EXPECT_EQ(a.add("k", -10, kNow).value(), Limits::max() - 1);
}

TEST_F(CountersTest, AddsWithinBounds) {
  const auto add = [&](const core::AddBounded& request) { return a.add_bounded(request, kNow).value(); };
  EXPECT_EQ(add({.key = "k", .by = 5, .upper = 4}), (core::BoundedSum{0, 0}));
  EXPECT_EQ(a.type("k", kNow), KeyType::kNone) << "nothing was made";
  EXPECT_EQ(add({.key = "k", .by = 5, .upper = 4, .saturate = true}), (core::BoundedSum{4, 4}));
  EXPECT_EQ(add({.key = "k", .by = -9, .lower = 1, .saturate = true}), (core::BoundedSum{1, -3}));
  EXPECT_EQ(add({.key = "k", .by = 1, .expiry = Expiry::in(9s)}), (core::BoundedSum{2, 1}));
  EXPECT_EQ(add({.key = "k", .by = 1, .expiry = Expiry::in(99s), .expiry_only_if_none = true}),
            (core::BoundedSum{3, 1}));
  EXPECT_EQ(a.expires_at("k", kNow), kNow + 9s);
  EXPECT_EQ(add({.key = "k", .by = 1, .expiry = Expiry::at(kNow)}), (core::BoundedSum{4, 1}));
  EXPECT_EQ(a.type("k", kNow), KeyType::kNone) << "its time is over";
}

TEST_F(CountersTest, ExpiresAtTheNanosecond) {
  EXPECT_TRUE(a.set({.key = "k", .value = 5, .expiry = Expiry::in(10ns)}, kNow).has_value());
  EXPECT_EQ(a.expires_at("k", kNow), kNow + 10ns);
  EXPECT_EQ(a.get("k", kNow + 9ns), 5);
  EXPECT_EQ(a.get("k", kNow + 10ns), std::nullopt);
  EXPECT_EQ(a.expires_at("k", kNow + 10ns), std::nullopt);
  EXPECT_EQ(a.add("k", 1, kNow + 10ns).value(), 1);
  EXPECT_EQ(a.expires_at("k", kNow + 10ns), Instant::max());
}

TEST_F(CountersTest, ExpiresOnConditionAndPersists) {
  EXPECT_FALSE(a.expire("k", Expiry::in(1s), ExpiryCondition::kAlways, kNow));
  EXPECT_EQ(a.add("k", 1, kNow).value(), 1);
  EXPECT_FALSE(a.expire("k", Expiry::in(1s), ExpiryCondition::kIfAny, kNow));
  EXPECT_TRUE(a.expire("k", Expiry::in(2s), ExpiryCondition::kIfNone, kNow));
  EXPECT_FALSE(a.expire("k", Expiry::in(1s), ExpiryCondition::kIfLater, kNow));
  EXPECT_EQ(a.add("k", 1, kNow).value(), 2);
  EXPECT_EQ(a.expires_at("k", kNow), kNow + 2s) << "adding keeps it";
  EXPECT_TRUE(a.persist("k", kNow));
  EXPECT_FALSE(a.persist("k", kNow));
  EXPECT_EQ(a.get("k", kNow + 1h), 2);
  EXPECT_TRUE(a.expire("k", Expiry::in(0s), ExpiryCondition::kAlways, kNow));
  EXPECT_EQ(a.get("k", kNow), std::nullopt);
}

TEST_F(CountersTest, ListsEachKeyOnceWhileOthersComeAndGo) {
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(a.add("stays" + std::to_string(i), 1, kNow).has_value());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(a.add("goes" + std::to_string(i), 1, kNow).has_value());
  std::multiset<std::string> listed;
  std::uint64_t cursor = 0;
  int page_number = 0;
  do {
    const core::KeyPage page = a.scan(cursor, 7, kNow);
    for (const core::ListedKey& key : page.keys) listed.insert(key.key);
    cursor = page.cursor;
    a.remove("goes" + std::to_string(page_number++), kNow);
    a.sweep(kNow + 2h);
    ASSERT_TRUE(a.add("new" + std::to_string(page_number), 1, kNow).has_value());
    ASSERT_LT(page_number, 1000);
  } while (cursor != 0);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(listed.count("stays" + std::to_string(i)), 1U) << i;
}

TEST_F(CountersTest, NodesAddUpAndDeletionsReachThem) {
  EXPECT_EQ(a.add("k", 5, kNow).value(), 5);
  EXPECT_EQ(b.add("k", 3, kNow).value(), 3);
  bring(a, b);
  bring(b, a);
  EXPECT_EQ(a.get("k", kNow), 8);
  EXPECT_EQ(b.get("k", kNow), 8);
  EXPECT_TRUE(a.remove("k", kNow));
  bring(b, a);
  EXPECT_EQ(a.get("k", kNow), std::nullopt) << "an older state does not bring it back";
  bring(a, b);
  EXPECT_EQ(b.get("k", kNow), std::nullopt);
  EXPECT_EQ(b.add("k", 1, kNow).value(), 1);
  bring(b, a);
  EXPECT_EQ(a.get("k", kNow), 1);
}

TEST_F(CountersTest, ANodeThatForgotGoesOnInASlotOfItsOwn) {
  EXPECT_EQ(a.add("k", 5, kNow).value(), 5);
  bring(a, b);
  Counters again({"a", 2});
  EXPECT_EQ(again.add("k", 1, kNow).value(), 1);
  bring(again, b);
  EXPECT_EQ(b.get("k", kNow), 6);
  bring(b, again);
  EXPECT_EQ(again.get("k", kNow), 6);
}

TEST_F(CountersTest, WhatWaitsForAPeerIsAsManyStatesAsThereAreCounters) {
  Counters::Cursor cursor;
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(a.add("k" + std::to_string(i % 10), 1, kNow).has_value());
    // Somebody else reads all the time, so that the counters move in the order of changes.
    if (i % 100 == 0) cursor = a.changes_since(cursor, {kNobody, kNow}, kPlenty).cursor;
  }
  EXPECT_EQ(a.count_changes({}, source_of(b.self())), 10U);
  EXPECT_EQ(bring(a, b), 10U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(b.get("k" + std::to_string(i), kNow), 10'000);
}

TEST_F(CountersTest, ChangesComeInPiecesAndOnlyOnce) {
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(a.add("k" + std::to_string(i), 1, kNow).has_value());
  Counters::Cursor cursor;
  std::set<std::string> keys;
  for (;;) {
    const auto changes = a.changes_since(cursor, {kNobody, kNow}, 500);
    cursor = changes.cursor;
    if (changes.states.empty()) break;
    ASSERT_EQ(changes.states.size(), 1U);
    EXPECT_LT(changes.states[0].size(), 600U);
    const auto states = states_of(changes);
    for (const CounterState& state : states) EXPECT_TRUE(keys.insert(state.key).second);
  }
  EXPECT_EQ(keys.size(), 1000U);
  ASSERT_TRUE(a.add("k7", 1, kNow).has_value());
  const auto changes = a.changes_since(cursor, {kNobody, kNow}, 500);
  const auto states = states_of(changes);
  ASSERT_EQ(states.size(), 1U);
  EXPECT_EQ(states[0].key, "k7");
}

TEST_F(CountersTest, WhatCameFromAPeerIsNotSentBackButPassedOn) {
  EXPECT_EQ(a.add("k", 5, kNow).value(), 5);
  bring(a, b);
  EXPECT_EQ(b.count_changes({}, source_of(a.self())), 0U);
  Counters c({"c", 1});
  EXPECT_EQ(bring(b, c), 1U);
  EXPECT_EQ(c.get("k", kNow), 5);
  EXPECT_EQ(b.count_changes({}, source_of({"a", 2})), 1U) << "a node that started anew has forgotten it";
  ASSERT_TRUE(b.add("k", 1, kNow).has_value());
  EXPECT_EQ(b.count_changes({}, source_of(a.self())), 1U);
}

TEST_F(CountersTest, WhoSendsAnOldStateIsToldTheNewOne) {
  EXPECT_EQ(a.add("k", 5, kNow).value(), 5);
  bring(a, b);
  EXPECT_TRUE(b.remove("k", kNow));
  auto seen = b.changes_since({}, {kNobody, kNow}, kPlenty).cursor;
  bring(a, b);
  EXPECT_EQ(bring(b, a, kNow, seen), 1U);
  EXPECT_EQ(a.get("k", kNow), std::nullopt);
  // And there it ends.
  seen = a.changes_since({}, {source_of(b.self()), kNow}, kPlenty).cursor;
  bring(b, a);
  EXPECT_EQ(bring(a, b, kNow, seen), 0U);
}

TEST_F(CountersTest, DeletedAndExpiredCountersAreForgottenInTime) {
  EXPECT_EQ(a.add("deleted", 5, kNow).value(), 5);
  EXPECT_TRUE(a.remove("deleted", kNow));
  EXPECT_TRUE(a.set({.key = "expired", .value = 1, .expiry = Expiry::in(1s)}, kNow).has_value());
  a.sweep(kNow + 30s);
  EXPECT_EQ(a.count_changes({}, kNobody), 2U);
  a.sweep(kNow + 61s);
  EXPECT_EQ(a.count_changes({}, kNobody), 1U);
  a.sweep(kNow + Duration(1h) + Duration::from_ns(-1));
  EXPECT_EQ(a.count_changes({}, kNobody), 1U);
  a.sweep(kNow + 1h);
  EXPECT_EQ(a.count_changes({}, kNobody), 0U);
  EXPECT_EQ(a.size(), 0U);
}

TEST_F(CountersTest, WhatIsForgottenEverywhereIsNotLearnedAgain) {
  EXPECT_EQ(a.add("k", 5, kNow).value(), 5);
  EXPECT_TRUE(a.remove("k", kNow));
  EXPECT_EQ(bring(a, b, kNow + 61min), 0U);
  EXPECT_EQ(bring(a, b, kNow + 61min, {}, 2min), 1U) << "the clock of a is late: it remembers";
  EXPECT_EQ(b.count_changes({}, kNobody), 0U);
}

TEST_F(CountersTest, AnOldEndIsNotTheEndOfANewCounter) {
  EXPECT_TRUE(a.set({.key = "k", .value = 1, .expiry = Expiry::in(1s)}, kNow).has_value());
  EXPECT_EQ(b.add("k", 7, kNow + 3min).value(), 7);
  EXPECT_EQ(bring(a, b, kNow + 3min, {}, 150s), 1U);
  EXPECT_EQ(b.get("k", kNow + 3min), 7);
}

TEST_F(CountersTest, NodesWhoseClocksDifferAgreeOnAnEnd) {
  EXPECT_TRUE(a.set({.key = "k", .value = 1, .expiry = Expiry::in(1s)}, kNow).has_value());
  bring(a, b);
  // By the clock of b, a minute has passed and the counter is forgotten; by that of a it has not.
  EXPECT_EQ(b.add("k", 7, kNow + 62s).value(), 7);
  bring(b, a, kNow + 60s);
  bring(a, b, kNow + 62s, {}, 2s);
  EXPECT_EQ(a.get("k", kNow + 60s), std::nullopt);
  EXPECT_EQ(b.get("k", kNow + 62s), std::nullopt);
}

TEST_F(CountersTest, ThreadsAddAndMergeAtOnce) {
  constexpr int kAdds = 5000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kAdds; ++i) ASSERT_TRUE(a.add("k" + std::to_string(i % 5), 1, kNow).has_value());
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 200; ++i) {
      bring(a, b);
      ASSERT_TRUE(b.add("k0", 1, kNow).has_value());
      bring(b, a);
      a.sweep(kNow);
    }
  });
  for (std::thread& thread : threads) thread.join();
  bring(a, b);
  bring(b, a);
  EXPECT_EQ(a.get("k0", kNow), 3 * kAdds / 5 + 200);
  EXPECT_EQ(b.get("k4", kNow), 3 * kAdds / 5);
}

TEST(CountersCeiling, NoMoreAreMadeAndWhatIsThereGoesOn) {
  Counters full({"a", 1}, 2);
  EXPECT_EQ(full.add("one", 1, kNow).value(), 1);
  EXPECT_TRUE(full.set({.key = "two", .value = 2}, kNow).has_value());
  const auto refused = full.add("three", 1, kNow);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(refused.error().message,
            "there are 2 counters already, which is the most that a node of a cluster keeps: delete some, or let them "
            "expire");
  EXPECT_EQ(full.set({.key = "three", .value = 1}, kNow).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(full.add_bounded({.key = "three", .by = 1}, kNow).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(full.add("one", 1, kNow).value(), 2);

  Counters other({"b", 1});
  EXPECT_TRUE(other.add("three", 5, kNow).has_value());
  bring(other, full);
  EXPECT_EQ(full.get("three", kNow), 5) << "what another node has made is taken in";

  // But not without end.
  EXPECT_TRUE(other.add("four", 5, kNow).has_value());
  bring(other, full);
  EXPECT_EQ(full.refused(), 0U);
  EXPECT_TRUE(other.add("five", 5, kNow).has_value());
  EXPECT_TRUE(other.add("three", 5, kNow).has_value());
  bring(other, full);
  EXPECT_EQ(full.get("five", kNow), std::nullopt);
  EXPECT_EQ(full.get("three", kNow), 10) << "what is there goes on";
  EXPECT_EQ(full.refused(), 1U);

  // One that is deleted is remembered for an hour, and takes its room as long.
  EXPECT_TRUE(full.remove("one", kNow));
  EXPECT_TRUE(full.remove("two", kNow));
  EXPECT_TRUE(full.remove("three", kNow));
  EXPECT_TRUE(full.remove("four", kNow));
  EXPECT_FALSE(full.add("six", 1, kNow).has_value());
  full.sweep(kNow + kDeletedKept + 1s);
  EXPECT_TRUE(full.add("six", 1, kNow + kDeletedKept + 1s).has_value());
}

}  // namespace
}  // namespace mete::escrow
