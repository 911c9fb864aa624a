#include "store/redis/key_record.h"

#include <gtest/gtest.h>

#include <limits>

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;

TEST(KeyRecord, ReadsCounters) {
  const struct {
    std::string_view text;
    std::int64_t value;
    Instant expires_at;
  } cases[] = {
      {"0", 0, Instant::max()},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min(), Instant::max()},
      {"9223372036854775807@1700000000000001", std::numeric_limits<std::int64_t>::max(),
       Instant::from_ns(1'700'000'000'000'001'000)},
      {"-1@18446744073709551", -1, Instant::from_ns(18'446'744'073'709'551'000U)},
  };
  for (const auto& each : cases) {
    const auto record = read_key_record(each.text);
    ASSERT_TRUE(record.has_value()) << each.text;
    EXPECT_EQ(record->type, core::KeyType::kCounter);
    EXPECT_EQ(record->value, each.value);
    EXPECT_EQ(record->expires_at, each.expires_at);
  }
}

TEST(KeyRecord, ReadsQuotasAndLetsTheirWindowsPass) {
  const auto record = read_key_record("q:10:7000000:1699999994000000:3");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->type, core::KeyType::kQuota);
  EXPECT_EQ(record->rule, (core::Rule{.kind = Kind::kWindow, .amount = 10, .capacity = 10, .period = 7s}));
  const struct {
    std::uint64_t now_us;
    Amount remaining;
  } cases[] = {
      {1'699'999'994'000'000, 7},
      {1'700'000'000'999'999, 7},
      {1'700'000'001'000'000, 10},
      {1'600'000'000'000'000, 7},  // a clock that was set back: time stands still
  };
  for (const auto& each : cases) {
    KeyRecord quota = *record;
    const core::Moment moment = quota.settle(Instant::from_ns(each.now_us * 1000));
    EXPECT_EQ(core::remaining(quota.rule, quota.state, moment), each.remaining) << each.now_us;
  }
}

TEST(KeyRecord, ReadsThrottlesToTheTick) {
  const struct {
    std::string_view text;
    Amount remaining;
    Duration reset_after;
  } cases[] = {
      // A unit is a third of a second.
      {"t:5:3:1000000:1700000000000000:2:0", 3, Duration::from_ns(666'666'667)},
      {"t:5:3:1000000:1700000000000000:1:999999", 3, Duration::from_ns(666'666'334)},
      {"t:5:3:1000000:1700000000000000:0:1", 4, Duration::from_ns(334)},
      {"t:5:3:1000000:1700000000000000:-1:999999", 5, {}},
      // As large as it can be: a hundred billion years.
      {"t:9007199254740991:1:315619200000000:1700000000000000:9007199254740991:0", 0, Duration::never()},
  };
  for (const auto& each : cases) {
    auto throttle = read_key_record(each.text);
    ASSERT_TRUE(throttle.has_value()) << each.text;
    EXPECT_EQ(throttle->type, core::KeyType::kThrottle);
    const core::Moment moment = throttle->settle(Instant::from_unix_seconds(1'700'000'000));
    const core::Standing standing = core::standing(throttle->rule, throttle->state, moment);
    EXPECT_EQ(standing.remaining, each.remaining) << each.text;
    EXPECT_EQ(standing.reset_after.ns(), each.reset_after.ns()) << each.text;
  }
}

TEST(KeyRecord, RefusesWhatIsNone) {
  for (const std::string_view text : {"",
                                      "x",
                                      "1x",
                                      "1@",
                                      "1@x",
                                      "@1",
                                      "1@-1",
                                      "9223372036854775808",
                                      "+1",
                                      "q",
                                      "q:",
                                      "q:1",
                                      "q:1:1:1",
                                      "q:1:1:1:1:1",
                                      "q:0:1:1:0",
                                      "q:1:0:1:0",
                                      "q:1:1:-1:0",
                                      "q:1:1:1:-1",
                                      "q:1:1:1:1 ",
                                      "q:9007199254740992:1:1:1",
                                      "q:1:315619200000001:1:0",
                                      "t:1:1:1000:1:0",
                                      "t:0:1:1000:1:0:0",
                                      "t:1:0:1000:1:0:0",
                                      "t:1:1:0:1:0:0",
                                      "t:1:1:1000:-1:0:0",
                                      "t:1:1:1000:1:-2:0",
                                      "t:1:1:1000:1:0:1000",
                                      "t:1:1:1000:1:0:-1",
                                      "t1:1:1000:1:0:0"}) {
    const auto record = read_key_record(text);
    ASSERT_FALSE(record.has_value()) << text;
    EXPECT_EQ(record.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(record.error().message.find("'" + std::string(text) + "'"), std::string::npos) << record.error().message;
  }
}

}  // namespace
}  // namespace mete::store::redis
