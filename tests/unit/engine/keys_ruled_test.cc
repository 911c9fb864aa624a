// Quotas and throttles: meters that carry their own rule.
#include "unit/engine/keys_fixture.h"

namespace mete::engine {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr Instant kMinute = Instant::from_unix_seconds(1'700'000'040);  // a multiple of 60

class Quotas : public KeysTest {
 protected:
  Quotas() { subject.now = kMinute; }
  Amount take(Amount units, core::QuotaRule rule = {10, 60s}) {
    return keys.quota_take("q", rule, units, subject.now).value();
  }
  std::optional<core::QuotaStanding> standing() { return keys.quota_get("q", subject.now).value(); }
};

TEST_F(Quotas, ConsumeUntilNothingRemains) {
  quota("q", 10, 60s);
  EXPECT_EQ(standing(), (core::QuotaStanding{{10, 60s}, 10}));
  EXPECT_EQ(add("q", 1), 9);
  EXPECT_EQ(add("q", 7), 2);
  EXPECT_EQ(add("q", 3), -1);
  EXPECT_EQ(get("q"), 2) << "a denial changes nothing";
  EXPECT_EQ(add("q", 2), 0);
  EXPECT_EQ(add("q", 1), -1);
  EXPECT_EQ(add("q", 11), -1) << "and so does what can never fit";
  advance(Duration(60s) + Duration::from_ns(-1));
  EXPECT_EQ(get("q"), 0);
  advance(1ns);
  EXPECT_EQ(get("q"), 10) << "the next multiple of the window since the epoch";
  EXPECT_EQ(add("q", 4), 6);
}

TEST_F(Quotas, TakingDefinesWhatIsAbsentAndNothingElse) {
  EXPECT_EQ(take(4), 6);
  EXPECT_EQ(take(4, {100, 1h}), 2) << "there is one already";
  EXPECT_EQ(standing(), (core::QuotaStanding{{10, 60s}, 2}));
  EXPECT_TRUE(keys.quota_remove("q", subject.now).value());
  EXPECT_FALSE(keys.quota_remove("q", subject.now).value());
  EXPECT_EQ(standing(), std::nullopt);
  EXPECT_EQ(take(11), -1);
  EXPECT_EQ(standing(), (core::QuotaStanding{{10, 60s}, 10})) << "defined, and denied";
}

TEST_F(Quotas, DefiningAgainKeepsTheUsage) {
  quota("q", 10, 60s);
  add("q", 8);
  quota("q", 20, 60s);
  EXPECT_EQ(standing(), (core::QuotaStanding{{20, 60s}, 12}));
  quota("q", 5, 60s);
  EXPECT_EQ(standing(), (core::QuotaStanding{{5, 60s}, 0})) << "usage above a lowered limit stays";
  advance(30s);
  quota("q", 10, 3600s);
  EXPECT_EQ(standing(), (core::QuotaStanding{{10, 3600s}, 2})) << "and goes on in the other window";
  advance(60s);
  EXPECT_EQ(get("q"), 2);
  quota("q", 10, 3600s);
  EXPECT_EQ(get("q"), 2);
  EXPECT_EQ(subject.statistics().rules, 1U);
}

TEST_F(Quotas, StayUntilTheyAreRemoved) {
  quota("q", 10, 1s);
  add("q", 1);
  advance(24h * 365);
  subject.sweep_all();
  EXPECT_EQ(get("q"), 10);
  EXPECT_FALSE(keys.persist("q", subject.now).value());
  const auto refused = keys.expire("q", Expiry::in(1s), ExpiryCondition::kAlways, subject.now);
  EXPECT_NE(refused.error().message.find("quota key stays until it is removed"), std::string::npos);
}

TEST_F(Quotas, EqualNumbersShareOneRuleWithLimitsToo) {
  subject.engine.define(window("w").amount(10).per(60s), subject.now).value();
  for (std::size_t i = 0; i < 1000; ++i) quota(key_of(i), 10, 60s);
  EXPECT_EQ(subject.statistics().rules, 1U);
  for (std::size_t i = 0; i < 1000; ++i) quota(key_of(i), 10 + static_cast<Amount>(i % 4), 60s);
  EXPECT_EQ(subject.statistics().rules, 4U);
  for (std::size_t i = 0; i < 1000; ++i) keys.remove(key_of(i), core::KeyReach::kAnyKey, subject.now);
  EXPECT_EQ(subject.statistics().rules, 1U) << "the limit's";
}

using Throttles = KeysTest;

TEST_F(Throttles, AreBuckets) {
  const core::ThrottleRequest request{.capacity = 3, .count = 1, .period = 2s};
  EXPECT_EQ(throttle("t", request),
            (core::Verdict{.is_allowed = true, .taken = 1, .remaining = 2, .limit = 3, .reset_after = 2s}));
  EXPECT_EQ(throttle("t", request).remaining, 1);
  EXPECT_EQ(throttle("t", request).remaining, 0);
  EXPECT_EQ(throttle("t", request), (core::Verdict{.violated = 1, .limit = 3, .retry_after = 2s, .reset_after = 6s}));
  advance(Duration(2s) + Duration::from_ns(-1));
  EXPECT_EQ(throttle("t", request).retry_after, Duration(1ns)) << "exact, and the denial before changed nothing";
  advance(1ns);
  EXPECT_TRUE(throttle("t", request).is_allowed);
  const core::Verdict never = throttle("t", {.capacity = 3, .count = 1, .period = 2s, .quantity = 4});
  EXPECT_TRUE(never.retry_after.is_never());
}

TEST_F(Throttles, AGreedyClientGetsExactlyItsRate) {
  const core::ThrottleRequest request{.capacity = 1, .count = 3, .period = 1s};
  Amount taken = 0;
  const Instant end = subject.now + 100s;
  for (;;) {
    const core::Verdict verdict = throttle("t", request);
    taken += verdict.taken;
    if (!verdict.is_allowed) advance(verdict.retry_after);
    if (subject.now > end) break;
  }
  EXPECT_EQ(taken, 301);
}

TEST_F(Throttles, QuantityZeroAsksAndChangesNothing) {
  const core::ThrottleRequest ask{.capacity = 3, .count = 1, .period = 2s, .quantity = 0};
  EXPECT_EQ(throttle("t", ask), (core::Verdict{.is_allowed = true, .remaining = 3, .limit = 3}));
  EXPECT_EQ(type("t"), KeyType::kNone);
  EXPECT_EQ(subject.statistics().rules, 0U);
  throttle("t", {.capacity = 3, .count = 1, .period = 2s, .quantity = 2});
  EXPECT_EQ(throttle("t", ask), (core::Verdict{.is_allowed = true, .remaining = 1, .limit = 3, .reset_after = 4s}));
  // Under another rule: the answer it would give, and the rule stays.
  EXPECT_EQ(throttle("t", {.capacity = 10, .count = 1, .period = 10s, .quantity = 0}),
            (core::Verdict{.is_allowed = true, .remaining = 8, .limit = 10, .reset_after = 20s}));
  EXPECT_EQ(ttl("t"), Duration(4s));
}

TEST_F(Throttles, AnotherRuleKeepsTheUsageEvenIfItDenies) {
  throttle("t", {.capacity = 10, .count = 1, .period = 1s, .quantity = 10});
  EXPECT_EQ(throttle("t", {.capacity = 20, .count = 1, .period = 1s}).remaining, 9);
  // 11 used, of 5: denied until 7 have come back at an hour each.
  const core::ThrottleRequest slow{.capacity = 5, .count = 1, .period = 1h};
  EXPECT_EQ(throttle("t", slow), (core::Verdict{.violated = 1, .limit = 5, .retry_after = 7h, .reset_after = 11h}));
  advance(Duration(7h) + Duration::from_ns(-1));
  EXPECT_FALSE(throttle("t", slow).is_allowed);
  advance(1ns);
  EXPECT_TRUE(throttle("t", slow).is_allowed);
  EXPECT_EQ(subject.statistics().rules, 1U);
}

TEST_F(Throttles, GoWhenTheyAreFull) {
  throttle("t", {.capacity = 3, .count = 1, .period = 2s, .quantity = 2});
  throttle("swept", {.capacity = 3, .count = 1, .period = 2s, .quantity = 2});
  advance(Duration(4s) + Duration::from_ns(-1));
  EXPECT_EQ(type("t"), KeyType::kThrottle);
  EXPECT_EQ(ttl("t"), Duration(1ns));
  subject.sweep_all();
  EXPECT_EQ(keys.size(), 2U);
  advance(1ns);
  EXPECT_EQ(add("t", 1), 1) << "so the key may be anything now";
  subject.sweep_all();
  EXPECT_EQ(keys.size(), 1U);
  EXPECT_EQ(subject.statistics().rules, 0U);
}

TEST_F(Throttles, OneThatIsFullGoesOnWithTheNextCharge) {
  const core::ThrottleRequest request{.capacity = 2, .count = 1, .period = 1s};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(throttle("t", request).remaining, 1);
    advance(1h);
  }
  EXPECT_EQ(throttle("t", {.capacity = 2, .count = 1, .period = 1s, .quantity = 3}).remaining, 2);
  EXPECT_EQ(type("t"), KeyType::kNone);
}

TEST_F(Throttles, WhatWasForgottenIsNotBroughtBackByALateTime) {
  const core::ThrottleRequest all{.capacity = 10, .count = 10, .period = 10s, .quantity = 10};
  throttle("t", all);
  advance(10s);
  EXPECT_EQ(type("t"), KeyType::kNone);
  subject.now = kStart + 5s;  // a thread that read its clock before: it takes place when the key was seen to be gone
  EXPECT_TRUE(throttle("t", all).is_allowed);
  subject.now = kStart + 10s;
  EXPECT_EQ(throttle("t", all).remaining, 0);
}

}  // namespace
}  // namespace mete::engine
