// Sweep: what time has made needless goes away, a bucket at a time, and nothing else.
#include <algorithm>

#include "unit/engine/engine_fixture.h"

namespace mete::engine {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

const Limit kLimits[] = {
    bucket("bucket").amount(10).per(1h),
    window("window").amount(10).per(1h),
    sliding("sliding").amount(10).per(1h),
    calendar("calendar").amount(10).per(Unit::kHour),
};

TEST(Sweep, FreshMetersAreForgottenAndTheirMemoryReturns) {
  for (const Limit& limit : kLimits) {
    SCOPED_TRACE(limit.name());
    Subject subject;
    subject.engine.define(limit, subject.now).value();
    const std::size_t bytes = *subject.statistics().memory_bytes;
    const std::size_t buckets = subject.engine.buckets();
    for (std::size_t i = 0; i < 30'000; ++i) subject.take(limit.name(), key_of(i), 10);
    EXPECT_EQ(subject.statistics().meters, 30'000U);
    EXPECT_GT(subject.statistics().memory_bytes, bytes + 900'000);
    subject.sweep_all();
    EXPECT_EQ(subject.statistics().meters, 30'000U) << "they are in use";
    subject.now = subject.now + 2h;
    subject.sweep_all();
    EXPECT_EQ(subject.statistics().meters, 0U);
    for (int i = 0; i < 10; ++i) subject.sweep_all();
    EXPECT_EQ(subject.engine.buckets(), buckets);
    EXPECT_LE(subject.statistics().memory_bytes, bytes + 8 * Slab::kChunkBytes);
  }
}

TEST(Sweep, MetersInUseStay) {
  Subject subject;
  subject.engine.define(stock("storage").amount(10), subject.now).value();
  for (const Limit& limit : kLimits) subject.engine.define(limit, subject.now).value();
  for (std::size_t i = 0; i < 100; ++i) {
    subject.take("storage", key_of(i), 1);
    for (const Limit& limit : kLimits) subject.take(limit.name(), key_of(i), 1);
  }
  subject.now = subject.now + 24h * 365;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().meters, 100U) << "stock comes back only when it is given back";
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(subject.usage("storage", key_of(i)).used, 1);
  for (std::size_t i = 0; i < 100; ++i) subject.give("storage", key_of(i));
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().meters, 0U);
}

// Many holds of one meter that expire together count no more at once; but no operation erases all of them.
TEST(Sweep, ManyExpiredHoldsAreErasedAFewAtATime) {
  for (const Limit& limit : {stock("jobs").amount(10'000), window("jobs").amount(10'000).per(1h)}) {
    SCOPED_TRACE(to_string(limit.kind()));
    Subject subject;
    subject.engine.define(limit, subject.now).value();
    for (std::size_t i = 0; i < 5'000; ++i) {
      subject.try_hold({"jobs", "a", 1}, 10s, key_of(i), i < 3'000 ? "tag" : "").value();
    }
    subject.try_hold({"jobs", "a", 7}, 20s, "stays").value();
    const std::size_t before = *subject.statistics().memory_bytes;
    subject.now = subject.now + 10s;
    EXPECT_EQ(subject.usage("jobs", "a").held, 7);
    EXPECT_EQ(subject.usage("jobs", "a").used, 0);
    const std::size_t after = *subject.statistics().memory_bytes;
    EXPECT_LT(before - after, 2'000U * 200) << "no more than a part of them";
    EXPECT_EQ(subject.take("jobs", "a", 9'993), 9'993) << "and none of them counts";
    EXPECT_EQ(subject.engine.holds({"jobs", "a"}, 10, subject.now).value(), std::vector<std::string>{"stays"});
    subject.sweep_all();
    for (int round = 0; round < 20; ++round) subject.sweep_all();
    EXPECT_GT(before - *subject.statistics().memory_bytes, 5'000U * 100);
    EXPECT_EQ(subject.engine.holds_tagged("tag", subject.now).size(), 0U);
    EXPECT_EQ(subject.usage("jobs", "a").held, 7);
    EXPECT_EQ(subject.engine.commit({.id = "stays"}, subject.now).value().amount, 7);
  }
}

TEST(Sweep, SlidingStaysWhileAChargeCounts) {
  Subject subject;
  subject.now = Instant::from_unix_seconds(3600UL * 472'222);
  subject.engine.define(kLimits[2], subject.now).value();
  subject.take("sliding", "a", 5);
  subject.now = subject.now + Duration(59min + 59s);
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().meters, 1U);
  EXPECT_EQ(subject.usage("sliding", "a").used, 5);
  subject.now = subject.now + 1s;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().meters, 0U);
}

TEST(Sweep, OneStepIsOneBucket) {
  Subject subject;
  subject.engine.define(kLimits[0], subject.now).value();
  for (std::size_t i = 0; i < 3000; ++i) subject.take("bucket", key_of(i));
  subject.now = subject.now + 1h;
  const std::size_t steps = subject.engine.buckets();
  std::size_t largest = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t before = *subject.statistics().meters;
    subject.engine.sweep(1, subject.now);
    largest = std::max(largest, before - *subject.statistics().meters);
  }
  EXPECT_EQ(subject.statistics().meters, 0U) << "one round is enough";
  EXPECT_GT(largest, 0U);
  EXPECT_LE(largest, 33U) << "no step is more than a bucket and its overflow";
}

TEST(Sweep, OverridesStay) {
  Subject subject;
  subject.engine.define(kLimits[0], subject.now).value();
  subject.engine.set_override({"bucket", "vip", 0}, 50, subject.now).value();
  subject.take("bucket", "vip", 50);
  subject.now = subject.now + 24h;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().meters, 0U);
  EXPECT_EQ(subject.statistics().overrides, 1U);
  EXPECT_EQ(subject.take("bucket", "vip", 50), 50);
}

TEST(Sweep, ExpiredHoldsAreCountedAndOpenOnesKept) {
  Subject subject;
  subject.engine.define(stock("credits").amount(1000), subject.now).value();
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_TRUE(
        subject.try_hold({"credits", key_of(i % 5), 1}, i % 2 == 0 ? Duration(1h) : Duration(48h), key_of(i), "tag")
            .value()
            .is_allowed);
  }
  EXPECT_EQ(subject.statistics().open_holds, 50U);
  subject.now = subject.now + 2h;
  EXPECT_EQ(subject.statistics().expired_holds, 0U) << "nobody has noticed yet";
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().open_holds, 25U);
  EXPECT_EQ(subject.statistics().expired_holds, 25U);
  EXPECT_EQ(subject.engine.holds_tagged("tag", subject.now).size(), 25U);
  // Past the retention of ids: the open ones are there still, the expired ones are forgotten a day after their end.
  subject.now = subject.now + 24h;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().ids, 25U);
  EXPECT_EQ(subject.engine.cancel(key_of(0), subject.now).error().code, ErrorCode::kNoHold);
  EXPECT_EQ(subject.engine.commit({.id = key_of(1)}, subject.now).value().amount, 1);
  subject.now = subject.now + 48h;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().open_holds, 0U);
  EXPECT_EQ(subject.statistics().expired_holds, 49U);
  subject.now = subject.now + 24h;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().ids, 0U);
  EXPECT_EQ(subject.statistics().meters, 1U) << "where one unit was committed";
}

