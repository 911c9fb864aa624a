// Counters, and what every key has: a type, a time to live, a place in listings.
#include <map>
#include <set>

#include "unit/engine/keys_fixture.h"

namespace mete::engine {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST_F(KeysTest, ACounterCounts) {
  EXPECT_EQ(get("c"), std::nullopt);
  EXPECT_EQ(add("c", 1), 1);
  EXPECT_EQ(add("c", 41), 42);
  EXPECT_EQ(add("c", -50), -8);
  EXPECT_EQ(add("c", 0), -8);
  EXPECT_EQ(get("c"), -8);
  EXPECT_EQ(add("new", 0), 0);
  EXPECT_EQ(get("new"), 0) << "made at 0";
  EXPECT_EQ(subject.statistics().keys, 2U);
}

TEST_F(KeysTest, ASumThatOverflowsIsRefused) {
  const struct {
    std::int64_t value, by;
    bool fits;
  } rows[] = {
      {kMax, 1, false},    {kMax - 1, 1, true}, {kMax, 0, true},     {kMin, -1, false}, {kMin + 1, -1, true},
      {kMax, kMax, false}, {kMax, kMin, true},  {kMin, kMin, false}, {-1, kMin, false}, {0, kMin, true},
  };
  for (const auto& row : rows) {
    set("c", row.value);
    const auto sum = keys.add("c", row.by, subject.now);
    ASSERT_EQ(sum.has_value(), row.fits) << row.value << " + " << row.by;
    if (row.fits) {
      EXPECT_EQ(*sum, row.value + row.by);
      continue;
    }
    EXPECT_EQ(sum.error(), (Error{ErrorCode::kInvalid, "increment or decrement would overflow"}));
    EXPECT_EQ(get("c"), row.value) << "nothing changed";
  }
}

TEST_F(KeysTest, SetWithConditions) {
  const struct {
    SetCondition condition;
    std::optional<std::int64_t> before;
    bool is_set;
  } rows[] = {
      {SetCondition::kAlways, std::nullopt, true},     {SetCondition::kAlways, 7, true},
      {SetCondition::kIfAbsent, std::nullopt, true},   {SetCondition::kIfAbsent, 7, false},
      {SetCondition::kIfPresent, std::nullopt, false}, {SetCondition::kIfPresent, 7, true},
  };
  for (const auto& row : rows) {
    keys.remove("c", core::KeyReach::kAnyKey, subject.now);
    if (row.before) set("c", *row.before);
    EXPECT_EQ(set("c", 9, Expiry::none(), row.condition), (core::SetAnswer{row.is_set, row.before}));
    EXPECT_EQ(get("c"), row.is_set ? 9 : row.before);
  }
}

TEST_F(KeysTest, SetReplacesAnyTypeUnlessTheOldValueIsWanted) {
  for (const std::string_view key : {"quota", "throttle"}) {
    make_each();
    const auto refused = keys.set({.key = key, .value = 1, .wants_old = true}, subject.now);
    EXPECT_EQ(refused.error().code, ErrorCode::kWrongType);
    EXPECT_EQ(set(key, 1, Expiry::keep()), (core::SetAnswer{true, std::nullopt}));
    EXPECT_EQ(get(key), 1);
    EXPECT_EQ(ttl(key), Duration::never());
    keys.remove(key, core::KeyReach::kAnyKey, subject.now);
  }
  EXPECT_EQ(subject.statistics().rules, 1U) << "each replaced key has let go of its rule; one quota is left";
  EXPECT_EQ(keys.set({.key = "counter", .value = 6, .wants_old = true}, subject.now).value().old, 5);
}

TEST_F(KeysTest, AQuotaCanBeOutOfReach) {
  constexpr core::KeyReach kReach = core::KeyReach::kAllButQuotas;
  make_each();
  const core::SetAnswer refused = keys.set({.key = "quota", .value = 1, .reach = kReach}, subject.now).value();
  EXPECT_EQ(refused, (core::SetAnswer{.is_set = false, .is_out_of_reach = true}));
  EXPECT_FALSE(keys.remove("quota", kReach, subject.now));
  EXPECT_EQ(type("quota"), KeyType::kQuota);
  for (const std::string_view key : {"counter", "throttle"}) {
    EXPECT_TRUE(keys.set({.key = key, .value = 1, .reach = kReach}, subject.now).value().is_set);
    EXPECT_TRUE(keys.remove(key, kReach, subject.now));
  }
}

TEST_F(KeysTest, CountsThoseThatExpire) {
  const auto expiring = [&] { return subject.statistics().expiring_keys; };
  make_each();
  EXPECT_EQ(expiring(), 1U) << "the throttle";
  set("counter", 1, Expiry::in(10s));
  set("counter", 2, Expiry::in(20s));
  add("counter", 1);
  EXPECT_EQ(expiring(), 2U);
  set("throttle", 1);
  EXPECT_EQ(expiring(), 1U);
  keys.persist("counter", subject.now).value();
  EXPECT_EQ(expiring(), 0U);
  expire("counter", Expiry::in(10s));
  add_bounded({.key = "throttle", .expiry = Expiry::in(10s)});
  set("short", 1, Expiry::in(10s));
  EXPECT_EQ(expiring(), 3U);
  set("counter", 1);
  keys.remove("short", core::KeyReach::kAnyKey, subject.now);
  EXPECT_EQ(expiring(), 1U);
  advance(10s);
  subject.sweep_all();
  EXPECT_EQ(expiring(), 0U);
  set("c", 1, Expiry::in(10s));
  subject.engine.clear();
  EXPECT_EQ(expiring(), 0U);
}

// Further than a Duration reaches.
TEST_F(KeysTest, ACounterMayExpireInCenturies) {
  constexpr Instant kYear2550 = Instant::from_unix_seconds(18'302'976'000);
  set("c", 1, Expiry::at(kYear2550));
  EXPECT_EQ(expires_at("c"), kYear2550);
}

TEST_F(KeysTest, ExpiryIsKeptDroppedOrSet) {
  const struct {
    Expiry expiry;
    std::optional<Duration> ttl;
  } rows[] = {
      {Expiry::keep(), 10s},           {Expiry::none(), Duration::never()}, {Expiry::in(30s), 30s},
      {Expiry::at(kStart + 40s), 40s}, {Expiry::at(kStart), std::nullopt},  {Expiry::at(Instant()), std::nullopt},
  };
  for (const auto& row : rows) {
    set("c", 1, Expiry::in(10s));
    EXPECT_TRUE(set("c", 2, row.expiry).is_set);
    EXPECT_EQ(ttl("c"), row.ttl);
    EXPECT_EQ(get("c"), row.ttl ? std::optional(2) : std::nullopt);

    set("c", 1, Expiry::in(10s));
    EXPECT_TRUE(expire("c", row.expiry));
    EXPECT_EQ(ttl("c"), row.ttl);
  }
  EXPECT_FALSE(expire("unknown", Expiry::in(1s)));
  set("c", 1);
  EXPECT_TRUE(expire("c", Expiry::in(-1s)));
  EXPECT_EQ(type("c"), KeyType::kNone) << "a length that is not above 0 removes it";
}

TEST_F(KeysTest, ExpiryIsSetOnConditions) {
  using enum ExpiryCondition;
  const struct {
    ExpiryCondition condition;
    std::string_view met;  // one letter per pair of before and after, below
  } rows[] = {
      {kAlways, "yyyyyyyy"},  {kIfNone, "yynnnnnn"},   {kIfAny, "nnyyyyyy"},
      {kIfLater, "nnnnyynn"}, {kIfSooner, "ynynnnnn"}, {kIfAnyAndSooner, "nnynnnnn"},
  };
  const struct {
    Expiry before;
    Expiry after;
  } pairs[] = {
      {Expiry::none(), Expiry::in(10s)},
      {Expiry::none(), Expiry::none()},
      {Expiry::in(10s), Expiry::in(Duration(10s) + Duration::from_ns(-1))},
      {Expiry::in(10s), Expiry::in(10s)},
      {Expiry::in(10s), Expiry::in(Duration(10s) + Duration::from_ns(1))},
      {Expiry::in(10s), Expiry::none()},
      {Expiry::in(10s), Expiry::at(kStart + 10s)},
      {Expiry::in(10s), Expiry::keep()},
  };
  for (const auto& row : rows) {
    for (std::size_t index = 0; index < std::size(pairs); ++index) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(row.condition) << " on pair " << index);
      set("c", 1, pairs[index].before);
      const auto before = ttl("c");
      const bool is_met = row.met[index] == 'y';
      EXPECT_EQ(expire("c", pairs[index].after, row.condition), is_met);
      const auto after = ttl("c");
      set("c", 1, pairs[index].before);
      if (is_met) expire("c", pairs[index].after);
      EXPECT_EQ(after, is_met ? ttl("c") : before);
    }
  }
  set("c", 1, Expiry::in(10s));
  EXPECT_FALSE(expire("c", Expiry::at(kStart), kIfLater));
  EXPECT_TRUE(expire("c", Expiry::at(kStart), kIfSooner));
  EXPECT_EQ(type("c"), KeyType::kNone) << "a time that is over is sooner than any other";
}

