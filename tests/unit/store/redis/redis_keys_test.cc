// What is special about keys in Redis; what they do is compared with the model in model/keys_test.cc.
#include "store/redis/redis_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "link_fixture.h"
#include "store/embedded/embedded_store.h"
#include "support/redis_cluster.h"
#include "support/redis_keys_store.h"
#include "support/redis_server.h"

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;
using support::RedisServer;

// One program on a Redis. Several on one server are several programs.
struct Program {
  explicit Program(const RedisServer& server) : link(must_open(server.patient_url())) {}

  std::unique_ptr<Link> link;
  Session session;
  support::RedisKeysStore store{*link, session};
  Keys keys{store};
};

std::vector<core::ListedKey> sorted(std::vector<core::ListedKey> keys) {
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return keys;
}

// All keys, in pages that are too small for them.
std::vector<core::ListedKey> list(Keys& keys) {
  std::vector<core::ListedKey> listed;
  std::uint64_t cursor = 0;
  int pages = 0;
  do {
    auto page = keys.scan(cursor, 10).value();
    std::move(page.keys.begin(), page.keys.end(), std::back_inserter(listed));
    cursor = page.cursor;
    ++pages;
  } while (cursor != 0);
  EXPECT_GT(pages, 3);
  return sorted(std::move(listed));
}

class RedisKeysTest : public ::testing::Test {
 protected:
  void advance(Duration length) { server_.set_time(server_.time() + length); }
  std::string text_in_redis(std::string_view name) { return server_.call({"GET", name}).text; }
  std::int64_t ttl_ms(std::string_view name) { return server_.call({"PTTL", name}).integer; }
  // How often something was written.
  std::string writes() {
    const std::string information = server_.call({"INFO", "persistence"}).text;
    constexpr std::string_view kField = "rdb_changes_since_last_save:";
    const std::size_t begin = information.find(kField) + kField.size();
    return information.substr(begin, information.find('\r', begin) - begin);
  }

  RedisServer server_{RedisServer::Options{.arguments = {}, .has_settable_clock = true}};
  Program program_{server_};
  Keys& keys_ = program_.keys;
};

