// Shares: how much they draw, when, and what goes back.
#include "escrow/share.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = Instant::from_unix_seconds(1'000);

std::shared_ptr<const Terms> terms_for(const Limit& limit) {
  return std::make_shared<const Terms>(terms_of(limit, 1).value());
}

class ShareTest : public ::testing::Test {
 protected:
  Share::Outcome take(Amount cost) { return share.take(cost, Mode::kTake, now, verdict); }
  void grant(const Order& order, Amount remaining, Duration reset_after = 50s) {
    share.granted(order, {.is_allowed = true, .remaining = remaining, .limit = 1000, .reset_after = reset_after}, 0,
                  now);
  }
  std::vector<Order> tend() {
    std::vector<Order> orders;
    share.tend(names, now, orders);
    return orders;
  }
  // A share that has drawn its first batch.
  void draw_first() {
    ASSERT_EQ(take(1), Share::Outcome::kDraw);
    grant(share.draw(names, now), 900);
    ASSERT_EQ(take(1), Share::Outcome::kDecided);
  }

  DrawNames names{base::random_id};
  Share share{"limit", "key", terms_for(window("limit").amount(1000).per(60s))};
  Instant now = kStart;
  core::Verdict verdict;
};

TEST_F(ShareTest, DrawsATenthAtFirst) {
  ASSERT_EQ(take(1), Share::Outcome::kDraw);
  const Order order = share.draw(names, now);
  EXPECT_EQ(order.amount, 100);
  EXPECT_EQ(take(1), Share::Outcome::kWait) << "one draw at a time";
  grant(order, 900);
  EXPECT_EQ(take(1), Share::Outcome::kDecided);
  EXPECT_TRUE(verdict.is_allowed);
  EXPECT_EQ(share.usable(now), 99);
}

TEST_F(ShareTest, DrawsWhatARequestNeedsIfThatIsMore) {
  draw_first();
  ASSERT_EQ(take(500), Share::Outcome::kDraw);
  EXPECT_EQ(share.draw(names, now).amount, 401);
}

TEST_F(ShareTest, DrawsAheadBelowHalfOfABatch) {
  draw_first();
  ASSERT_EQ(take(49), Share::Outcome::kDecided);
  EXPECT_FALSE(share.wants_draw(now));
  ASSERT_EQ(take(1), Share::Outcome::kDecided);
  EXPECT_TRUE(share.wants_draw(now));
}

TEST_F(ShareTest, DrawsSingleUnitsWhenNothingIsLeft) {
  draw_first();
  ASSERT_EQ(take(99), Share::Outcome::kDecided);
  for (int i = 0; i < 2; ++i) {
    now = now + 1s;
    ASSERT_EQ(take(1), Share::Outcome::kDraw);
    share.denied(share.draw(names, now), {.remaining = 0, .limit = 1000, .retry_after = 40s, .reset_after = 40s}, 0,
                 now);
  }
  EXPECT_EQ(take(1), Share::Outcome::kDecided);
  EXPECT_FALSE(verdict.is_allowed);
  now = now + 1s;
  ASSERT_EQ(take(1), Share::Outcome::kDraw);
  EXPECT_EQ(share.draw(names, now).amount, 1);
}

TEST_F(ShareTest, AsksAgainUnderTheSameId) {
  ASSERT_EQ(take(1), Share::Outcome::kDraw);
  const Order order = share.draw(names, now);
  share.failed(order, {ErrorCode::kUnavailable, "away"}, now);
  EXPECT_EQ(take(1), Share::Outcome::kFailed);
  now = now + 1s;
  const std::vector<Order> again = tend();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].id, order.id);
  EXPECT_EQ(again[0].sent_at, order.sent_at);
}

TEST_F(ShareTest, AGrantThatComesAfterItsWindowIsWorthNothing) {
  ASSERT_EQ(take(1), Share::Outcome::kDraw);
  const Order order = share.draw(names, now);
  now = now + 50s;
  grant(order, 900);
  EXPECT_EQ(share.usable(now), 0);
  EXPECT_EQ(take(1), Share::Outcome::kDraw);
}

TEST_F(ShareTest, GivesBackWhatIsIdle) {
  draw_first();
  EXPECT_TRUE(tend().empty());
  now = now + 4s;
  const std::vector<Order> orders = tend();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].kind, Order::Kind::kSettle);
  EXPECT_EQ(orders[0].amount, 1) << "what was spent";
  EXPECT_EQ(share.usable(now), 0) << "before the shared store has answered";
  share.settled(orders[0], MeterStanding{999, 1000}, now);
  EXPECT_EQ(share.statistics().returned, 99U);
}