TEST_F(KeysTest, ACounterExpiresToTheNanosecond) {
  set("c", 5, Expiry::in(10s));
  EXPECT_EQ(add("c", 1), 6);
  advance(Duration(10s) + Duration::from_ns(-1));
  EXPECT_EQ(ttl("c"), Duration::from_ns(1)) << "adding keeps the time";
  EXPECT_EQ(get("c"), 6);
  advance(1ns);
  EXPECT_EQ(get("c"), std::nullopt);
  EXPECT_EQ(add("c", 1), 1);
  EXPECT_EQ(ttl("c"), Duration::never()) << "a new counter";
}

TEST_F(KeysTest, ALateTimeDoesNotBringBackWhatHasExpired) {
  set("c", 5, Expiry::in(10s));
  advance(10s);
  EXPECT_EQ(get("c"), std::nullopt);
  set("d", 1, Expiry::in(1s));
  subject.now = kStart;
  EXPECT_EQ(set("c", 1, Expiry::in(10s)).old, std::nullopt);
  EXPECT_EQ(expires_at("c"), kStart + 20s) << "it happens at the time at which the old one was seen to be gone";
  EXPECT_EQ(expires_at("d"), kStart + 11s);
}

TEST_F(KeysTest, PersistTakesTheExpiryAway) {
  set("c", 1, Expiry::in(10s));
  EXPECT_TRUE(keys.persist("c", subject.now).value());
  EXPECT_FALSE(keys.persist("c", subject.now).value());
  EXPECT_FALSE(keys.persist("unknown", subject.now).value());
  advance(24h);
  EXPECT_EQ(get("c"), 1);
}

