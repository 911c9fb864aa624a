// Lots against what a real store answers: how long they live, and how a bucket's leak.
#include "escrow/lot.h"

#include <gtest/gtest.h>

#include "store/embedded/embedded_store.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;

// 10 s after the beginning of an hour.
constexpr Instant kStoreStart = Instant::from_unix_seconds(1'800'000'010);
// The node's clock counts from something else.
constexpr Instant kSent = Instant::from_unix_seconds(500);

class LotTest : public ::testing::Test {
 protected:
  Lot draw(const Limit& limit, Amount amount) {
    store.define(limit).value();
    const Terms terms = terms_of(limit, 1).value();
    const Charge charge{limit.name(), "key", amount};
    const auto granted = store.hold({.charges = {&charge, 1}, .ttl = terms.ttl, .id = std::to_string(++draws)}).value();
    EXPECT_TRUE(granted.is_allowed);
    return make_lot(terms, "id", amount, granted, kSent);
  }

  ManualClock clock{kStoreStart};
  store::EmbeddedStore store{{.clock = &clock}};
  int draws = 0;
};

TEST_F(LotTest, DiesWithItsWindowAndAThousandthEarlier) {
  const Lot lot = draw(window("w").amount(100).per(60s), 10);
  EXPECT_EQ(lot.dies_at, kSent + Duration(50s - 50ms));
  EXPECT_EQ(lot.usable(lot.dies_at + Duration::from_ns(-1)), 10);
  EXPECT_EQ(lot.usable(lot.dies_at), 0);
}

TEST_F(LotTest, OfACalendarIsNotKeptLong) {
  EXPECT_EQ(draw(calendar("c").amount(100).per(Unit::kHour).zone("UTC"), 10).dies_at, kSent + kLotAgeMax);
}

TEST_F(LotTest, OfABucketLeaksAsTheBucketRefills) {
  Lot lot = draw(bucket("b").amount(10).per(10s).burst(20), 10);
  EXPECT_EQ(lot.usable(kSent), 9) << "a thousandth, and the rest of that unit";
  EXPECT_EQ(lot.usable(kSent + 5s), 4);
  EXPECT_EQ(lot.spend(10, kSent + 5s), 4);
  EXPECT_EQ(lot.usable(kSent + 5s), 0) << "what has leaked is not there again";
  EXPECT_EQ(lot.spent, 4);
}

TEST_F(LotTest, OfABucketLeaksAfterThoseBeforeIt) {
  draw(bucket("b").amount(10).per(10s).burst(20), 10);
  const Lot second = draw(bucket("b").amount(10).per(10s).burst(20), 5);
  EXPECT_EQ(second.usable(kSent + 9s), 5);
  EXPECT_LT(second.usable(kSent + 12s), 3);
}

TEST_F(LotTest, OfABucketLeaksAtTheRateOfItsKey) {
  const Limit limit = bucket("b").amount(100).per(100s).burst(10);
  store.define(limit).value();
  store.set_override({"b", "key"}, 50).value();
  const Lot lot = draw(limit, 4);
  EXPECT_EQ(lot.usable(kSent + 4s), 1) << "4 units come back in 8 s";
}

}  // namespace
}  // namespace mete::escrow
