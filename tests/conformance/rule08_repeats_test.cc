// Rule 8, and 7 of how holds end: a commit or cancel that comes again gets the answer that it got before.
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, Rule08_ACommitAgainGetsTheSameAnswer) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    const std::string id = hold({limit.name(), "alice", 5}, 30min);
    const Settlement first = limiter().commit(id, 2).value();
    EXPECT_EQ(first, (Settlement{.amount = 2, .remaining = 8, .limit = 10}));
    take(limit.name(), "alice", 8);
    const Standing before = standing(limit.name(), "alice");
    EXPECT_EQ(limiter().commit(id, 2).value(), first) << "with what remained then";
    const Amount amount = 2;
    EXPECT_EQ(limiter().commit_with_overage(id, {&amount, 1}).value(), first) << "the amounts are the same";
    EXPECT_EQ(standing(limit.name(), "alice"), before);
    advance(24h + Duration::from_ns(-step().ns()));
    EXPECT_EQ(limiter().commit(id, 2).value(), first) << "for as long as ids are remembered";
    advance(step());
    expect_error(limiter().commit(id, 2), ErrorCode::kNoHold, id);
  }
}

TEST_P(Conformance, Rule08_AllThatIsHeldIsAnAmountToo) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  const std::string all = hold({credits, "alice", 5}, 1h);
  const Settlement first = limiter().commit(all).value();
  EXPECT_EQ(limiter().commit(all).value(), first);
  EXPECT_EQ(limiter().commit(all, 5).value(), first);
  const std::string named = hold({credits, "alice", 5}, 1h);
  const Settlement second = limiter().commit(named, 5).value();
  EXPECT_EQ(limiter().commit(named).value(), second);
  EXPECT_EQ(usage(credits, "alice").used, 10);
}

TEST_P(Conformance, Rule08_OtherAmountsAreAMismatch) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  const std::string id = hold({credits, "alice", 5}, 1h);
  limiter().commit(id, 3).value();
  const Standing before = standing(credits, "alice");
  const Amount more = 9;
  expect_error(limiter().commit(id), ErrorCode::kMismatch, id);
  expect_error(limiter().commit(id, 4), ErrorCode::kMismatch, id);
  expect_error(limiter().commit(id, 0), ErrorCode::kMismatch, id);
  expect_error(limiter().commit_with_overage(id, {&more, 1}), ErrorCode::kMismatch, id);
  const Amount two[] = {3, 3};
  expect_error(limiter().commit(id, two), ErrorCode::kInvalid, "amounts");
  EXPECT_EQ(standing(credits, "alice"), before);
  EXPECT_EQ(limiter().find_hold(id).value()->charges[0].amount, 3);
}

TEST_P(Conformance, Rule08_ACancelAgainGetsTheSameAnswer) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "alice", 3);
    const std::string id = hold({limit.name(), "alice", 7}, 30min);
    const Settlement first = limiter().cancel(id).value();
    EXPECT_EQ(first, (Settlement{.amount = 7, .remaining = 7, .limit = 10}));
    take(limit.name(), "alice", 6);
    const Standing before = standing(limit.name(), "alice");
    EXPECT_EQ(limiter().cancel(id).value(), first);
    EXPECT_EQ(standing(limit.name(), "alice"), before);
    advance(24h + Duration::from_ns(-step().ns()));
    EXPECT_EQ(limiter().cancel(id).value(), first);
    advance(step());
    expect_error(limiter().cancel(id), ErrorCode::kNoHold, id);
  }
}

TEST_P(Conformance, Rule08_WhatBecameOfAHoldIsSaid) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  const std::string committed = hold({credits, "alice", 5}, 1h);
  const std::string cancelled = hold({credits, "alice", 5}, 1h);
  limiter().commit(committed).value();
  limiter().cancel(cancelled).value();
  expect_error(limiter().cancel(committed), ErrorCode::kNoHold, "committed");
  expect_error(limiter().extend(committed, 1h), ErrorCode::kNoHold, "committed");
  expect_error(limiter().commit(cancelled), ErrorCode::kNoHold, "cancelled");
  expect_error(limiter().commit(cancelled, 1), ErrorCode::kNoHold, "cancelled");
  expect_error(limiter().extend(cancelled, 1h), ErrorCode::kNoHold, "cancelled");
  EXPECT_EQ(charged(credits, "alice"), 5);
}

TEST_P(Conformance, Rule08_OverageAgainIsTakenOnce) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string id = hold({credits, "alice", 4}, 1h);
  const Amount all = 7;
  const Settlement first = limiter().commit_with_overage(id, {&all, 1}).value();
  EXPECT_EQ(first, (Settlement{.amount = 7, .remaining = 3, .limit = 10}));
  EXPECT_EQ(limiter().commit_with_overage(id, {&all, 1}).value(), first);
  EXPECT_EQ(limiter().commit(id, 7).value(), first);
  expect_error(limiter().commit(id), ErrorCode::kMismatch, id);
  EXPECT_EQ(usage(credits, "alice").used, 7);
}

TEST_P(Conformance, Rule08_ACommitOfSeveralChargesAgain) {
  const std::string first = define(stock(unique("first")).amount(10));
  const std::string second = define(stock(unique("second")).amount(10));
  const std::string id = limiter().hold({{first, "a", 5}, {second, "a", 5}}, 1h).value().id;
  const Amount amounts[] = {2, 4};
  const Amount swapped[] = {4, 2};
  const Settlement answer = limiter().commit(id, amounts).value();
  EXPECT_EQ(answer, (Settlement{.amount = 6, .remaining = 6, .limit = 10}));
  EXPECT_EQ(limiter().commit(id, amounts).value(), answer);
  expect_error(limiter().commit(id, swapped), ErrorCode::kMismatch, id);
  EXPECT_EQ(usage(first, "a").used, 2);
  EXPECT_EQ(usage(second, "a").used, 4);
}

// The answer is of what was done then, and what was done is done.
TEST_P(Conformance, Rule08_TheSameAnswerWhenTheLimitHasChangedOrGone) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string committed = hold({credits, "alice", 4}, 1h);
  const std::string cancelled = hold({credits, "alice", 3}, 1h);
  const Settlement commit = limiter().commit(committed, 1).value();
  const Settlement cancel = limiter().cancel(cancelled).value();
  limiter().define(scoped(stock(credits).amount(50))).value();
  EXPECT_EQ(limiter().commit(committed, 1).value(), commit);
  EXPECT_EQ(limiter().cancel(cancelled).value(), cancel);
  EXPECT_TRUE(limiter().drop(credits).value());
  EXPECT_EQ(limiter().commit(committed, 1).value(), commit);
  EXPECT_EQ(limiter().cancel(cancelled).value(), cancel);
}

}  // namespace
}  // namespace mete::conformance