TEST_F(KeysTest, TakeOutRemoves) {
  set("c", 7);
  EXPECT_EQ(keys.take_out("c", subject.now).value(), 7);
  EXPECT_EQ(keys.take_out("c", subject.now).value(), std::nullopt);
  EXPECT_EQ(subject.statistics().keys, 0U);
}

TEST_F(KeysTest, BoundedSums) {
  const struct {
    std::int64_t value, by;
    std::optional<std::int64_t> lower, upper;
    bool saturate;
    core::BoundedSum expected;
  } rows[] = {
      {5, 3, {}, {}, false, {8, 3}},
      {5, 3, {}, 8, false, {8, 3}},
      {5, 3, {}, 7, false, {5, 0}},
      {5, 3, {}, 7, true, {7, 2}},
      {5, -6, 0, {}, false, {5, 0}},
      {5, -6, 0, {}, true, {0, -5}},
      {7, 1, {}, 7, true, {7, 0}},
      {10, -1, {}, 5, false, {10, 0}},  // what is outside stays outside,
      {10, -5, {}, 5, false, {5, -5}},  // unless it comes back in
      {10, 1, {}, 5, true, {5, -5}},    // or is capped
      {kMax - 1, 2, {}, {}, false, {kMax - 1, 0}},
      {kMax - 1, 2, {}, {}, true, {kMax, 1}},
      {kMin + 1, -2, {}, {}, true, {kMin, -1}},
      {5, kMax, {}, 10, true, {10, 5}},
      {0, 0, 1, {}, false, {0, 0}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::to_string(row.value) + " + " + std::to_string(row.by));
    set("c", row.value);
    const core::AddBounded request{
        .key = "c", .by = row.by, .lower = row.lower, .upper = row.upper, .saturate = row.saturate};
    EXPECT_EQ(add_bounded(request), row.expected);
    EXPECT_EQ(get("c"), row.expected.value);
  }
  set("c", kMin);
  const auto far = keys.add_bounded({.key = "c", .by = 1, .lower = kMax, .saturate = true}, subject.now);
  EXPECT_EQ(far.error().message, "increment or decrement would overflow");
  EXPECT_EQ(get("c"), kMin);
}

