// The memory ceiling: new meters are refused, existing ones go on, and only what is as good as fresh is evicted.
#include "unit/engine/engine_fixture.h"

namespace mete::engine {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kCeiling = std::size_t{1} << 20;

class Memory : public ::testing::Test {
 protected:
  Memory() {
    subject_.engine.define(stock("storage").amount(100), subject_.now).value();
    subject_.engine.define(bucket("api").amount(10).per(1s), subject_.now).value();
  }

  // Takes one unit on new keys until there is no memory for another; how many there were.
  std::size_t fill(std::string_view limit) {
    for (std::size_t i = 0;; ++i) {
      const auto verdict = subject_.try_take(limit, key_of(i), 1);
      if (verdict.has_value()) continue;
      EXPECT_EQ(verdict.error().code, ErrorCode::kOutOfMemory);
      EXPECT_NE(verdict.error().message.find("max_memory"), std::string::npos) << verdict.error().message;
      EXPECT_NE(verdict.error().message.find(std::to_string(kCeiling)), std::string::npos);
      return i;
    }
  }

  Subject subject_{{.max_memory = kCeiling}};
};

TEST_F(Memory, NewMetersAreRefusedAndExistingOnesGoOn) {
  const std::size_t count = fill("storage");
  EXPECT_GT(count, 5000U);
  EXPECT_LE(subject_.statistics().memory_bytes, kCeiling + 4 * Slab::kChunkBytes);
  EXPECT_GT(subject_.statistics().memory_bytes, kCeiling * 9 / 10);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(subject_.take("storage", key_of(i), 2), 2);
    EXPECT_EQ(subject_.give("storage", key_of(i), 1), 1);
    EXPECT_EQ(subject_.usage("storage", key_of(i)).used, 2);
  }
  EXPECT_EQ(subject_.usage("storage", "unknown").used, 0) << "asking needs no memory";
  EXPECT_EQ(subject_.engine.reconcile({"storage", "key:0", 0}, 50, subject_.now).value().used_before, 2);
  EXPECT_FALSE(subject_.try_take("storage", "another", 1).has_value());
}

