// The promise of escrow, and what has broken it before: nodes over one shared store, on clocks that the test sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "net/fiber.h"
#include "serving/mete_server.h"
#include "store/open.h"
#include "support/proxy.h"
#include "support/redis_client.h"
#include "unit/escrow/promise_fixture.h"

namespace mete::escrow {
namespace {

using ::testing::HasSubstr;

// --- What is undone --------------------------------------------------------------------------------------------------

// Two charges, the second of which is denied after the window of the first has ended.
TEST_F(EscrowPromise, WhatIsUndoneAfterItsWindowIsNobodys) {
  for (const bool has_share_then : {true, false}) {
    const auto a = node("a");
    a->define(window("api").amount(20).per(10s).scope(Scope::kEscrow)).value();
    a->define(stock("none").amount(1).scope(Scope::kShared)).value();
    ASSERT_TRUE(take(shared, "none"));
    Amount in_second_window = 0;
    bool is_next = false;
    mood = [&](std::string_view operation) {
      if (operation != "TAKE" || is_next) return Mood::kWell;
      is_next = true;
      clock.advance(10s);
      if (has_share_then) {
        for (int i = 0; i < 8; ++i) in_second_window += take(*a, "api") ? 1 : 0;
      } else {
        in_second_window += take(shared, "api", 20) ? 20 : 0;
      }
      return Mood::kWell;
    };
    const Charge charges[] = {{"api", "k", 5}, {"none", "k", 1}};
    EXPECT_FALSE(a->take({.charges = charges}).value().is_allowed);
    mood = nullptr;
    in_second_window += take_all(*a, "api");
    EXPECT_EQ(in_second_window, 20) << has_share_then;
    shared.clear().value();
  }
}

// A bucket's units that were asked for and not used flow back as the bucket refills: they must not come back twice.
TEST_F(EscrowPromise, ABucketsUnitsAreNotGivenBackASecondTime) {
  const auto a = node("a");
  a->define(bucket("drip").amount(10).per(10s).burst(10).scope(Scope::kEscrow)).value();
  a->define(stock("none").amount(1).scope(Scope::kShared)).value();
  ASSERT_TRUE(take(shared, "none"));
  Amount admitted = 0;
  int takes = 0;
  mood = [&](std::string_view operation) {
    if (operation != "TAKE" || ++takes != 2) return Mood::kWell;
    clock.advance(3s);
    admitted += take(shared, "drip", 8) ? 8 : 0;
    clock.advance(1s);
    return Mood::kWell;
  };
  const Charge charges[] = {{"drip", "k", 5}, {"none", "k", 1}};
  EXPECT_FALSE(a->take({.charges = charges}).value().is_allowed);
  mood = nullptr;
  admitted += take_all(*a, "drip");
  EXPECT_LE(admitted, 11) << "of a bucket of 10, and a second";
}

// A take has spent the last unit of a lot here, and waits for what the shared store says to its other charge. Whatever
// has shares settled meanwhile, the unit is somebody's again when that is denied.
TEST_F(EscrowPromise, WhatIsSpentByATakeThatIsDeniedElsewhereIsNotSettledMeanwhile) {
  const Charge unit{"api", "k", 1};
  std::function<void(EscrowStore & a)> meddlers[] = {
      [](EscrowStore& a) { a.tend(); },
      [](EscrowStore& a) { a.answer(0, {.limit = "api", .keys = {"k"}, .gives_back = true}).value(); },
      [&](EscrowStore& a) {
        a.tend();
        a.answer(0, {.limit = "api", .keys = {"k"}, .gives_back = true}).value();
        clock.advance(3s);
        a.tend();
      },
      [](EscrowStore& a) {
        a.reconcile({"api", "k"}, 1).value();
      },
      [&](EscrowStore& a) {
        a.take({.charges = {&unit, 1}, .mode = Mode::kForce}).value();
        a.give({&unit, 1}, {}).value();
      },
  };
  for (const Limit& kind :
       {stock("api").amount(10), window("api").amount(10).per(1h), calendar("api").amount(10).per(Unit::kMonth)}) {
    for (std::size_t i = 0; i < std::size(meddlers); ++i) {
      SCOPED_TRACE(std::string(to_string(kind.kind())) + ", " + std::to_string(i));
      const auto a = node("a");
      Limit limit = kind;
      a->define(limit.scope(Scope::kEscrow)).value();
      a->define(stock("none").amount(1).scope(Scope::kShared)).value();
      ASSERT_TRUE(take(shared, "none"));
      ASSERT_TRUE(take(*a, "api"));
      clock.advance(5s);
      a->tend();
      ASSERT_EQ(charged("api"), 1) << "what is idle has gone back";
      bool is_first = true;
      mood = [&](std::string_view operation) {
        if (operation == "TAKE" && std::exchange(is_first, false)) meddlers[i](*a);
        return Mood::kWell;
      };
      const Charge charges[] = {{"api", "k", 1}, {"none", "k", 1}};
      EXPECT_FALSE(a->take({.charges = charges}).value().is_allowed);
      mood = nullptr;
      clock.advance(5s);
      a->tend();
      EXPECT_EQ(charged("api"), 1);
      EXPECT_EQ(take_all(*a, "api"), 9);
      a->drop("api").value();
      shared.clear().value();
    }
  }
}

TEST_F(EscrowPromise, WhatIsSpentByATakeThatIsAdmittedElsewhereIsSettledThen) {
  const auto a = node("a");
  a->define(stock("api").amount(10).scope(Scope::kEscrow)).value();
  a->define(stock("plenty").amount(10).scope(Scope::kShared)).value();
  bool is_first = true;
  mood = [&](std::string_view operation) {
    if (operation == "TAKE" && std::exchange(is_first, false)) a->tend();
    return Mood::kWell;
  };
  const Charge charges[] = {{"api", "k", 1}, {"plenty", "k", 1}};
  EXPECT_TRUE(a->take({.charges = charges}).value().is_allowed);
  mood = nullptr;
  clock.advance(5s);
  a->tend();
  EXPECT_EQ(there("api").used, 1);
  EXPECT_EQ(there("api").held, 0);
}

// --- Draws -----------------------------------------------------------------------------------------------------------

// Whoever may use a limit, at the node or at the server that keeps it, neither sees the node's draws nor ends them.
TEST_F(EscrowPromise, DrawsAreNobodysButTheNodes) {
  serving::MeteServer keeper(std::make_unique<store::EmbeddedStore>(Options{}));
  EscrowParts parts;
  parts.local = std::make_unique<store::EmbeddedStore>(Options{});
  parts.shared = store::open_closed_store(keeper.url(), {}).value();
  parts.node = "a";
  parts.incarnation = 1;
  serving::MeteServer front(EscrowStore::open(std::move(parts)).value());
  support::RedisClient at_node(front.port());
  support::RedisClient at_keeper(keeper.port());
  at_node.call({"LIMIT", "SET", "api", "WINDOW", "100", "PER", "1h", "SCOPE", "escrow"});
  at_node.call({"TAKE", "api", "k"});
  const Usage usage = keeper.store().usage({"api", "k"}).value();
  ASSERT_EQ(usage.held, 10);
  const auto drawn = keeper.store().holds({"api", "k"}, 10).value();
  ASSERT_EQ(drawn.size(), 1U);
  EXPECT_THAT(drawn[0], ::testing::Not(HasSubstr("a.1.1"))) << "it can be guessed";
  for (support::RedisClient* client : {&at_node, &at_keeper}) {
    EXPECT_TRUE(client->call({"HOLDS", "api", "k"}).elements.empty());
    EXPECT_TRUE(client->call({"HOLDS", "TAG", "mete-share:a"}).elements.empty());
    EXPECT_TRUE(client->call({"HOLDS", "TAG", "mete-cluster"}).elements.empty());
    // Not even for who knows it.
    for (const char* command : {"HOLD.GET", "COMMIT", "CANCEL"}) static_cast<void>(client->call({command, drawn[0]}));
    static_cast<void>(client->call({"EXTEND", drawn[0], "TTL", "1ms"}));
    EXPECT_EQ(keeper.store().usage({"api", "k"}).value().held, 10);
  }
  // Nor what nodes keep for themselves.
  for (const char* limit : {"mete.definitions", "mete.lots"}) {
    EXPECT_THAT(at_keeper.call({"TAKE", limit, "version"}).text, HasSubstr("NOLIMIT")) << limit;
    EXPECT_THAT(at_node.call({"TAKE", limit, "version"}).text, HasSubstr("NOLIMIT")) << limit;
  }
}

// A generation is the amount of a key that nobody has, and no bound: whoever could charge that key would have the limit
// without an end.
TEST_F(EscrowPromise, NobodyChargesTheKeyOfTheGeneration) {
  serving::MeteServer keeper(std::make_unique<store::EmbeddedStore>(Options{}));
  EscrowParts parts;
  parts.local = std::make_unique<store::EmbeddedStore>(Options{});
  parts.shared = store::open_closed_store(keeper.url(), {}).value();
  parts.node = "a";
  parts.incarnation = 1;
  serving::MeteServer front(EscrowStore::open(std::move(parts)).value());
  support::RedisClient at_node(front.port());
  support::RedisClient at_keeper(keeper.port());
  at_node.call({"LIMIT", "SET", "api", "WINDOW", "100", "PER", "1h", "SCOPE", "escrow"});
  ASSERT_TRUE(keeper.store().override_of({"api", "mete-generation"}).value().has_value());
  const auto is_refused = HasSubstr("ERR key 'mete-generation' is for what nodes keep for themselves");
  for (support::RedisClient* client : {&at_node, &at_keeper}) {
    for (const std::vector<std::string_view>& command : std::initializer_list<std::vector<std::string_view>>{
             {"TAKE", "api", "mete-generation"},
             {"TAKE", "api", "mete-generation", "COST", "1000000"},
             {"TAKE", "api", "mete-generation", "COST", "1000000", "ID", "once"},
             {"TAKE", "api", "mete-generation", "COST", "1000000", "FORCE"},
             {"TAKE", "api", "mete-generation", "COST", "1000000", "UPTO"},
             {"TAKE", "api", "k", "AND", "api", "mete-generation"},
             {"PEEK", "api", "mete-generation"},
             {"HOLD", "api", "mete-generation", "TTL", "1m"},
             {"GIVE", "api", "mete-generation", "COST", "10"},
             {"RECONCILE", "api", "mete-generation", "5"},
             {"USAGE", "api", "mete-generation"},
             {"HOLDS", "api", "mete-generation"},
             {"LIMIT", "OVERRIDE", "api", "mete-generation", "5"}}) {
      EXPECT_THAT(client->call(command).text, is_refused) << command[0] << (client == &at_node ? " node" : " keeper");
    }
    EXPECT_EQ(client->call({"TAKE", "api", "k", "COST", "0"}).elements.at(0).integer, 1);
  }
  // A quota of that name is a limit with that key.
  EXPECT_THAT(at_node.call({"QUOTASET", "mete-generation", "10", "60"}).text, is_refused);
  EXPECT_THAT(at_node.call({"QUOTAINCR", "mete-generation", "10", "60", "5"}).text, is_refused);
  EXPECT_EQ(at_node.call({"INCR", "mete-generation"}).integer, 1) << "a counter is no limit";
  const Usage usage = keeper.store().usage({"api", "mete-generation"}).value();
  EXPECT_EQ(usage.used + usage.held, 0);
}

// --- Generations -----------------------------------------------------------------------------------------------------

TEST_F(EscrowPromise, ALimitThatWasDroppedAndDefinedAgainIsAnotherOne) {
  for (const Limit& kind : {window("api").amount(100).per(1h), stock("api").amount(100),
                            sliding("api").amount(100).per(1h), bucket("api").amount(100).per(24h)}) {
    const auto a = node("a");
    const auto b = node("b");
    Limit limit = kind;
    limit.scope(Scope::kEscrow);
    a->define(limit).value();
    b->tend();
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(take(*b, "api"));  // It has some more now.
    a->drop("api").value();
    a->define(limit).value();
    clock.advance(1s);
    a->tend();
    b->tend();
    Amount admitted = take_all(*b, "api");
    admitted += take_all(*a, "api");
    EXPECT_LE(admitted, 100) << to_string(kind.kind());
    a->drop("api").value();
  }
}

// Limits that a plain server has defined in the store that nodes begin to share.
TEST_F(EscrowPromise, LimitsThatAreThereCanBeUsedRescopedRedefinedAndDropped) {
  shared.define(window("old").amount(5).per(1h)).value();
  ASSERT_TRUE(take(shared, "old"));
  const auto a = node("a");
  const auto b = node("b");
  EXPECT_TRUE(take(*a, "old"));
  EXPECT_EQ(charged("old"), 2) << "it is decided where it is";
  a->define(window("old").amount(10).per(1h)).value();
  EXPECT_EQ(there("old").limit, 10);
  a->define(window("old").amount(10).per(1h).scope(Scope::kEscrow)).value();
  clock.advance(1s);
  b->tend();
  Amount admitted = take_all(*a, "old");
  clock.advance(5s);
  a->tend();
  admitted += take_all(*b, "old");
  EXPECT_EQ(admitted, 8);
  EXPECT_TRUE(b->drop("old").value());
  EXPECT_FALSE(shared.limit("old").value().has_value());
}

// --- Preconditions ---------------------------------------------------------------------------------------------------

TEST_F(EscrowPromise, AStoreThatForgetsIdsIsRefused) {
  store::EmbeddedStore forgetful(Options{.clock = &clock, .id_retention = 1min});
  EscrowParts parts;
  parts.local = std::make_unique<store::EmbeddedStore>(Options{.clock = &clock});
  parts.shared = std::make_unique<WayToShared>(forgetful, mood);
  parts.node = "a";
  parts.incarnation = 1;
  parts.clock = &clock;
  parts.has_threads = false;
  const auto refused = EscrowStore::open(std::move(parts));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("id_retention"));
}

// --- Crashes ---------------------------------------------------------------------------------------------------------

TEST_F(EscrowPromise, AKilledNodeBurnsNothingOfAMonth) {
  auto a = open("a", on_disk()).value();
  a->define(calendar("month").amount(1000).per(Unit::kMonth).scope(Scope::kEscrow)).value();
  a->define(window("week").amount(1000).per(7 * 24h).durable(Durable::kAlways).scope(Scope::kEscrow)).value();
  a->define(sliding("day").amount(1000).per(24h).durable(Durable::kAlways).scope(Scope::kEscrow)).value();
  constexpr int kKills = 20;
  for (int i = 0; i < kKills; ++i) {
    for (const char* limit : {"month", "week", "day"}) EXPECT_TRUE(take(*a, limit));
    kill(a);
    a = open("a", on_disk()).value();
  }
  for (const char* limit : {"month", "week", "day"}) EXPECT_EQ(charged(limit), kKills) << limit;
}

// FLUSHALL forgets what is the node's own; its book of stocks must not be read as if it had all of them.
TEST_F(EscrowPromise, AStocksShareIsNoLargerAfterAFlushAndACrash) {
  auto a = open("a", on_disk()).value();
  a->define(stock("seats").amount(100).scope(Scope::kEscrow)).value();
  ASSERT_TRUE(take(*a, "seats"));
  a->clear().value();
  Amount admitted = 1;
  for (int i = 0; i < 3; ++i) admitted += take(*a, "seats") ? 1 : 0;
  kill(a);
  a = open("a", on_disk()).value();
  for (int i = 0; i < 200; ++i) admitted += take(*a, "seats") ? 1 : 0;
  EXPECT_LE(admitted, 100);
}

// A lot is settled as what it was drawn as.
TEST_F(EscrowPromise, ALimitsKindMayChange) {
  const auto a = node("a");
  a->define(window("api").amount(100).per(1h).scope(Scope::kEscrow)).value();
  ASSERT_TRUE(take(*a, "api", 3));
  ASSERT_EQ(charged("api"), 10);
  a->define(stock("api").amount(100).scope(Scope::kEscrow)).value();
  a->tend();
  EXPECT_EQ(charged("api") - a->status().shares.outstanding, 3);
  ASSERT_TRUE(take(*a, "api", 2));
  a->define(window("api").amount(100).per(1h).scope(Scope::kEscrow)).value();
  a->tend();
  EXPECT_EQ(charged("api") - a->status().shares.outstanding, 5);
}

// --- The last unit ---------------------------------------------------------------------------------------------------

TEST_F(EscrowPromise, ADenialIsForNoLongerThanUntilAnotherNodeMayGiveBack) {
  const auto a = node("a");
  const auto b = node("b");
  a->define(calendar("month").amount(100).per(Unit::kMonth).scope(Scope::kEscrow)).value();
  b->tend();
  ASSERT_TRUE(take(*b, "month"));  // It has 9 more.
  ASSERT_TRUE(take(*a, "month", 90));
  const Charge one{"month", "k", 1};
  const auto denied = a->take({.charges = {&one, 1}}).value();
  ASSERT_FALSE(denied.is_allowed);
  EXPECT_LE(denied.retry_after, Duration(5s));
  clock.advance(denied.retry_after);
  b->tend();
  EXPECT_TRUE(take(*a, "month"));
}

// --- A stop ----------------------------------------------------------------------------------------------------------

TEST_F(EscrowPromise, AStopWaitsForNoSharedStoreThatIsAway) {
  EscrowParts parts;
  parts.local = std::make_unique<store::EmbeddedStore>(Options{});
  parts.shared = std::make_unique<WayToShared>(shared, mood);
  parts.node = "a";
  parts.incarnation = 1;
  auto a = EscrowStore::open(std::move(parts)).value();
  a->define(window("api").amount(100).per(1h).scope(Scope::kEscrow)).value();
  for (int i = 0; i < 4000; ++i) {
    const std::string key = "k" + std::to_string(i);
    const Charge charge{"api", key, 1};
    ASSERT_TRUE(a->take({.charges = {&charge, 1}}).value().is_allowed);
  }
  mood = [](std::string_view /*operation*/) {
    net::pause_for(150ms);  // as a time-out
    return Mood::kAway;
  };
  const auto started = std::chrono::steady_clock::now();
  a.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, 10s) << "4,000 keys one after the other take ten minutes";
}