TEST(Sweep, AHoldLeavesNothingBehind) {
  Subject subject;
  subject.engine.define(stock("credits").amount(kAmountMax), subject.now).value();
  subject.take("credits", "a");
  const std::size_t bytes = *subject.statistics().memory_bytes;
  constexpr std::size_t kHolds = 5000;
  for (std::size_t i = 0; i < kHolds; ++i) {
    EXPECT_TRUE(subject.try_hold({"credits", "a", 1}, 1h, key_of(i), "tag").value().is_allowed);
    if (i % 2 == 0) {
      subject.engine.commit({.id = key_of(i)}, subject.now).value();
    } else {
      subject.engine.cancel(key_of(i), subject.now).value();
    }
  }
  EXPECT_TRUE(subject.engine.holds({"credits", "a", 0}, 10, subject.now).value().empty());
  EXPECT_LE(subject.statistics().memory_bytes, bytes + kHolds * 600) << "the answer for its id, for a day";
  subject.now = subject.now + 24h;
  for (int i = 0; i < 5; ++i) subject.sweep_all();
  EXPECT_EQ(subject.statistics().ids, 0U);
  EXPECT_LE(subject.statistics().memory_bytes, bytes + 8 * Slab::kChunkBytes);
}

TEST(Sweep, WhatWasForgottenIsNotBroughtBackByALateTime) {
  Subject subject;
  subject.engine.define(bucket("api").amount(10).per(10s), subject.now).value();
  subject.take("api", "a", 10);
  subject.now = kStart + 10s;
  subject.sweep_all();
  EXPECT_EQ(subject.statistics().meters, 0U);
  // A thread that read its clock before the sweep: it takes place at the sweep's time.
  subject.now = kStart + 5s;
  EXPECT_EQ(subject.take("api", "a", 10), 10);
  subject.now = kStart + 10s;
  EXPECT_EQ(subject.take("api", "a", 1), 0);
  subject.now = kStart + 11s;
  EXPECT_EQ(subject.take("api", "a", 1), 1);
}

TEST(Sweep, ALimitThatChangesItsKindBetweenSweeps) {
  Subject subject;
  subject.engine.define(stock("api").amount(100), subject.now).value();
  for (std::size_t i = 0; i < 500; ++i) subject.take("api", key_of(i), 5);
  EXPECT_TRUE(subject.try_hold({"api", key_of(0), 5}, 1h, "hold").value().is_allowed);
  for (const Limit& limit : {sliding("api").amount(100).per(1h), bucket("api").amount(100).per(1h),
                             window("api").amount(100).per(1h), stock("api").amount(100)}) {
    subject.engine.define(limit, subject.now).value();
    subject.sweep_all();
    EXPECT_EQ(subject.statistics().meters, 500U);
    EXPECT_EQ(subject.usage("api", key_of(0)).held, 5);
    EXPECT_EQ(subject.usage("api", key_of(499)).used, 5);
  }
}

TEST(Tags, AreListedWhole) {
  Subject subject;
  subject.engine.define(stock("storage").amount(kAmountMax), subject.now).value();
  std::vector<std::string> open;
  constexpr std::size_t kHolds = 2 * HoldTags::kPageHolds + 500;
  for (std::size_t i = 0; i < kHolds; ++i) {
    const Duration ttl = i % 3 == 0 ? Duration(1s) : Duration(1h);
    subject.try_hold({"storage", "a", 1}, ttl, key_of(i), "tag").value();
    if (i % 3 != 0) open.push_back(key_of(i));
  }
  subject.now = subject.now + 2s;
  std::sort(open.begin(), open.end());
  EXPECT_EQ(subject.engine.holds_tagged("tag", subject.now), open);
  EXPECT_TRUE(subject.engine.holds_tagged("no such tag", subject.now).empty());
  subject.engine.clear();
  EXPECT_TRUE(subject.engine.holds_tagged("tag", subject.now).empty());
  EXPECT_EQ(subject.usage("storage", "a").held, 0);
}

}  // namespace
}  // namespace mete::engine