TEST_F(KeysTest, OutOfBoundsLeavesKeyAndExpiryUntouched) {
  const core::AddBounded request{.key = "c", .by = 1, .upper = 0, .expiry = Expiry::in(1h)};
  EXPECT_EQ(add_bounded(request), (core::BoundedSum{0, 0}));
  EXPECT_EQ(type("c"), KeyType::kNone) << "absent stays absent";
  set("c", 0, Expiry::in(10s));
  EXPECT_EQ(add_bounded(request), (core::BoundedSum{0, 0}));
  EXPECT_EQ(ttl("c"), Duration(10s));
}

TEST_F(KeysTest, BoundedSumsSetTheExpiry) {
  const struct {
    std::optional<Duration> before;  // none: no such key
    Expiry expiry;
    bool only_if_none;
    std::optional<Duration> after;
  } rows[] = {
      {std::nullopt, Expiry::keep(), false, Duration::never()},
      {std::nullopt, Expiry::in(1h), true, 1h},
      {10s, Expiry::keep(), false, 10s},
      {10s, Expiry::none(), false, Duration::never()},
      {10s, Expiry::in(1h), false, 1h},
      {10s, Expiry::in(1h), true, 10s},
      {Duration::never(), Expiry::in(1h), true, 1h},
      {10s, Expiry::at(kStart), false, std::nullopt},
  };
  for (const auto& row : rows) {
    keys.remove("c", core::KeyReach::kAnyKey, subject.now);
    if (row.before) set("c", 0, row.before->is_never() ? Expiry::none() : Expiry::in(*row.before));
    EXPECT_EQ(add_bounded({.key = "c", .expiry = row.expiry, .expiry_only_if_none = row.only_if_none}),
              (core::BoundedSum{1, 1}));
    EXPECT_EQ(ttl("c"), row.after);
  }
}

TEST_F(KeysTest, OperationsOfAnotherTypeAreRefusedAndChangeNothing) {
  make_each();
  const std::map<std::string_view, std::function<std::optional<ErrorCode>(std::string_view)>> operations{
      {"get", [&](auto key) { return code_of(keys.get(key, subject.now)); }},
      {"take_out", [&](auto key) { return code_of(keys.take_out(key, subject.now)); }},
      {"add", [&](auto key) { return code_of(keys.add(key, 1, subject.now)); }},
      {"add_bounded", [&](auto key) { return code_of(keys.add_bounded({.key = key}, subject.now)); }},
      {"quota_set",
       [&](auto key) {
         return code_of(keys.quota_set(key, {1, 1s}, subject.now));
       }},
      {"quota_get", [&](auto key) { return code_of(keys.quota_get(key, subject.now)); }},
      {"quota_remove", [&](auto key) { return code_of(keys.quota_remove(key, subject.now)); }},
      {"quota_take",
       [&](auto key) {
         return code_of(keys.quota_take(key, {1, 1s}, 1, subject.now));
       }},
      {"throttle",
       [&](auto key) {
         return code_of(keys.throttle(key, {1, 1, 1s, 1}, subject.now));
       }},
      {"expire",
       [&](auto key) { return code_of(keys.expire(key, Expiry::in(1s), ExpiryCondition::kAlways, subject.now)); }},
      {"persist", [&](auto key) { return code_of(keys.persist(key, subject.now)); }},
  };
  const struct {
    std::string_view key;
    std::set<std::string_view> refused;
  } rows[] = {
      {"counter", {"quota_set", "quota_get", "quota_remove", "quota_take", "throttle"}},
      {"quota", {"take_out", "add_bounded", "throttle", "expire"}},
      {"throttle",
       {"get", "take_out", "add", "add_bounded", "quota_set", "quota_get", "quota_remove", "quota_take", "expire",
        "persist"}},
  };
  for (const auto& row : rows) {
    for (const std::string_view name : row.refused) {
      EXPECT_EQ(operations.at(name)(row.key), ErrorCode::kWrongType) << name << " on " << row.key;
    }
  }
  EXPECT_EQ(get("counter"), 5);
  EXPECT_EQ(get("quota"), 10);
  EXPECT_EQ(throttle("throttle", {5, 1, 1s, 0}).remaining, 4);
  EXPECT_EQ(keys.get("throttle", subject.now).error().message,
            "Operation against a key holding the wrong kind of value");
}