TEST_F(RedisKeysTest, EveryWriteOfACounterKeepsItsExpiry) {
  const std::function<void()> writes[] = {
      [&] { EXPECT_EQ(keys_.add("k", 1), 2); },
      [&] {
        EXPECT_EQ(keys_.add_bounded({.key = "k", .by = 1}), (BoundedSum{2, 1}));
      },
      [&] { EXPECT_TRUE(keys_.set({.key = "k", .value = 2, .expiry = Expiry::keep()})->is_set); },
      [&] {
        EXPECT_EQ(keys_.add_bounded({.key = "k", .by = 1, .expiry = Expiry::in(1h), .expiry_only_if_none = true}),
                  (BoundedSum{2, 1}));
      },
  };
  for (const auto& write : writes) {
    ASSERT_TRUE(keys_.set({.key = "k", .value = 1, .expiry = Expiry::in(Duration(10s + 1us))})->is_set);
    const std::int64_t before_ms = ttl_ms("mete.key:{k}");
    EXPECT_GE(before_ms, 10'001);
    EXPECT_LE(before_ms, 10'003);
    const Instant end = server_.time() + Duration(10s + 1us);
    advance(5s);
    write();
    EXPECT_EQ(ttl_ms("mete.key:{k}"), before_ms - 5000);
    EXPECT_EQ(keys_.expires_at("k").value(), end);
    // It is there up to the very microsecond, and Redis lets go of it soon after.
    server_.set_time(end + Duration(-1us));
    EXPECT_EQ(keys_.get("k").value(), 2);
    server_.set_time(end);
    EXPECT_EQ(keys_.get("k").value(), std::nullopt);
    advance(3ms);
    EXPECT_EQ(server_.call({"EXISTS", "mete.key:{k}"}).integer, 0);
  }
  ASSERT_TRUE(keys_.set({.key = "k", .value = 1, .expiry = Expiry::in(10s)})->is_set);
  EXPECT_TRUE(keys_.persist("k").value());
  EXPECT_EQ(ttl_ms("mete.key:{k}"), -1);
  EXPECT_EQ(text_in_redis("mete.key:{k}"), "1");
}

TEST_F(RedisKeysTest, AThrottleGoesFromRedisSecondsAfterItIsFull) {
  const ThrottleRequest request{.capacity = 5, .count = 3, .period = 1s, .quantity = 2};
  ASSERT_TRUE(keys_.throttle("k", request)->is_allowed);
  EXPECT_GE(ttl_ms("mete.key:{k}"), 5666);
  EXPECT_LE(ttl_ms("mete.key:{k}"), 5668);
  advance(300ms);
  ASSERT_TRUE(keys_.throttle("k", request)->is_allowed);
  EXPECT_GE(ttl_ms("mete.key:{k}"), 6033);
  EXPECT_LE(ttl_ms("mete.key:{k}"), 6035);
  // One that takes longer than time can tell stays.
  ASSERT_TRUE(keys_.throttle("k", {.capacity = kAmountMax, .count = 1, .period = kPeriodMax, .quantity = 1'000'000})
                  ->is_allowed);
  EXPECT_EQ(ttl_ms("mete.key:{k}"), -1);
}

TEST_F(RedisKeysTest, DenialsAndLooksWriteNothing) {
  const ThrottleRequest throttle{.capacity = 2, .count = 1, .period = 1h, .quantity = 2};
  ThrottleRequest look = throttle;
  look.quantity = 0;
  ASSERT_TRUE(keys_.throttle("t", throttle)->is_allowed);
  ASSERT_EQ(keys_.quota_take("q", {3, 3600s}, 2), 1);
  ASSERT_TRUE(keys_.set({.key = "c", .value = 5, .expiry = Expiry::in(1h)})->is_set);
  const std::string before = writes();
  EXPECT_FALSE(keys_.throttle("t", throttle)->is_allowed);
  EXPECT_TRUE(keys_.throttle("t", look)->is_allowed);
  EXPECT_TRUE(keys_.throttle("t2", look)->is_allowed);
  EXPECT_EQ(keys_.quota_take("q", {3, 3600s}, 2), core::kQuotaDenied);
  EXPECT_EQ(keys_.add("q", 2), core::kQuotaDenied);
  EXPECT_TRUE(keys_.quota_set("q", {3, 3600s}).has_value());
  EXPECT_EQ(keys_.quota_get("q").value(), (QuotaStanding{{3, 3600s}, 1}));
  EXPECT_EQ(keys_.add_bounded({.key = "c", .by = 6, .upper = 10}), (BoundedSum{5, 0}));
  EXPECT_FALSE(keys_.expire("c", Expiry::in(2h), ExpiryCondition::kIfSooner).value());
  EXPECT_FALSE(keys_.set({.key = "c", .condition = SetCondition::kIfAbsent})->is_set);
  EXPECT_TRUE(keys_.set({.key = "q", .reach = KeyReach::kAllButQuotas})->is_out_of_reach);
  EXPECT_FALSE(keys_.remove("q", KeyReach::kAllButQuotas).value());
  EXPECT_EQ(keys_.take_out("t").error().code, ErrorCode::kWrongType);
  EXPECT_EQ(keys_.get("c").value(), 5);
  EXPECT_EQ(keys_.type("t").value(), KeyType::kThrottle);
  EXPECT_TRUE(keys_.expires_at("t").value().has_value());
  EXPECT_EQ(keys_.scan(0, 10)->keys.size(), 3U);
  EXPECT_EQ(writes(), before);
  EXPECT_EQ(keys_.add("c", 1), 6);
  EXPECT_NE(writes(), before);
}

// Of 999,999,937 per second 999 units come back within 999.0001 ns: at the microsecond after, the bucket has been full
// for 0.9999 ns, and goes on from there. In the other cases it has been full for longer, or is not full yet. To the
// same nanosecond in every store.
TEST_F(RedisKeysTest, AThrottleGoesOnFromTheNanosecondInWhichItBecameFull) {
  const struct {
    Amount count;
    Amount first;
  } cases[] = {{999'999'937, 998}, {999'999'937, 999}, {999'999'937, 1000}, {1'500'000, 1}, {1'500'000, 2}};
  for (const auto& [count, first] : cases) {
    ManualClock clock(server_.time());
    EmbeddedStore embedded({.clock = &clock});
    ThrottleRequest request{.capacity = 5000, .count = count, .period = 1s, .quantity = first};
    const std::string key = std::to_string(first) + " of " + std::to_string(count);
    EXPECT_EQ(keys_.throttle(key, request).value(), embedded.keys().throttle(key, request).value());
    advance(1us);
    clock.advance(1us);
    EXPECT_EQ(keys_.type(key).value(), embedded.keys().type(key).value()) << key;
    for (const Amount quantity : {0, 1000, 1, 3000}) {
      request.quantity = quantity;
      EXPECT_EQ(keys_.throttle(key, request).value(), embedded.keys().throttle(key, request).value())
          << key << ", then " << quantity;
    }
  }
}

TEST_F(RedisKeysTest, TimeStandsStillWhileRedisIsBehind) {
  const Instant start = server_.time();
  ASSERT_TRUE(keys_.set({.key = "c", .value = 1, .expiry = Expiry::in(1s)})->is_set);
  ASSERT_EQ(keys_.quota_take("q", {3, 1s}, 2), 1);
  ASSERT_TRUE(keys_.throttle("t", {.capacity = 2, .count = 1, .period = 10s, .quantity = 2})->is_allowed);
  // The same program knows what time it was.
  server_.set_time(start + Duration(2s));
  EXPECT_EQ(keys_.get("c").value(), std::nullopt);
  ASSERT_EQ(keys_.quota_take("q", {3, 1s}, 2), 1);
  server_.set_time(start + Duration(-10s));
  EXPECT_EQ(keys_.get("c").value(), std::nullopt);
  EXPECT_EQ(keys_.get("q").value(), 1);
  EXPECT_EQ(program_.session.clock.floor_us(), (start + Duration(2s)).ns() / 1000);
  // Another one knows it of what was written: no window, and no charge, is undone.
  Program other(server_);
  EXPECT_EQ(other.keys.quota_take("q", {3, 1s}, 2), core::kQuotaDenied);
  EXPECT_EQ(other.keys.get("q").value(), 1);
  const auto verdict = other.keys.throttle("t", {.capacity = 2, .count = 1, .period = 10s, .quantity = 1});
  EXPECT_FALSE(verdict->is_allowed);
  EXPECT_EQ(verdict->remaining, 0);
  EXPECT_EQ(verdict->retry_after, Duration(10s));
}

TEST_F(RedisKeysTest, AnEpochHidesWhatWasBeforeAndTheSweepRemovesIt) {
  ASSERT_EQ(keys_.add("a", 1), 1);
  ASSERT_EQ(keys_.add("b", 1), 1);
  server_.call({"SET", "mete.key:{somebody", "else"});
  program_.session.epoch = 1;
  EXPECT_EQ(keys_.get("a").value(), std::nullopt);
  EXPECT_TRUE(keys_.scan(0, 100)->keys.empty());
  ASSERT_EQ(keys_.add("b", 5), 5);
  ASSERT_EQ(keys_.scan(0, 100)->keys, (std::vector<core::ListedKey>{{"b", KeyType::kCounter}}));
  // A program that has not heard of the clear yet removes nothing of what is newer.
  Program late(server_);
  EXPECT_EQ(late.store.redis().sweep().value(), 0U);
  EXPECT_EQ(program_.store.redis().sweep().value(), 2U);
  EXPECT_EQ(program_.store.redis().sweep().value(), 0U);
  EXPECT_EQ(keys_.get("b").value(), 5);
  EXPECT_EQ(server_.call({"EXISTS", "mete.key:{a}", "mete.key:{b}"}).integer, 0);
  EXPECT_EQ(text_in_redis("mete.key:{somebody"), "else");
}

TEST_F(RedisKeysTest, AFullRedisRefusesWhatWrites) {
  ASSERT_EQ(keys_.add("c", 1), 1);
  server_.call({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = keys_.add("c", 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(refused.error().message.find("maxmemory"), std::string::npos) << refused.error().message;
  EXPECT_EQ(keys_.throttle("t", {.capacity = 1, .count = 1, .period = 1s}).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(keys_.get("c").value(), 1);
  EXPECT_EQ(keys_.type("t").value(), KeyType::kNone);
  EXPECT_TRUE(keys_.remove("c").value());
  server_.call({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(keys_.add("c", 7), 7);
}

TEST_F(RedisKeysTest, WhatIsFinerThanRedissClockIsRefused) {
  const Expiry expiries[] = {Expiry::in(Duration(1s + 1ns)), Expiry::at(server_.time() + Duration(1s + 999ns))};
  ASSERT_EQ(keys_.add("c", 1), 1);
  for (const Expiry& expiry : expiries) {
    EXPECT_EQ(keys_.set({.key = "c", .expiry = expiry}).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(keys_.add_bounded({.key = "c", .expiry = expiry}).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(keys_.expire("c", expiry).error().code, ErrorCode::kInvalid);
  }
  EXPECT_EQ(keys_.throttle("t", {.period = Duration(1s + 1ns)}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(keys_.get("c").value(), 1);
}

// Past the year 2255 a microsecond since the epoch is more than Lua's numbers can tell.
TEST_F(RedisKeysTest, ExpiriesAreExactUpToTheEndOfTime) {
  ASSERT_EQ(keys_.add("c", 1), 1);
  const Instant last = Instant::from_ns(18'446'744'073'709'551'000U);
  EXPECT_TRUE(keys_.expire("c", Expiry::at(last)).value());
  EXPECT_EQ(keys_.expires_at("c").value(), last);
  EXPECT_EQ(keys_.add("c", 1), 2);
  EXPECT_EQ(keys_.expires_at("c").value(), last);
  EXPECT_FALSE(keys_.expire("c", Expiry::at(last), ExpiryCondition::kIfSooner).value());
  EXPECT_TRUE(keys_.expire("c", Expiry::at(last + Duration(-1us)), ExpiryCondition::kIfSooner).value());
  EXPECT_EQ(keys_.expires_at("c").value(), last + Duration(-1us));
  EXPECT_TRUE(keys_.expire("c", Expiry::in(Duration::from_ns(9'223'372'036'854'775'000))).value());
  EXPECT_EQ(keys_.expires_at("c").value(), server_.time() + Duration::from_ns(9'223'372'036'854'775'000));
}

TEST_F(RedisKeysTest, AListingHasEveryKeyAndNobodyElses) {
  std::vector<core::ListedKey> expected;
  for (int i = 0; i < 500; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_EQ(keys_.add(key, i), i);
    expected.push_back({key, KeyType::kCounter});
    server_.call({"SET", "somebody:" + std::to_string(i), "else"});
  }
  ASSERT_TRUE(keys_.quota_set("a}b%7D{c", {1, 1s}).has_value());
  expected.push_back({"a}b%7D{c", KeyType::kQuota});
  const std::string bytes("\0\r\n*\xff", 5);
  ASSERT_TRUE(keys_.throttle(bytes, {.capacity = 1, .count = 1, .period = 1s})->is_allowed);
  expected.push_back({bytes, KeyType::kThrottle});
  ASSERT_TRUE(keys_.set({.key = "short", .value = 1, .expiry = Expiry::in(1ms)})->is_set);
  advance(1ms);  // has gone, though Redis still has it
  EXPECT_EQ(list(keys_), sorted(expected));
  EXPECT_EQ(keys_.size().value(), 1003U);  // all that Redis has
}

// In a Cluster every key has a node of its own, and a listing goes from one to the next.
TEST(RedisKeysInACluster, AreOnEveryNodeAndListedAllTheSame) {
  const support::RedisCluster& cluster = support::shared_cluster();
  const std::unique_ptr<Link> link = must_open(cluster.url() + "?timeout=10s");
  Session session;
  support::RedisKeysStore store(*link, session);
  Keys keys = store.keys();
  std::vector<core::ListedKey> expected;
  for (int i = 0; i < 100; ++i) {
    const std::string key = "}k" + std::to_string(i);
    ASSERT_EQ(keys.add(key, i).value(), i);
    expected.push_back({key, KeyType::kCounter});
  }
  ASSERT_TRUE(keys.throttle("}t", {.capacity = 1, .count = 1, .period = 1h})->is_allowed);
  EXPECT_FALSE(keys.throttle("}t", {.capacity = 1, .count = 1, .period = 1h})->is_allowed);
  expected.push_back({"}t", KeyType::kThrottle});
  EXPECT_EQ(list(keys), sorted(expected));
  EXPECT_EQ(keys.size().value(), expected.size());
  session.epoch = 1;
  EXPECT_EQ(store.redis().sweep().value(), expected.size());
  EXPECT_EQ(keys.size().value(), 0U);
}

TEST_F(RedisKeysTest, ACursorOfANodeThatIsNotThereIsRefused) {
  const auto page = keys_.scan(std::uint64_t{1} << 49, 10);
  ASSERT_FALSE(page.has_value());
  EXPECT_EQ(page.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(page.error().message.find("begin anew"), std::string::npos) << page.error().message;
}

TEST_F(RedisKeysTest, WhatSomebodyElseWroteIsNoAnswer) {
  server_.call({"SET", "mete.key:{text}", "q:many"});
  server_.call({"LPUSH", "mete.key:{list}", "1"});
  for (const std::string_view key : {"text", "list"}) {
    for (const auto& answer : {keys_.add(key, 1), keys_.quota_take(key, {1, 1s}, 1)}) {
      ASSERT_FALSE(answer.has_value());
      EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
    }
  }
  EXPECT_EQ(text_in_redis("mete.key:{text}"), "q:many");
}

}  // namespace
}  // namespace mete::store::redis
