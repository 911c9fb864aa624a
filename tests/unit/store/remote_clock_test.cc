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

}  // namespace
}  // namespace mete::store
