// Keys and memory: the ceiling, the sweep, and what a key leaves behind.
#include "unit/engine/keys_fixture.h"

namespace mete::engine {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kKeysCeiling = std::size_t{1} << 20;

class KeysMemory : public ::testing::Test {
 protected:
  // Makes counters until there is no memory for another; how many there were.
  std::size_t fill(Expiry expiry = Expiry::none()) {
    for (std::size_t i = 0;; ++i) {
      const auto answer = keys.set({.key = key_of(i), .value = 1, .expiry = expiry}, subject.now);
      if (answer) continue;
      EXPECT_EQ(answer.error().code, ErrorCode::kOutOfMemory);
      return i;
    }
  }

  Subject subject{{.max_memory = kKeysCeiling}};
  Keys& keys = subject.engine.keys();
};

TEST_F(KeysMemory, NewKeysAreRefusedAndExistingOnesGoOn) {
  keys.quota_set("quota", {1'000'000, 60s}, subject.now).value();
  EXPECT_TRUE(keys.throttle("throttle", {100, 1, 1s, 1}, subject.now).value().is_allowed);
  const std::size_t count = fill();
  EXPECT_GT(count, 5000U);
  EXPECT_LE(subject.statistics().memory_bytes, kKeysCeiling + 4 * Slab::kChunkBytes);
  const std::string fresh(200, 'k');
  EXPECT_EQ(keys.add(fresh, 1, subject.now).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(keys.add_bounded({.key = fresh}, subject.now).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(keys.quota_set(fresh, {7, 7s}, subject.now).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(keys.quota_take(fresh, {7, 7s}, 1, subject.now).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(keys.throttle(fresh, {7, 7, 7s, 1}, subject.now).error().code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(keys.throttle(fresh, {7, 7, 7s, 0}, subject.now).value().is_allowed) << "asking needs no memory";
  EXPECT_EQ(keys.type(fresh, subject.now), KeyType::kNone);
  EXPECT_EQ(subject.statistics().rules, 2U) << "what was refused holds no rule";

  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(keys.add(key_of(i), 1, subject.now).value(), 2);
  EXPECT_TRUE(keys.expire(key_of(0), Expiry::in(1h), ExpiryCondition::kAlways, subject.now).value());
  EXPECT_EQ(keys.add("quota", 1, subject.now).value(), 999'999);
  keys.quota_set("quota", {10, 60s}, subject.now).value();
  EXPECT_TRUE(keys.throttle("throttle", {100, 2, 1s, 1}, subject.now).value().is_allowed);
  EXPECT_TRUE(keys.set({.key = "quota", .value = 1}, subject.now).value().is_set) << "one in place of another";
}

TEST_F(KeysMemory, WhatHasExpiredMakesRoom) {
  const std::size_t count = fill(Expiry::in(1s));
  subject.now = subject.now + 1s;
  for (std::size_t i = 0; i < count / 2; ++i) {
    ASSERT_TRUE(keys.set({.key = "new" + key_of(i), .value = 1}, subject.now).has_value()) << i;
  }
}

TEST_F(KeysMemory, DistinctRulesCount) {
  std::size_t count = 0;
  while (keys.quota_set(key_of(count), {static_cast<Amount>(count) + 1, 1s}, subject.now)) ++count;
  EXPECT_GT(count, 500U);
  EXPECT_LT(count, 5000U) << "each has a rule of its own, of some hundred bytes";
  EXPECT_EQ(subject.statistics().rules, count);
}

TEST_F(KeysMemory, NothingIsLeftBehind) {
  const std::size_t bytes = *subject.statistics().memory_bytes;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 1000; ++i) {
      keys.set({.key = "c" + key_of(i), .value = 1, .expiry = Expiry::in(1s)}, subject.now).value();
      keys.quota_set("q" + key_of(i), {static_cast<Amount>(i % 10) + 1, 1s}, subject.now).value();
      EXPECT_TRUE(keys.throttle("t" + key_of(i), {static_cast<Amount>(i % 10) + 1, 1, 1s, 1}, subject.now).has_value());
    }
    subject.now = subject.now + 10s;
    for (std::size_t i = 0; i < 1000; ++i)
      EXPECT_TRUE(keys.remove("q" + key_of(i), core::KeyReach::kAnyKey, subject.now));
    subject.sweep_all();
    EXPECT_EQ(subject.statistics().keys, 0U);
    EXPECT_EQ(subject.statistics().rules, 0U);
    EXPECT_LE(subject.statistics().memory_bytes, bytes + 8 * Slab::kChunkBytes);
  }
}

}  // namespace
}  // namespace mete::engine