TEST_F(ShareTest, OtherTermsSendBackWhatWasDrawnUnderTheOld) {
  draw_first();
  share.revise(terms_for(window("limit").amount(500).per(60s)), now);
  EXPECT_EQ(share.usable(now), 99) << "another amount changes nothing for what is drawn";
  share.revise(terms_for(window("limit").amount(500).per(30s)), now);
  EXPECT_EQ(share.usable(now), 0);
}

class BucketShare : public ::testing::Test {
 protected:
  // The shared store decides on a take and tells what remains.
  void ask(Amount remaining) {
    ASSERT_EQ(share.take(1, Mode::kTake, kStart, verdict), Share::Outcome::kAsk);
    const Order order = share.ask(kStart);
    EXPECT_EQ(order.kind, Order::Kind::kAsk);
    EXPECT_EQ(order.amount, 1);
    share.answered(order, {.is_allowed = true, .remaining = remaining, .limit = 1000, .reset_after = 60s}, kStart);
  }

  Share share{"limit", "key", terms_for(bucket("limit").amount(1000).per(60s))};
  DrawNames names{base::random_id};
  core::Verdict verdict;
};

TEST_F(BucketShare, AsksForWhatItDoesNotHaveAndDrawsAheadOnlyWhatIsWorthIt) {
  ask(999);
  EXPECT_FALSE(share.wants_draw(kStart)) << "who asks once need not ask again";
  ask(998);
  EXPECT_TRUE(share.wants_draw(kStart));
  ask(70);
  EXPECT_FALSE(share.wants_draw(kStart)) << "it is scarce, and a quarter of it too little";
}

TEST_F(BucketShare, RemembersADenial) {
  ASSERT_EQ(share.take(5, Mode::kTake, kStart, verdict), Share::Outcome::kAsk);
  const core::Verdict no = {.is_allowed = false, .violated = 1, .remaining = 4, .limit = 1000, .retry_after = 60ms};
  share.answered(share.ask(kStart), no, kStart);
  EXPECT_EQ(share.take(5, Mode::kTake, kStart, verdict), Share::Outcome::kDecided);
  EXPECT_FALSE(verdict.is_allowed);
  EXPECT_EQ(verdict.retry_after, Duration(60ms));
  EXPECT_EQ(share.take(4, Mode::kTake, kStart, verdict), Share::Outcome::kAsk) << "less may fit";
  EXPECT_EQ(share.take(5, Mode::kTake, kStart + 60ms, verdict), Share::Outcome::kAsk);
}

TEST_F(BucketShare, AnAnswerMayBeYoungerThanTheTimeOfATake) {
  ask(500);
  const Instant before = kStart + Duration(-1us);  // read by a thread that came behind the answer
  EXPECT_EQ(share.known_remaining(before), 500);
  EXPECT_EQ(share.take(1, Mode::kTake, before, verdict), Share::Outcome::kAsk);
  EXPECT_FALSE(share.wants_draw(before)) << "who asks once need not ask again";
}

// What would be drawn of one has to be spent within its slot, mostly at once.
TEST(SlidingShare, DrawsNothing) {
  Share share("limit", "key", terms_for(sliding("limit").amount(1000).per(24h)));
  core::Verdict verdict;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(share.take(1, Mode::kTake, kStart, verdict), Share::Outcome::kAsk);
    const core::Verdict yes = {.is_allowed = true, .remaining = 900, .limit = 1000, .reset_after = 24h};
    share.answered(share.ask(kStart), yes, kStart);
    EXPECT_FALSE(share.wants_draw(kStart));
  }
}

TEST_F(BucketShare, GivesNothingBack) {
  ask(999);
  ask(998);
  const Order order = share.draw(names, kStart);
  share.granted(order, {.is_allowed = true, .remaining = 0, .limit = 1000, .reset_after = 60s}, 0, kStart);
  ASSERT_EQ(share.take(1, Mode::kTake, kStart, verdict), Share::Outcome::kDecided);
  std::vector<Order> orders;
  share.tend(names, kStart + 10s, orders);
  EXPECT_TRUE(orders.empty()) << "it leaks";
  share.settle_all(kStart + 10s, orders);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].amount, order.amount) << "all of it is committed";
}

}  // namespace
}  // namespace mete::escrow
