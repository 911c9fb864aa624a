// Takes of the Redis store, by the short scripts and by the general one, beside the embedded store.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "store/embedded/embedded_store.h"
#include "store/redis/plain_take.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"
#include "support/redis_cluster.h"
#include "support/redis_server.h"

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;
using support::RedisServer;

constexpr std::array<std::string_view, 10> kLimits = {"bucket",   "slow",  "quick",  "uneven",  "window",
                                                      "calendar", "stock", "shadow", "watched", "nobody"};
constexpr std::array<std::string_view, 4> kTakenKeys = {"key 1", "key 2", "overridden", "held"};

void define_all(Store& store) {
  store.define(bucket("bucket").amount(10).per(1s).burst(20)).value();
  store.define(bucket("slow").amount(5).per(60s)).value();
  store.define(bucket("quick").amount(1000).per(1s).burst(3)).value();
  store.define(bucket("uneven").amount(7).per(1s)).value();
  store.define(window("window").amount(7).per(1s)).value();
  store.define(calendar("calendar").amount(30).per(Unit::kHour)).value();
  store.define(stock("stock").amount(200)).value();
  store.define(bucket("shadow").amount(1).per(1s).shadow()).value();
  store.define(window("watched").amount(2).per(1s).shadow()).value();
  for (const std::string_view limit : {"bucket", "window", "calendar", "stock"}) {
    store.set_override({limit, "overridden"}, 3).value();
    const Charge held{limit, "held", 5};
    store.hold({.charges = {&held, 1}, .ttl = 2s, .id = "hold on " + std::string(limit)}).value();
  }
}

// The Redis store and the embedded one, at the same time.
class RedisTakesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    define_all(*redis_);
    define_all(embedded_);
  }

  Charge random_charge() {
    return {kLimits[random_() % kLimits.size()], kTakenKeys[random_() % kTakenKeys.size()], 1 + Amount(random_() % 3)};
  }
  // Most buckets are in use then, and some are full again.
  void pass_time() {
    const Duration length = std::chrono::microseconds(random_() % (random_() % 8 == 0 ? 20'000'000 : 100'000));
    server_.set_time(server_.time() + length);
    clock_.advance(length);
  }

  RedisServer server_{RedisServer::Options{.arguments = {}, .has_settable_clock = true}};
  std::unique_ptr<Store> redis_ = RedisStore::open(server_.patient_url(), {.clock_step_max = {}}).value();
  ManualClock clock_{support::kServerStart};
  EmbeddedStore embedded_{{.clock = &clock_}};
  std::mt19937_64 random_{11};
};

TEST_F(RedisTakesTest, TogetherTheyAreAnsweredAsOneByOne) {
  std::size_t allowed = 0;
  std::size_t denied = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Charge> charges(random_() % 150);  // more than one call has room for
    for (Charge& charge : charges) charge = random_charge();
    std::vector<Result<core::Verdict>> answers(charges.size());
    redis_->take_each(charges, answers);
    for (std::size_t i = 0; i < charges.size(); ++i) {
      const auto expected = embedded_.take({.charges = {&charges[i], 1}}).map(in_clock_steps);
      ASSERT_EQ(answers[i], expected) << "round " << round << ", take " << i << ": " << charges[i].limit;
      if (expected.has_value()) ++(expected->is_allowed ? allowed : denied);
    }
    const std::array gives = {Charge{"stock", charges.empty() ? "key 1" : charges[0].key, 20}};
    ASSERT_EQ(redis_->give(gives, ""), embedded_.give(gives, "")) << "round " << round;
    pass_time();
  }
  EXPECT_GT(allowed, 500U);
  EXPECT_GT(denied, 500U);
}

