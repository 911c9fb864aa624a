// What the Redis store leaves in Redis; what it answers is compared with the model, and asked by the conformance suite.
#include "store/redis/redis_store.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "link_fixture.h"
#include "store/keys.h"
#include "store/redis/census/census.h"
#include "store/redis/limit_entry.h"
#include "store/redis/meter_image.h"
#include "store/redis/names.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;

class RedisStoreTest : public ::testing::Test {
 protected:
  // In milliseconds; -1: for ever, -2: there is no such key.
  std::int64_t expires_in(const std::string& name) { return server_.call({"PTTL", name}).integer; }

  // The meter is kept until it is as good as fresh, and little longer.
  void expect_kept_as_needed(const Limit& limit, std::string_view after) {
    SCOPED_TRACE(std::string(after) + " on a " + std::string(to_string(limit.kind())));
    const Usage usage = limiter_.usage(limit.name(), "k").value();
    const std::int64_t kept = expires_in(meter_key(limit.name(), "k"));
    const bool is_in_use = usage.used + usage.held > 0;
    if (limit.kind() == Kind::kStock) {
      EXPECT_EQ(kept, is_in_use ? -1 : -2);
      return;
    }
    if (!is_in_use) return;
    EXPECT_GE(kept, usage.reset_after.ms());
    const std::int64_t period = limit.period().value_or(Duration(24h * 31)).ms();
    EXPECT_LE(kept, usage.reset_after.ms() + period / 2 + 10'000);
  }

  support::RedisServer& server_ = support::shared_redis();
  Limiter limiter_ = open(server_.patient_url(), {.clock_step_max = {}}).value();
};

// Of a stock, too, and whatever became of others on the same key.
TEST_F(RedisStoreTest, HoldsThatNobodyEndsLeaveNoKeys) {
  const Limit limits[] = {bucket("bucket").amount(10).per(1h), window("window").amount(10).per(1h),
                          sliding("sliding").amount(10).per(1h), calendar("calendar").amount(10).per(Unit::kDay),
                          stock("stock").amount(10)};
  for (const Limit& limit : limits) {
    limiter_.define(limit).value();
    const std::string& name = limit.name();
    const auto hold = [&](const std::string& key, Duration ttl) {
      return limiter_.hold({{name, key, 2}}, ttl, {.tag = "job " + name}).value().id;
    };
    hold("one", 1h);
    hold("several", 1h);
    hold("several", 3h);
    limiter_.extend(hold("several", 1h), 2h).value();
    limiter_.cancel(hold("several", 1h)).value();
    limiter_.commit(hold("several", 1h), 0).value();
    EXPECT_FALSE(limiter_.hold(name, "several", 9, 1h).value().allowed());
    limiter_.give(name, "one", 1).value();
  }
  for (const wire::RespValue& name : server_.call({"KEYS", "*"}).elements) {
    if (name.text == kLimitsKey) continue;
    EXPECT_GT(expires_in(name.text), 0) << name.text;
    EXPECT_LT(expires_in(name.text), Duration(48h).ms()) << name.text;
  }
  server_.set_time(server_.time() + 48h);
  const std::string left = server_.call({"EVAL", "return table.concat(redis.call('KEYS', '*'), ' ')", "0"}).text;
  EXPECT_EQ(left, kLimitsKey);
}

// What is used besides stays: the keys then have no expiry.
TEST_F(RedisStoreTest, AStockOfWhichMoreIsUsedThanHeldIsKept) {
  limiter_.define(stock("stock").amount(10)).value();
  const auto hold = [&](const std::string& key) { return limiter_.hold({{"stock", key, 2}}, 1h).value().id; };
  const auto expect_kept = [&](const std::string& key, Amount used) {
    EXPECT_EQ(expires_in(meter_key("stock", key)), -1) << key;
    server_.set_time(server_.time() + 2h);
    EXPECT_EQ(limiter_.usage("stock", key)->used, used) << key;
    EXPECT_EQ(limiter_.usage("stock", key)->held, 0) << key;
  };
  hold("taken");
  EXPECT_TRUE(limiter_.take("stock", "taken", 3).value().allowed());
  expect_kept("taken", 3);
  const std::string committed = hold("committed");
  hold("committed");
  limiter_.commit(committed, 1).value();
  expect_kept("committed", 1);
  EXPECT_TRUE(limiter_.take("stock", "before", 3).value().allowed());
  limiter_.cancel(hold("before")).value();
  hold("before");
  expect_kept("before", 3);
}

// Nobody asks for the meter any more: a walk over what is there settles it.
TEST_F(RedisStoreTest, WhatHasExpiredOfAStockInUseLeavesNoKey) {
  limiter_.define(stock("stock").amount(10)).value();
  limiter_.take("stock", "k", 3).value();
  limiter_.hold({{"stock", "k", 2}}, 1h).value();
  limiter_.take("stock", "other", 3).value();
  limiter_.hold({{"stock", "other", 2}}, 5h).value();
  const auto is_there = [this](const std::string& name) { return expires_in(name) != -2; };
  server_.set_time(server_.time() + 2h);
  const auto store = RedisStore::open(server_.patient_url(), {.clock_step_max = {}}).value();  // begins with a walk
  EXPECT_TRUE(support::becomes_true(20s, [&] { return !is_there(held_key(meter_key("stock", "k"))); }));
  EXPECT_TRUE(is_there(held_key(meter_key("stock", "other")))) << "it is open";
  EXPECT_EQ(server_.call({"GET", meter_key("stock", "k")}).text.find('+'), std::string::npos);
  EXPECT_EQ(store->usage({"stock", "k"}).value(), (Usage{3, 0, 7, 10, Duration::never()}));
}

// S4: a refund's SET drops the expiry. M2: a crash between INCR and EXPIRE leaves a key for ever.
TEST_F(RedisStoreTest, S4_M2_EveryOperationLeavesTheExpiryThatIsNeeded) {
  const Limit limits[] = {bucket("bucket").amount(10).per(48h), window("window").amount(10).per(48h),
                          sliding("sliding").amount(10).per(48h), calendar("calendar").amount(10).per(Unit::kMonth),
                          stock("stock").amount(10)};
  for (const Limit& limit : limits) {
    limiter_.define(limit).value();
    const std::string& name = limit.name();
    std::string id;
    const std::pair<std::string_view, std::function<void()>> steps[] = {
        {"take", [&] { EXPECT_TRUE(limiter_.take(name, "k", 4).value().allowed()); }},
        {"take again", [&] { EXPECT_TRUE(limiter_.take(name, "k", 2).value().allowed()); }},
        {"give", [&] { limiter_.give(name, "k", 1).value(); }},
        {"hold",
         [&] {
           id = limiter_.hold({{name, "k", 2}}, 1h).value().id;
         }},
        {"extend", [&] { limiter_.extend(id, 2h).value(); }},
        {"commit", [&] { limiter_.commit(id, 1).value(); }},
        {"hold again",
         [&] {
           id = limiter_.hold({{name, "k", 2}}, 1h).value().id;
         }},
        {"cancel", [&] { limiter_.cancel(id).value(); }},
        {"force",
         [&] {
           limiter_.take({{name, "k", 9}}, {.mode = Mode::kForce}).value();
         }},
        {"a denial", [&] { EXPECT_FALSE(limiter_.take(name, "k", 1).value().allowed()); }},
        {"reconcile", [&] { limiter_.reconcile(name, "k", 3).value(); }},
        {"an override and back",
         [&] {
           limiter_.override_amount(name, "k", 20).value();
           EXPECT_EQ(expires_in(meter_key(name, "k")), -1) << "a key's own amount stays";
           limiter_.clear_override(name, "k").value();
         }},
        {"give all", [&] { limiter_.give(name, "k", 10).value(); }},
    };
    for (const auto& [step, act] : steps) {
      act();
      expect_kept_as_needed(limit, step);
    }
  }
}

TEST_F(RedisStoreTest, WhatIsHeldIsKeptAsLongAsItIs) {
  limiter_.define(window("w").amount(10).per(1s)).value();
  limiter_.hold({{"w", "k", 2}}, 24h).value();
  for (const std::string& name : {meter_key("w", "k"), held_key(meter_key("w", "k"))}) {
    EXPECT_GE(expires_in(name), Duration(24h).ms()) << name;
    EXPECT_LE(expires_in(name), Duration(24h + 1min).ms()) << name;
  }
}

TEST_F(RedisStoreTest, ADenialWritesNothing) {
  const Limit limits[] = {bucket("bucket").amount(3).per(1h), window("window").amount(3).per(1h),
                          sliding("sliding").amount(3).per(1h), stock("stock").amount(3)};
  for (const Limit& limit : limits) {
    limiter_.define(limit).value();
    EXPECT_TRUE(limiter_.take(limit.name(), "k", 2).value().allowed());
  }
  server_.call({"CONFIG", "RESETSTAT"});
  const std::string changes = server_.info("rdb_changes_since_last_save");
  for (const Limit& limit : limits) {
    EXPECT_FALSE(limiter_.take(limit.name(), "k", 2).value().allowed());
    EXPECT_FALSE(limiter_.take(limit.name(), "fresh", 4).value().allowed());
    EXPECT_FALSE(limiter_.hold({{limit.name(), "k", 2}}, 1h).value().allowed());
    EXPECT_FALSE(limiter_.take({{limit.name(), "fresh", 1}, {limit.name(), "k", 2}}).value().allowed());
  }
  EXPECT_EQ(server_.info("rdb_changes_since_last_save"), changes);
}

// A sliding meter as it was kept before it knew its charges: what the window before used counts as charged at its end.
TEST_F(RedisStoreTest, ASlidingMeterOfTwoWindowsIsCarriedOver) {
  limiter_.define(sliding("carried").amount(10).per(24h)).value();
  limiter_.take("carried", "k", 1).value();
  const std::string name = meter_key("carried", "k");
  const std::string value = server_.call({"GET", name}).text;
  const std::uint64_t now = std::stoull(value.substr(value.find(':') + 1));
  const std::uint64_t day = 86'400'000'000;
  const std::string start = std::to_string(now - now % day);
  server_.call({"SET", name, value.substr(0, value.find(':')) + ":" + start + ":3:4"});
  EXPECT_EQ(limiter_.usage("carried", "k").value().used, 7);
  EXPECT_FALSE(limiter_.take("carried", "k", 4).value().allowed());
  EXPECT_TRUE(limiter_.take("carried", "k", 3).value().allowed());
  EXPECT_EQ(limiter_.usage("carried", "k").value().used, 10);
  EXPECT_GT(limiter_.usage("carried", "k").value().reset_after, Duration(23h));
}

TEST_F(RedisStoreTest, ADroppedLimitsMetersGo) {
  limiter_.define(stock("gone").amount(10)).value();
  limiter_.take("gone", "k", 3).value();
  limiter_.hold({{"gone", "k", 2}}, 1h).value();
  EXPECT_TRUE(limiter_.drop("gone").value());
  const auto is_gone = [&] { return expires_in(meter_key("gone", "k")) == -2; };
  EXPECT_TRUE(support::becomes_true(20s, is_gone));
  EXPECT_EQ(expires_in(held_key(meter_key("gone", "k"))), -2);
}

// What the records in Redis do not count is found by walking over them.
TEST_F(RedisStoreTest, TellsHowMuchThereIs) {
  limiter_.define(stock("stock").amount(10)).value();
  limiter_.define(window("window").amount(10).per(1h)).value();
  limiter_.take({{"window", "k", 1}}, {.id = "op"}).value();
  limiter_.hold({{"stock", "k", 1}, {"window", "k", 1}}, 1h, {.id = "open"}).value();
  limiter_.hold({{"stock", "k", 1}}, 1min, {.id = "expiring"}).value();
  limiter_.hold({{"stock", "k", 1}}, 1min, {.id = "done"}).value();
  limiter_.commit("done").value();
  const Charge of_node{"stock", "k", 1};
  const auto store = RedisStore::open(server_.patient_url(), {.clock_step_max = {}}).value();
  EXPECT_TRUE(store->hold({.charges = {&of_node, 1}, .ttl = 1min, .id = "mete-node"})->is_allowed);
  server_.call({"SET", "mete.id:{text}", "text"});
  server_.call({"RPUSH", "mete.id:{list}", "text"});
  const auto link = must_open(server_.patient_url());
  Census census(*link, Duration());
  EXPECT_EQ(census.counts().open_holds, std::nullopt);
  const auto now_us = [&] { return us_of(server_.time()); };
  ASSERT_TRUE(census.go_on({.epoch = 0, .now_us = now_us()}).has_value());
  EXPECT_EQ(census.counts().meters, 2U);
  EXPECT_EQ(census.counts().ids, 5U);
  EXPECT_EQ(census.counts().open_holds, 2U);
  EXPECT_EQ(census.counts().orphans, 0U);
  EXPECT_EQ(census.counts().expired_holds, 0U);

  server_.set_time(server_.time() + 2min);
  ASSERT_TRUE(census.go_on({.epoch = 0, .now_us = now_us()}).has_value());
  EXPECT_EQ(census.counts().open_holds, 1U);
  EXPECT_EQ(census.counts().orphans, 1U);
  EXPECT_EQ(census.counts().expired_holds, 1U);
  ASSERT_TRUE(census.go_on({.epoch = 0, .now_us = now_us()}).has_value());
  EXPECT_EQ(census.counts().expired_holds, 1U);

  // A store finds the same, soon after its start.
  const auto another = RedisStore::open(server_.patient_url(), {.clock_step_max = {}}).value();
  EXPECT_TRUE(support::becomes_true(20s, [&] { return another->statistics().orphans == 1U; }));
  EXPECT_EQ(another->statistics().open_holds, 1U);
  ASSERT_TRUE(census.go_on({.epoch = 1, .now_us = now_us()}).has_value());
  EXPECT_EQ(census.counts().ids, 0U) << "cleared";
}

// A clock that is ahead for a moment decides nothing, and nothing stands still behind it.
TEST_F(RedisStoreTest, AStepOfTheClockIsRefused) {
  const Instant begun = server_.time();
  const auto store = RedisStore::open(server_.patient_url(), {}).value();
  Limiter other = open(server_.patient_url()).value();
  const std::vector<Limit> limits = {bucket("bucket").amount(10).per(1h), bucket("burst").amount(10).per(1h).burst(12),
                                     window("window").amount(10).per(1h), sliding("sliding").amount(10).per(1h),
                                     calendar("calendar").amount(10).per(Unit::kHour)};
  for (const Limit& limit : limits) store->define(limit).value();
  const auto take = [&](const std::string& limit, std::string_view key, Amount cost, std::string_view id = {}) {
    const Charge charge{limit, key, cost};
    return store->take({.charges = {&charge, 1}, .id = id}).value().is_allowed;
  };
  const auto is_refused = [&] { return store->clock_status().refused_by != Duration(); };
  const auto charge_all = [&](const std::string& suffix) {
    for (const Limit& limit : limits) {
      SCOPED_TRACE(limit.name() + suffix);
      EXPECT_TRUE(take(limit.name(), "short" + suffix, 10));
      EXPECT_TRUE(take(limit.name(), "long" + suffix, 10, "id" + limit.name() + suffix));
      const std::string held_key = "held" + suffix;
      const Charge held{limit.name(), held_key, 10};
      EXPECT_TRUE(
          store->hold({.charges = {&held, 1}, .ttl = 1min, .id = "hold" + limit.name() + suffix}).value().is_allowed);
      EXPECT_TRUE(store->set_override({limit.name(), "own" + suffix}, 10).has_value());
      EXPECT_TRUE(take(limit.name(), "own" + suffix, 10));
      EXPECT_FALSE(take(limit.name(), "short" + suffix, 10));
      EXPECT_EQ(store->usage({limit.name(), "long" + suffix}).value().used, 10);
    }
    EXPECT_TRUE(store->keys().throttle("throttle" + suffix, {10, 10, 1h, 10})->is_allowed);
    EXPECT_EQ(store->keys().quota_take("quota" + suffix, {10, 3600s}, 10), 0);
  };
  server_.set_time(begun + 366 * 24h);
  charge_all("before it is noticed");
  ASSERT_TRUE(support::becomes_true(20s, is_refused));
  EXPECT_GT(store->clock_status().refused_by, Duration(365 * 24h));
  charge_all("after it is noticed");
  EXPECT_LT(store->now(), begun + 1h);

  server_.set_time(begun + 5min);
  ASSERT_TRUE(support::becomes_true(20s, [&] { return !is_refused(); }));
  EXPECT_EQ(store->clock_status().refused_steps, 1U);
  // Within the bound each, as time goes by.
  for (Duration passed = 10min; passed <= 65min; passed = passed + 5min) {
    server_.set_time(begun + passed);
    ASSERT_TRUE(support::becomes_true(20s, [&] { return store->now() >= begun + passed; }));
  }
  for (const std::string suffix : {"before it is noticed", "after it is noticed"}) {
    for (const Limit& limit : limits) {
      SCOPED_TRACE(limit.name() + suffix);
      for (const std::string key : {"short", "long", "held", "own"}) EXPECT_TRUE(take(limit.name(), key + suffix, 1));
    }
    EXPECT_TRUE(store->keys().throttle("throttle" + suffix, {10, 10, 1h, 1})->is_allowed);
    EXPECT_EQ(store->keys().quota_take("quota" + suffix, {10, 3600s}, 1), 9);
  }
}

// One that was set back by a year lets time go on, too.
TEST_F(RedisStoreTest, AClockThatWasSetBackIsNotFollowed) {
  const auto store = RedisStore::open(server_.patient_url(), {}).value();
  store->define(bucket("bucket").amount(100'000).per(1s)).value();
  server_.set_time(server_.time() + Duration(-24h));
  ASSERT_TRUE(support::becomes_true(20s, [&] { return store->clock_status().refused_by < Duration(); }));
  const Charge all{"bucket", "k", 100'000};
  const Charge one{"bucket", "k", 1};
  EXPECT_TRUE(store->take({.charges = {&all, 1}}).value().is_allowed);
  EXPECT_TRUE(support::becomes_true(20s, [&] { return store->take({.charges = {&one, 1}}).value().is_allowed; }));
}

// Several versions of Mete on one Redis: what one cannot read it leaves alone.
TEST_F(RedisStoreTest, AFormatThatIsNotKnownIsRefused) {
  server_.call({"HSET", kLimitsKey, kFormatField, "99"});
  const auto opened = open(server_.patient_url());
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message.find("format 99"), std::string::npos) << opened.error().message;
}

// Others can write into a Redis, and what they write there is no reason for an exception.
TEST_F(RedisStoreTest, ANumberThatIsNoneIsRefused) {
  server_.call({"HSET", tag_key("batch"), "job", "soon"});
  const auto tagged = limiter_.holds_tagged("batch");
  ASSERT_FALSE(tagged);
  EXPECT_EQ(tagged.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(tagged.error().message.find("'soon' where a number should be"), std::string::npos);

  server_.call({"HSET", kLimitsKey, kGenerationField, "18446744073709551616"});
  const auto opened = open(server_.patient_url());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("'18446744073709551616'"), std::string::npos) << opened.error().message;
}

TEST(LimitEntryText, IsReadAsItIsWritten) {
  const Limit limits[] = {
      bucket("l").amount(10).per(1500us * 1000).burst(20).shadow(),
      window("l").amount(1).per(1h).durable(Durable::kNever).on_fail(OnFail::kOpen),
      calendar("l").amount(5).per(Unit::kYear).zone("Europe/Berlin").anchor(month_day(4, 6)),
      stock("l").amount(kAmountMax).scope(Scope::kShared),
  };
  LimitEntry entry;
  for (const Limit& limit : limits) {
    entry = redefined(entry, limit, 1'000'000);
    const auto read = parse_limit_entry("l", to_text(entry));
    ASSERT_TRUE(read.has_value()) << to_text(entry);
    EXPECT_EQ(*read, entry) << to_text(entry);
  }
  EXPECT_EQ(entry.earlier.size(), 3U);
  entry = dropped(entry, 2'000'000);
  EXPECT_EQ(*parse_limit_entry("l", to_text(entry)), entry);
  for (const std::string_view text :
       {"", "1", "1 1 1 0 0 0 0 0 0\nbucket", "1 1 1 0 0 0 0 0 0\nheap 1 - - - - - 0 - closed node"}) {
    EXPECT_FALSE(parse_limit_entry("l", text).has_value()) << text;
  }
}

TEST(LimitEntrySlots, AreNotGivenAgainWhileValuesMayBeThere) {
  LimitEntry entry;
  std::vector<int> slots;
  for (Amount amount = 1; amount <= 7; ++amount) {
    entry = redefined(entry, bucket("l").amount(amount).per(1h), 1'000'000);
    slots.push_back(entry.slot);
  }
  EXPECT_EQ(slots, (std::vector<int>{0, 1, 2, 3, 4, kNoSlot, kNoSlot}));
  constexpr std::uint64_t kTwoDaysUs = 172'800'000'000;
  EXPECT_EQ(redefined(entry, bucket("l").amount(99).per(1h), kTwoDaysUs).slot, 0);
}

}  // namespace
}  // namespace mete::store::redis
