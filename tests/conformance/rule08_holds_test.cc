// Rule 8: a hold is committed, cancelled or expires, and is final once.
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, Rule08_AHoldChargesAtOnce) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "alice", 3);
    const HoldDecision decision = limiter().hold({{limit.name(), "alice", 5}}, 30min).value();
    EXPECT_TRUE(decision.allowed());
    EXPECT_FALSE(decision.id.empty());
    EXPECT_EQ(decision.taken, 5);
    EXPECT_EQ(decision.remaining, 2);
    EXPECT_EQ(decision.limit, 10);
    const Usage now = usage(limit.name(), "alice");
    EXPECT_EQ(now.used, 3);
    EXPECT_EQ(now.held, 5);
    EXPECT_EQ(now.remaining, 2);
    EXPECT_FALSE(take(limit.name(), "alice", 3).allowed());
    const auto info = limiter().find_hold(decision.id).value();
    ASSERT_TRUE(info.has_value());
    EXPECT_EQ(info->id, decision.id);
    EXPECT_EQ(info->state, HoldState::kHeld);
    EXPECT_EQ(info->expires_in.ns(), Duration(30min).ns());
    EXPECT_EQ(info->charges, (std::vector<HeldCharge>{{limit.name(), "alice", 5}}));
  }
}

TEST_P(Conformance, Rule08_CommitTakesAllOrPart) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    const std::string all = hold({limit.name(), "alice", 4}, 30min);
    EXPECT_EQ(limiter().commit(all).value(), (Settlement{.amount = 4, .remaining = 6, .limit = 10}));
    const std::string part = hold({limit.name(), "alice", 5}, 30min);
    EXPECT_EQ(limiter().commit(part, 2).value(), (Settlement{.amount = 2, .remaining = 4, .limit = 10}));
    const std::string none = hold({limit.name(), "alice", 4}, 30min);
    EXPECT_EQ(limiter().commit(none, 0).value(), (Settlement{.amount = 0, .remaining = 4, .limit = 10}));
    EXPECT_EQ(usage(limit.name(), "alice").used, 6);
    EXPECT_EQ(usage(limit.name(), "alice").held, 0);
    const auto info = limiter().find_hold(part).value();
    EXPECT_EQ(info->state, HoldState::kCommitted);
    EXPECT_EQ(info->expires_in, Duration());
    EXPECT_EQ(info->charges[0].amount, 2) << "what was committed";
  }
}

TEST_P(Conformance, Rule08_CancelReturnsEverything) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "alice", 3);
    const Standing before = standing(limit.name(), "alice");
    const std::string id = hold({limit.name(), "alice", 7}, 30min);
    EXPECT_EQ(limiter().cancel(id).value(), (Settlement{.amount = 7, .remaining = 7, .limit = 10}));
    EXPECT_EQ(standing(limit.name(), "alice"), before);
    EXPECT_EQ(limiter().find_hold(id).value()->state, HoldState::kCancelled);
  }
}

TEST_P(Conformance, Rule08_ExpiryIsJudgedOnAccess) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    const std::string id = hold({limit.name(), "alice", 10}, 6min);
    advance(6min + Duration::from_ns(-world().clock_resolution().ns()));
    EXPECT_EQ(limiter().find_hold(id).value()->state, HoldState::kHeld);
    EXPECT_FALSE(take(limit.name(), "alice", 10).allowed());
    advance(world().clock_resolution());
    EXPECT_EQ(limiter().find_hold(id).value()->state, HoldState::kExpired);
    EXPECT_EQ(limiter().find_hold(id).value()->expires_in, Duration());
    EXPECT_TRUE(limiter().holds(limit.name(), "alice").value().empty());
    EXPECT_TRUE(take(limit.name(), "alice", 10).allowed()) << "at the very instant of the expiry";
    EXPECT_EQ(usage(limit.name(), "alice").held, 0);
    EXPECT_EQ(usage(limit.name(), "alice").used, 10);
  }
}