// A window whose key went too early would be as good as new too early; held parts stay with it.
TEST_F(RedisTakesTest, ACountIsKeptUntilItsWindowEnds) {
  const auto take = [&](std::string_view limit, std::string_view key) {
    const Charge charge{limit, key, 1};
    return redis_->take({.charges = {&charge, 1}}).value();
  };
  for (const std::string_view key : {"key 1", "held"}) {
    const std::string name = "mete:{" + std::string(key) + "}:calendar";
    for (int i = 0; i < 3; ++i) {
      const core::Verdict verdict = take("calendar", key);
      const std::int64_t ttl_ms = server_.call({"PTTL", name}).integer;
      EXPECT_GE(ttl_ms * 1'000'000, verdict.reset_after.ns() + 5'000'000'000);
      EXPECT_LE(ttl_ms * 1'000'000, verdict.reset_after.ns() + 5'002'000'000);
    }
    take("stock", key);
    EXPECT_EQ(server_.call({"PTTL", "mete:{" + std::string(key) + "}:stock"}).integer, -1);
  }
  EXPECT_EQ(redis_->usage({"calendar", "held"})->held, 5);
  EXPECT_EQ(redis_->usage({"stock", "held"})->held, 5);
}

TEST_F(RedisTakesTest, OfSeveralBucketsAllFitOrNoneIsCharged) {
  std::size_t allowed = 0;
  std::size_t denied = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<Charge> charges(1 + random_() % 3);
    for (Charge& charge : charges) charge = {kLimits[random_() % 3], kTakenKeys[random_() % 3], 1};
    const auto expected = embedded_.take({.charges = charges}).map(in_clock_steps);
    ASSERT_EQ(redis_->take({.charges = charges}), expected) << "round " << round;
    ++(expected->is_allowed ? allowed : denied);
    pass_time();
  }
  EXPECT_GT(allowed, 100U);
  EXPECT_GT(denied, 50U);
}

// A bucket whose key went too early would be full too early.
TEST_F(RedisTakesTest, APlainBucketIsKeptUntilItIsFull) {
  constexpr std::int64_t kSpanUsMax = 30'000'000;  // half of the slow bucket
  std::size_t in_place = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string_view limit = kLimits[random_() % 3];
    const std::string name = "mete:{key 1}:" + std::string(limit);
    const std::int64_t before_ms = server_.call({"PTTL", name}).integer;
    const Charge charge{limit, "key 1", 1};
    ASSERT_EQ(redis_->take({.charges = {&charge, 1}}), embedded_.take({.charges = {&charge, 1}})) << "round " << round;
    const std::uint64_t full_us = std::stoull(server_.call({"GET", name}).text) / 10 + kPlainEpochUs;
    const auto wait_us = static_cast<std::int64_t>(full_us) - static_cast<std::int64_t>(us_of(server_.time()));
    const std::int64_t ttl_ms = server_.call({"PTTL", name}).integer;
    ASSERT_GE(ttl_ms * 1000, wait_us + 5'000'000) << "round " << round;
    ASSERT_LE(ttl_ms * 1000, wait_us + 5'002'000 + kSpanUsMax) << "round " << round;
    if (before_ms == ttl_ms) ++in_place;
    pass_time();
  }
  EXPECT_GT(in_place, 100U);
}

// To the microsecond, alone and together.
TEST_F(RedisTakesTest, ADenialSaysWhenItWillFit) {
  for (const std::string_view limit : {"bucket", "slow", "quick"}) {
    for (const bool is_together : {false, true}) {
      const Charge charge{limit, is_together ? "key 1" : "key 2", 2};
      const auto take = [&] {
        std::array<Result<core::Verdict>, 1> answer;
        if (is_together) {
          redis_->take_each({&charge, 1}, answer);
        } else {
          answer[0] = redis_->take({.charges = {&charge, 1}});
        }
        return answer[0].value();
      };
      core::Verdict verdict = take();
      while (verdict.is_allowed) verdict = take();
      const Duration wait = verdict.retry_after;
      ASSERT_GT(wait, Duration(1us));
      server_.set_time(server_.time() + wait + Duration(-1us));
      EXPECT_FALSE(take().is_allowed) << limit;
      server_.set_time(server_.time() + Duration(1us));
      EXPECT_TRUE(take().is_allowed) << limit;
    }
  }
}

// In a Cluster keys lie apart: no call of a script may name two.
TEST(RedisTakesInClusterTest, TogetherTheyAreAnsweredToo) {
  const support::RedisCluster& cluster = support::shared_cluster();
  auto store = RedisStore::open(cluster.url() + "?timeout=20s", {}).value();
  store->define(bucket("b").amount(5).per(1h)).value();
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) keys.push_back("key " + std::to_string(i));
  std::vector<Charge> charges;
  for (int i = 0; i < 120; ++i) charges.push_back({"b", keys[static_cast<std::size_t>(i % 20)], 1});
  std::vector<Result<core::Verdict>> answers(charges.size());
  store->take_each(charges, answers);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    ASSERT_TRUE(answers[i].has_value()) << answers[i].error().message;
    EXPECT_EQ(answers[i]->is_allowed, i < 100) << i;
  }
}

}  // namespace
}  // namespace mete::store::redis
