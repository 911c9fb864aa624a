// Rule 11, for one key: an override is another amount, set, changed and cleared without a refill.
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, Rule11_AnOverrideIsForOneKey) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    const std::string& name = limit.name();
    start_window(kHour);
    take(name, "vip", 8);
    take(name, "other", 8);
    limiter().override_amount(name, "vip", 50).value();
    EXPECT_EQ(usage(name, "vip"), (Usage{8, 0, 42, 50, usage(name, "vip").reset_after}));
    EXPECT_EQ(usage(name, "other").limit, 10);
    EXPECT_TRUE(take(name, "vip", 42).allowed());
    EXPECT_FALSE(take(name, "vip").allowed());
    limiter().override_amount(name, "vip", 20).value();
    EXPECT_EQ(usage(name, "vip").used, 50);
    EXPECT_EQ(usage(name, "vip").remaining, 0);
    limiter().override_amount(name, "vip", 60).value();
    EXPECT_EQ(take(name, "vip", 10).remaining, 0);
    limiter().clear_override(name, "vip").value();
    EXPECT_EQ(usage(name, "vip").used, 60);
    EXPECT_EQ(usage(name, "vip").limit, 10);
    EXPECT_FALSE(take(name, "vip").allowed());
    EXPECT_FALSE(take(name, "other", 3).allowed());
  }
}

TEST_P(Conformance, Rule11_AnOverrideWaitsForItsKey) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    const std::string& name = limit.name();
    limiter().override_amount(name, "new", 3).value();
    EXPECT_TRUE(limiter().top(name, 10).value().empty()) << "an override is no usage";
    EXPECT_TRUE(take(name, "new", 4).retry_after.is_never());
    EXPECT_TRUE(take(name, "new", 3).allowed());
    EXPECT_FALSE(take(name, "new").allowed());
    limiter().give(name, "new", 3).value();
    EXPECT_EQ(usage(name, "new").limit, 3) << "it outlives the usage";
    limiter().clear_override(name, "new").value();
    limiter().clear_override(name, "new").value();
    EXPECT_EQ(usage(name, "new").limit, 10);
  }
}

TEST_P(Conformance, Rule11_ABurstKeepsItsRatioToTheOverride) {
  const std::string api = define(bucket(unique("api")).amount(10).per(10s).burst(15));
  limiter().override_amount(api, "a", 7).value();
  EXPECT_EQ(usage(api, "a").limit, 11) << "10.5, rounded up";
  limiter().override_amount(api, "b", 20).value();
  EXPECT_EQ(usage(api, "b").limit, 30);
  EXPECT_TRUE(take(api, "b", 30).allowed());
  EXPECT_EQ(take(api, "b", 2).retry_after.ns(), Duration(1s).ns()) << "and it refills at its own rate";
  limiter().override_amount(api, "c", kAmountMax).value();
  EXPECT_EQ(usage(api, "c").limit, kAmountMax);
}

TEST_P(Conformance, Rule11_AnOverrideOutlivesChangesOfItsLimit) {
  const std::string name = define(bucket(unique("api")).amount(10).per(1h));
  start_window(kHour);
  limiter().override_amount(name, "vip", 40).value();
  limiter().override_amount(name, "idle", 40).value();
  take(name, "vip", 30);
  const Limit steps[] = {
      bucket(name).amount(10).per(2h), window(name).amount(20).per(1h),
      sliding(name).amount(5).per(1h), calendar(name).amount(10).per(Unit::kHour),
      stock(name).amount(10),          bucket(name).amount(10).per(1h).shadow(),
      bucket(name).amount(10).per(1h),
  };
  for (const Limit& limit : steps) {
    SCOPED_TRACE(to_string(limit.kind()));
    define(limit);
    EXPECT_EQ(usage(name, "vip").limit, 40);
    EXPECT_EQ(usage(name, "vip").used, 30);
    EXPECT_EQ(usage(name, "idle").limit, 40);
    EXPECT_EQ(usage(name, "other").limit, limit.amount());
  }
  define(bucket(name).amount(10).per(1h).burst(20));
  EXPECT_EQ(usage(name, "vip").limit, 80) << "the burst's ratio is the new one";
  EXPECT_EQ(usage(name, "vip").used, 30);
}

TEST_P(Conformance, Rule11_HoldsLiveOnUnderAnOverride) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    const std::string& name = limit.name();
    start_window(kHour);
    const std::string id = hold({name, "a", 8}, 30min);
    limiter().override_amount(name, "a", 5).value();
    EXPECT_EQ(usage(name, "a").held, 8);
    EXPECT_FALSE(take(name, "a").allowed());
    limiter().override_amount(name, "a", 9).value();
    EXPECT_TRUE(take(name, "a").allowed());
    EXPECT_EQ(limiter().cancel(id).value().amount, 8);
    EXPECT_EQ(usage(name, "a").used, 1);
  }
}

TEST_P(Conformance, Rule11_AnOverrideIsRefusedWhereAnAmountWouldBe) {
  const std::string name = define(stock(unique("storage")).amount(10));
  for (const Amount amount : {Amount{0}, Amount{-1}, kAmountMax + 1}) {
    expect_error(limiter().override_amount(name, "a", amount), ErrorCode::kInvalid, "amount");
  }
  expect_error(limiter().override_amount(name, "", 5), ErrorCode::kInvalid, "key");
  expect_error(limiter().clear_override(name, ""), ErrorCode::kInvalid, "key");
  const std::string unknown = unique("unknown");
  expect_error(limiter().override_amount(unknown, "a", 5), ErrorCode::kNoLimit, unknown);
  expect_error(limiter().clear_override(unknown, "a"), ErrorCode::kNoLimit, unknown);
  EXPECT_EQ(usage(name, "a").limit, 10);
}

}  // namespace
}  // namespace mete::conformance