TEST_F(Memory, ARefusalChangesNothing) {
  fill("storage");
  const Charge both[] = {{"storage", "key:0", 3}, {"storage", "new", 3}};
  EXPECT_EQ(subject_.engine.take({.charges = both}, subject_.now).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(subject_.engine.take({.charges = both, .id = "id"}, subject_.now).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(subject_.engine.hold({.charges = both, .ttl = 1h, .id = "id", .tag = "tag"}, subject_.now).error().code,
            ErrorCode::kOutOfMemory);
  EXPECT_EQ(subject_.engine.reconcile({"storage", "new", 0}, 3, subject_.now).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(subject_.engine.give({both, 1}, std::string(128, 'i'), subject_.now).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(subject_.engine.set_override({"storage", std::string(500, 'k'), 0}, 3, subject_.now).error().code,
            ErrorCode::kOutOfMemory);
  EXPECT_EQ(subject_.usage("storage", key_of(0)).used, 1);
  EXPECT_EQ(subject_.usage("storage", key_of(0)).held, 0);
  EXPECT_EQ(subject_.usage("storage", "new").used, 0);
  EXPECT_FALSE(subject_.engine.find_hold("id", subject_.now).has_value());
  EXPECT_TRUE(subject_.engine.holds_tagged("tag", subject_.now).empty());
  EXPECT_EQ(subject_.statistics().open_holds, 0U);
  EXPECT_EQ(subject_.statistics().ids, 0U) << "an error is not remembered";
}

TEST_F(Memory, AHoldWhoseIdStillFitsLeavesNothingBehind) {
  subject_.try_take("storage", "key:0", 0, "id:1").value();  // ids of this length have room from here on
  const std::size_t count = fill("storage");
  const std::string key = key_of(count);
  EXPECT_EQ(subject_.try_hold({"storage", key, 3}, 1h, "id:2").error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(subject_.try_take("storage", key, 3, "id:3").error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(subject_.statistics().ids, 1U) << "an error is not remembered";
  EXPECT_EQ(subject_.statistics().open_holds, 0U);
  EXPECT_EQ(subject_.usage("storage", key).held, 0);
  EXPECT_TRUE(subject_.try_take("storage", "key:0", 1, "id:2").value().is_allowed) << "and its id is free";
}

TEST_F(Memory, FreshMetersAreEvictedAndNoOthers) {
  for (std::size_t i = 0; i < 500; ++i) subject_.take("storage", key_of(i), 7);
  subject_.engine.set_override({"api", "vip", 0}, 50, subject_.now).value();
  const std::size_t count = fill("api");
  EXPECT_GT(count, 1000U);
  subject_.now = subject_.now + 99ms;
  EXPECT_FALSE(subject_.try_take("api", key_of(count), 1).has_value()) << "none is fresh yet";
  subject_.now = subject_.now + 1ms;
  std::size_t admitted = 0;
  for (std::size_t i = 0; i < count / 2; ++i)
    admitted += subject_.try_take("api", "new" + key_of(i), 10).has_value() ? 1U : 0U;
  EXPECT_EQ(admitted, count / 2) << "now all of them are";
  for (std::size_t i = 0; i < 500; ++i) ASSERT_EQ(subject_.usage("storage", key_of(i)).used, 7);
  for (std::size_t i = 0; i < count / 2; ++i) ASSERT_EQ(subject_.usage("api", "new" + key_of(i)).used, 10);
  EXPECT_EQ(subject_.usage("api", "vip").limit, 50);
}

// Looking for room costs more than what is refused: so after a look in vain the next ones are refused without.
TEST_F(Memory, ARefusalDoesNotLookForRoomAgainAndAgain) {
  const std::size_t count = fill("storage");
  const auto refuse = [&] { ASSERT_FALSE(subject_.try_take("storage", key_of(count), 1).has_value()); };
  // Each look is a step of the sweep: so a meter that has become fresh stays where nobody looks.
  for (int i = 0; i < 10; ++i) {
    refuse();
    subject_.now = subject_.now + 100ms;
  }
  refuse();
  for (std::size_t i = 0; i < count; ++i) subject_.give("storage", key_of(i));
  for (int i = 0; i < 1000; ++i) refuse();
  EXPECT_EQ(subject_.statistics().meters, count) << "no meter was looked at";
  subject_.now = subject_.now + 100ms;
  EXPECT_TRUE(subject_.try_take("storage", key_of(count), 1).has_value());
}

TEST_F(Memory, OldIdsMakeRoomToo) {
  std::size_t count = 0;
  while (subject_.try_take("storage", "a", 0, key_of(count)).has_value()) ++count;
  EXPECT_GT(count, 1000U);
  EXPECT_EQ(subject_.try_take("storage", "a", 0, "another").error().code, ErrorCode::kOutOfMemory);
  EXPECT_TRUE(subject_.try_take("storage", "a", 0, key_of(3)).has_value()) << "what is known is answered";
  subject_.now = subject_.now + 24h;
  EXPECT_TRUE(subject_.try_take("storage", "a", 0, "another").has_value());
}

TEST_F(Memory, ARedefinitionNeedsNoRoom) {
  const std::size_t count = fill("storage");
  subject_.engine.define(sliding("storage").amount(100).per(1h), subject_.now).value();
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(subject_.usage("storage", key_of(i)).used, 1);
  subject_.engine.define(stock("storage").amount(100), subject_.now).value();
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(subject_.usage("storage", key_of(i)).used, 1);
}

TEST_F(Memory, ADroppedLimitMakesRoom) {
  fill("storage");
  EXPECT_TRUE(subject_.engine.drop("storage"));
  EXPECT_EQ(subject_.statistics().meters, 0U);
  subject_.engine.define(stock("storage").amount(100), subject_.now).value();
  EXPECT_GT(fill("storage"), 5000U);
}

TEST(MemoryOfHolds, HoldsAreCounted) {
  Subject subject{{.max_memory = kCeiling}};
  subject.engine.define(stock("storage").amount(kAmountMax), subject.now).value();
  std::size_t count = 0;
  while (subject.try_hold({"storage", "a", 1}, 1h, key_of(count), key_of(count)).has_value()) ++count;
  EXPECT_GT(count, 500U);
  EXPECT_LT(count, kCeiling / 150) << "a hold, its part and its tag take more than 150 bytes";
  EXPECT_EQ(subject.usage("storage", "a").held, static_cast<Amount>(count));
  EXPECT_EQ(subject.engine.cancel(key_of(0), subject.now).value().amount, 1) << "they go on working";
  EXPECT_EQ(subject.engine.extend(key_of(1), 2h, subject.now).value().ns(), Duration(2h).ns());
  subject.now = subject.now + 26h;
  EXPECT_TRUE(subject.try_hold({"storage", "b", 1}, 1h, "late").value().is_allowed);
}

TEST(MemoryOfRules, KeysWithTheSameOverrideShareARule) {
  Subject subject;
  subject.engine.define(bucket("api").amount(10).per(1s).burst(20), subject.now).value();
  subject.engine.define(bucket("same numbers").amount(10).per(1s).burst(20), subject.now).value();
  EXPECT_EQ(subject.statistics().rules, 1U);
  for (std::size_t i = 0; i < 1000; ++i) subject.engine.set_override({"api", key_of(i), 0}, 50, subject.now).value();
  EXPECT_EQ(subject.statistics().rules, 2U);
  EXPECT_EQ(subject.statistics().overrides, 1000U);
  subject.engine.define(bucket("api").amount(10).per(2s).burst(20), subject.now).value();
  EXPECT_EQ(subject.statistics().rules, 3U) << "the other limit's, this one's, and that of all overrides";
  for (std::size_t i = 0; i < 999; ++i) subject.engine.set_override({"api", key_of(i), 0}, {}, subject.now).value();
  EXPECT_EQ(subject.statistics().rules, 3U);
  subject.engine.set_override({"api", key_of(999), 0}, {}, subject.now).value();
  EXPECT_EQ(subject.statistics().rules, 2U);
  subject.engine.set_override({"api", "a", 0}, 70, subject.now).value();
  subject.engine.set_override({"api", "a", 0}, 80, subject.now).value();
  EXPECT_EQ(subject.statistics().rules, 3U);
  EXPECT_TRUE(subject.engine.drop("api"));
  EXPECT_TRUE(subject.engine.drop("same numbers"));
  EXPECT_EQ(subject.statistics().rules, 0U);
  EXPECT_EQ(subject.statistics().overrides, 0U);
}

}  // namespace
}  // namespace mete::engine