TEST_F(KeysTest, TypesAndTimesToLive) {
  make_each();
  EXPECT_EQ(type("counter"), KeyType::kCounter);
  EXPECT_EQ(type("quota"), KeyType::kQuota);
  EXPECT_EQ(type("throttle"), KeyType::kThrottle);
  EXPECT_EQ(type("unknown"), KeyType::kNone);
  EXPECT_EQ(ttl("counter"), Duration::never());
  EXPECT_EQ(ttl("quota"), Duration::never());
  EXPECT_EQ(ttl("throttle"), Duration(1s));
  EXPECT_EQ(ttl("unknown"), std::nullopt);
  for (const std::string_view key : {"counter", "quota", "throttle"}) {
    EXPECT_TRUE(keys.remove(key, core::KeyReach::kAnyKey, subject.now));
    EXPECT_FALSE(keys.remove(key, core::KeyReach::kAnyKey, subject.now));
    EXPECT_EQ(type(key), KeyType::kNone);
  }
  EXPECT_EQ(subject.statistics().rules, 0U);
}

TEST_F(KeysTest, AListingHasEveryKeyOnceWhileOthersComeAndGo) {
  constexpr std::size_t kKeys = 20'000;
  for (std::size_t i = 0; i < kKeys; ++i) set(key_of(i), 1);
  make_each();
  std::map<std::string, int> seen;
  std::uint64_t cursor = 0;
  std::size_t step = 0;
  do {
    const core::KeyPage page = keys.scan(cursor, 10, subject.now);
    for (const core::ListedKey& listed : page.keys) ++seen[listed.key];
    // The table grows and shrinks meanwhile.
    for (std::size_t i = 0; i < 30; ++i) set("other" + key_of(step * 30 + i), 1, Expiry::in(1s));
    if (step % 500 == 499) {
      advance(1s);
      subject.sweep_all();
    }
    ++step;
    cursor = page.cursor;
  } while (cursor != 0);
  for (std::size_t i = 0; i < kKeys; ++i) ASSERT_EQ(seen[key_of(i)], 1) << key_of(i);
  EXPECT_EQ(seen["counter"] + seen["quota"], 2);
  EXPECT_GT(step, 500U);
}

TEST_F(KeysTest, AListingTellsTypesAndLeavesOutWhatHasGone) {
  make_each();
  set("brief", 1, Expiry::in(1s));
  subject.engine.define(stock("storage").amount(10), subject.now).value();
  subject.take("storage", "meters are not listed");
  const auto list = [&] {
    std::map<std::string, KeyType> all;
    std::uint64_t cursor = 0;
    do {
      const core::KeyPage page = keys.scan(cursor, 0, subject.now);
      for (const core::ListedKey& listed : page.keys) all.emplace(listed.key, listed.type);
      cursor = page.cursor;
    } while (cursor != 0);
    return all;
  };
  EXPECT_EQ(list(), (std::map<std::string, KeyType>{{"brief", KeyType::kCounter},
                                                    {"counter", KeyType::kCounter},
                                                    {"quota", KeyType::kQuota},
                                                    {"throttle", KeyType::kThrottle}}));
  advance(1s);
  EXPECT_EQ(keys.size(), 4U) << "nobody has noticed yet";
  EXPECT_EQ(list().size(), 2U);
  EXPECT_EQ(keys.size(), 2U);
}

}  // namespace
}  // namespace mete::engine
