#include "store/remote_clock.h"

#include <gtest/gtest.h>

namespace mete::store {
namespace {

using namespace std::chrono_literals;

TEST(Micros, AreWhole) {
  EXPECT_EQ(micros_of("period", Duration(1ms)), 1000);
  EXPECT_EQ(micros_of("expiry", Duration(-1us)), -1);
  EXPECT_EQ(micros_of("expiry", Instant::from_ns(18'446'744'073'709'551'000U)), 18'446'744'073'709'551U);
  EXPECT_EQ(instant_of_micros(18'446'744'073'709'551U).ns(), 18'446'744'073'709'551'000U);
  EXPECT_EQ(instant_of_micros(18'446'744'073'709'552U), Instant::max());
}

TEST(Micros, AreNotRounded) {
  const auto period = micros_of("period", Duration(1ms + 1ns));
  ASSERT_FALSE(period.has_value());
  EXPECT_EQ(period.error(), (Error{ErrorCode::kInvalid,
                                   "period must be whole microseconds, not 1000001ns: this store's clock counts "
                                   "microseconds"}));
  EXPECT_EQ(micros_of("expiry", Duration(-1ns)).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(micros_of("expiry", Instant::from_ns(1)).error().code, ErrorCode::kInvalid);
}

std::uint64_t elapsed_us = 0;

class RemoteClockTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kStart = 1'000'000'000'000;
  static constexpr std::uint64_t kMinute = 60'000'000;

  RemoteClockTest() { elapsed_us = 7'000; }
  void pass(std::uint64_t us) { elapsed_us += us; }

  RemoteClock clock_{10min, [] { return elapsed_us; }};
};

TEST_F(RemoteClockTest, FollowsWhatIsNear) {
  EXPECT_EQ(clock_.bounds().earliest_us, 0U);
  clock_.tell(kStart);
  pass(kMinute);
  EXPECT_EQ(clock_.now(), instant_of_micros(kStart + kMinute));
  EXPECT_EQ(clock_.floor_us(), kStart);
  EXPECT_EQ(clock_.bounds().latest_us, kStart + 11 * kMinute);
  clock_.raise(kStart + 3 * kMinute);
  clock_.raise(kStart + 2 * kMinute);
  EXPECT_EQ(clock_.floor_us(), kStart + 3 * kMinute);
  clock_.tell(kStart + 11 * kMinute);
  EXPECT_EQ(clock_.now(), instant_of_micros(kStart + 11 * kMinute));
  clock_.tell(kStart + 2 * kMinute);
  EXPECT_EQ(clock_.floor_us(), kStart + 11 * kMinute) << "it was seen";
  EXPECT_EQ(clock_.status().refused_steps, 0U);
}

TEST_F(RemoteClockTest, RefusesAStep) {
  clock_.tell(kStart);
  for (const std::int64_t step : {11 * std::int64_t{kMinute}, -11 * std::int64_t{kMinute}}) {
    const std::uint64_t before = clock_.status().refused_steps;
    const std::uint64_t base = clock_.floor_us();
    for (int look = 0; look < 3; ++look) {
      clock_.raise(base + 60 * kMinute);
      clock_.tell(base + static_cast<std::uint64_t>(step));
    }
    EXPECT_EQ(clock_.status().refused_by, Duration(std::chrono::microseconds(step)));
    EXPECT_EQ(clock_.status().refused_steps, before + 1);
    pass(kMinute);
    EXPECT_EQ(clock_.floor_us(), base + kMinute) << "time goes on";
    clock_.tell(base + kMinute);
    EXPECT_EQ(clock_.status().refused_by, Duration());
    EXPECT_EQ(clock_.floor_us(), base + kMinute);
  }
}

TEST_F(RemoteClockTest, BelievesWhatIsWithinBounds) {
  constexpr TimeBounds kBounds{.earliest_us = 10, .latest_us = 20};
  EXPECT_EQ(kBounds.believed_us(5), 10U);
  EXPECT_EQ(kBounds.believed_us(20), 20U);
  EXPECT_EQ(kBounds.believed_us(21), 10U);
}

TEST_F(RemoteClockTest, HasNoBoundWhereNoneIsWanted) {
  RemoteClock clock(Duration(), [] { return elapsed_us; });
  clock.tell(kStart);
  clock.tell(100 * kStart);
  EXPECT_EQ(clock.floor_us(), 100 * kStart);
  EXPECT_EQ(clock.status().refused_steps, 0U);
}

}  // namespace
}  // namespace mete::store