// It takes what it is asked, and never answers. However long it may take for that, a stop may not.
TEST_F(EscrowPromise, AStopWaitsForNoSharedStoreThatIsMute) {
  serving::MeteServer keeper(std::make_unique<store::EmbeddedStore>(Options{}));
  support::Proxy proxy(keeper.port());
  EscrowParts parts;
  parts.local = std::make_unique<store::EmbeddedStore>(Options{});
  parts.shared =
      store::open_closed_store("mete://127.0.0.1:" + std::to_string(proxy.port()) + "?timeout=60s", {}).value();
  Registration::Options self;
  self.name = "a";
  self.wait = [](Duration length) { net::pause_for(length); };
  parts.registration = Registration::take(*parts.shared, self).value();
  parts.node = "a";
  parts.incarnation = 1;
  auto a = EscrowStore::open(std::move(parts)).value();
  a->define(window("api").amount(100).per(1h).scope(Scope::kEscrow)).value();
  ASSERT_TRUE(take(*a, "api"));
  proxy.swallow_replies();
  // The threads that look what is new are waiting for an answer by then.
  net::pause_for(2s);
  const auto started = std::chrono::steady_clock::now();
  a.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, 30s) << "one call may take a minute";
}

// The shared store is far away: all limits, read one after the other, take forty seconds.
class FarFromAThousandLimits : public EscrowPromise {
 protected:
  void SetUp() override {
    for (int i = 0; i < 1000; ++i) {
      shared.define(window("limit" + std::to_string(i)).amount(10).per(1h).scope(Scope::kEscrow)).value();
    }
    mood = [this](std::string_view operation) {
      if (is_far) {
        reads += operation == "LIMIT" ? 1 : 0;
        net::pause_for(20ms);
      }
      return Mood::kWell;
    };
    EscrowParts parts;
    parts.local = std::make_unique<store::EmbeddedStore>(Options{});
    parts.shared = std::make_unique<WayToShared>(shared, mood);
    parts.node = "a";
    parts.incarnation = 1;
    a = EscrowStore::open(std::move(parts)).value();
    is_far = true;
    // Another node has defined something: all are read again.
    const Charge one{"mete.definitions", "version", 1};
    shared.take({.charges = {&one, 1}, .mode = Mode::kForce}).value();
    while (reads == 0) net::pause_for(1ms);
  }

  std::atomic<bool> is_far = false;
  std::atomic<int> reads = 0;
  Node a;
};

TEST_F(FarFromAThousandLimits, ANodeStopsAtOnceWhileItReadsThem) {
  const auto started = std::chrono::steady_clock::now();
  a.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, 5s);
}

TEST_F(FarFromAThousandLimits, NobodyWaitsUntilAllAreRead) {
  shared.define(window("new").amount(10).per(1h)).value();
  const int before = reads;
  const auto started = std::chrono::steady_clock::now();
  EXPECT_TRUE(take(*a, "new"));
  a->define(window("mine").amount(10).per(1h).scope(Scope::kEscrow)).value();
  EXPECT_LT(std::chrono::steady_clock::now() - started, 2s);
  EXPECT_LT(before, 1000) << "it was too fast to show anything";
  while (reads < 1000) net::pause_for(1ms);
  EXPECT_TRUE(take(*a, "mine")) << "what was defined meanwhile stays";
}

}  // namespace
}  // namespace mete::escrow