TEST_P(Conformance, Rule08_AHoldIsFinalOnce) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  struct Codes {
    ErrorCode of_commit = ErrorCode::kNoHold;
    std::optional<ErrorCode> of_cancel = ErrorCode::kNoHold;  // none: that is how it ended
    ErrorCode of_extend = ErrorCode::kNoHold;
  };
  const auto expect_final = [&](const std::string& id, const Codes& codes) {
    const Standing before = standing(credits, "alice");
    const Amount more = 9;
    expect_error(limiter().commit(id), codes.of_commit, id);
    expect_error(limiter().commit(id, 1), codes.of_commit, id);
    expect_error(limiter().commit_with_overage(id, {&more, 1}), codes.of_commit, id);
    if (codes.of_cancel) expect_error(limiter().cancel(id), *codes.of_cancel, id);
    expect_error(limiter().extend(id, 1h), codes.of_extend, id);
    EXPECT_EQ(standing(credits, "alice"), before);
  };
  const Codes other_amounts = {.of_commit = ErrorCode::kMismatch};
  const Codes over = {ErrorCode::kExpired, ErrorCode::kExpired, ErrorCode::kExpired};
  const std::string committed = hold({credits, "alice", 5}, 1h);
  limiter().commit(committed, 3).value();
  expect_final(committed, other_amounts);
  const std::string cancelled = hold({credits, "alice", 5}, 1h);
  limiter().cancel(cancelled).value();
  expect_final(cancelled, {.of_cancel = std::nullopt});
  const std::string expired = hold({credits, "alice", 5}, 1h);
  advance(1h);
  expect_final(expired, over);
  expect_final(unique("unknown"), {});
  advance(23h + Duration::from_ns(-step().ns()));
  expect_final(committed, other_amounts);
  expect_final(expired, over);
  EXPECT_EQ(charged(credits, "alice"), 3);
}

TEST_P(Conformance, Rule08_AnIdOfATakeIsNoHold) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  const std::string id = unique("take");
  limiter().take({{credits, "alice", 5}}, {.id = id}).value();
  expect_error(limiter().commit(id), ErrorCode::kNoHold, id);
  expect_error(limiter().cancel(id), ErrorCode::kNoHold, id);
  EXPECT_FALSE(limiter().find_hold(id).value().has_value());
}

TEST_P(Conformance, Rule08_MoreThanIsHeldExceeds) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    const std::string id = hold({limit.name(), "alice", 4}, 30min);
    const Standing before = standing(limit.name(), "alice");
    expect_error(limiter().commit(id, 5), ErrorCode::kExceeds, limit.name());
    EXPECT_EQ(standing(limit.name(), "alice"), before);
    EXPECT_EQ(limiter().find_hold(id).value()->state, HoldState::kHeld);
    EXPECT_EQ(limiter().commit(id, 4).value().amount, 4);
  }
}

TEST_P(Conformance, Rule08_OverageIsOneFreshTake) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "alice", 3);
    const std::string id = hold({limit.name(), "alice", 4}, 30min);
    const Standing before = standing(limit.name(), "alice");
    const Amount too_much = 8;
    expect_error(limiter().commit_with_overage(id, {&too_much, 1}), ErrorCode::kExceeds, limit.name());
    EXPECT_EQ(standing(limit.name(), "alice"), before);
    EXPECT_EQ(limiter().find_hold(id).value()->state, HoldState::kHeld) << "it stays open";
    const Amount all = 7;
    EXPECT_EQ(limiter().commit_with_overage(id, {&all, 1}).value(),
              (Settlement{.amount = 7, .remaining = 0, .limit = 10}));
    EXPECT_EQ(usage(limit.name(), "alice").used, 10);
    EXPECT_EQ(limiter().find_hold(id).value()->charges[0].amount, 7);
  }
}

TEST_P(Conformance, Rule08_OverageMayAlsoBeLess) {
  const std::string first = define(stock(unique("first")).amount(10));
  const std::string second = define(stock(unique("second")).amount(10));
  const HoldDecision held = limiter().hold({{first, "a", 5}, {second, "a", 5}}, 1h).value();
  const Amount amounts[] = {2, 9};
  EXPECT_EQ(limiter().commit_with_overage(held.id, amounts).value(),
            (Settlement{.amount = 11, .remaining = 1, .limit = 10}));
  EXPECT_EQ(usage(first, "a").used, 2);
  EXPECT_EQ(usage(second, "a").used, 9);
}

TEST_P(Conformance, Rule08_WhatOneChargeReturnsAnotherMayTakeInTheSameCommit) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const HoldDecision held = limiter().hold({{credits, "a", 5}, {credits, "a", 5}}, 1h).value();
  const Amount too_much[] = {2, 9};
  expect_error(limiter().commit_with_overage(held.id, too_much), ErrorCode::kExceeds, credits);
  EXPECT_EQ(usage(credits, "a").held, 10);
  const Amount exchanged[] = {2, 8};
  EXPECT_EQ(limiter().commit_with_overage(held.id, exchanged).value().amount, 10);
  EXPECT_EQ(usage(credits, "a").used, 10);
}

TEST_P(Conformance, Rule08_AnAmountForEachCharge) {
  const std::vector<Limit> limits = each_kind(10);
  start_window(kHour);
  std::vector<Charge> charges;
  for (const Limit& limit : limits) charges.push_back({limit.name(), "alice", 4});
  const HoldDecision held = limiter().hold(charges, 30min).value();
  ASSERT_TRUE(held.allowed());
  const Amount few[] = {1, 2};
  expect_error(limiter().commit(held.id, few), ErrorCode::kInvalid, "amounts");
  expect_error(limiter().commit(held.id, 1), ErrorCode::kInvalid, "amounts");
  const Amount one_too_large[] = {0, 1, 2, 3, 5};
  expect_error(limiter().commit(held.id, one_too_large), ErrorCode::kExceeds, limits[4].name());
  for (const Limit& limit : limits) EXPECT_EQ(usage(limit.name(), "alice").held, 4);
  const Amount amounts[] = {0, 1, 2, 3, 4};
  EXPECT_EQ(limiter().commit(held.id, amounts).value(), (Settlement{.amount = 10, .remaining = 6, .limit = 10}));
  for (std::size_t i = 0; i < limits.size(); ++i) EXPECT_EQ(usage(limits[i].name(), "alice").used, amounts[i]);
}

TEST_P(Conformance, Rule08_ExtendWorksWhileHeld) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    const std::string id = hold({limit.name(), "alice", 10}, 4min);
    advance(3min);
    EXPECT_EQ(limiter().extend(id, 5min).value().ns(), Duration(5min).ns());
    EXPECT_EQ(limiter().find_hold(id).value()->expires_in.ns(), Duration(5min).ns());
    advance(4min);
    EXPECT_EQ(limiter().find_hold(id).value()->state, HoldState::kHeld);
    EXPECT_GT(usage(limit.name(), "alice").held, 0);
    EXPECT_EQ(limiter().extend(id, 1s).value().ns(), Duration(1s).ns()) << "also to an earlier time";
    advance(1s);
    EXPECT_EQ(usage(limit.name(), "alice").held, 0);
    EXPECT_EQ(charged(limit.name(), "alice"), 0);
    expect_error(limiter().extend(id, 1h), ErrorCode::kExpired, id);
  }
}

TEST_P(Conformance, Rule08_OnABucketOnlyWhatHasNotRefilledComesBack) {
  const std::string api = define(bucket(unique("api")).amount(10).per(10s));
  take(api, "a", 5);
  const std::string first = hold({api, "a", 5}, 1min);
  advance(2s);
  EXPECT_EQ(usage(api, "a").used, 5);
  EXPECT_EQ(usage(api, "a").held, 3);
  EXPECT_EQ(limiter().cancel(first).value(), (Settlement{.amount = 3, .remaining = 5, .limit = 10}));

  take(api, "b", 4);
  const std::string second = hold({api, "b", 4}, 1min);
  advance(1s);
  EXPECT_EQ(limiter().commit(second, 1).value(), (Settlement{.amount = 1, .remaining = 5, .limit = 10}));

  const std::string third = hold({api, "c", 4}, 1min);
  advance(5s);
  EXPECT_EQ(usage(api, "c").held, 0) << "the bucket has refilled all of it";
  take(api, "c", 8);
  EXPECT_EQ(limiter().cancel(third).value().amount, 0);
  EXPECT_EQ(usage(api, "c").used, 8);

  hold({api, "d", 4}, 1500ms);
  take(api, "d", 6);
  advance(1500ms);
  EXPECT_EQ(usage(api, "d"), (Usage{.used = 6, .held = 0, .remaining = 4, .limit = 10, .reset_after = 6s}));
}

}  // namespace
}  // namespace mete::conformance
