// Rule 4: all or nothing over several charges, of different kinds and keys.
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

using Names = std::vector<std::string>;

TEST_P(Conformance, Rule04_AllOrNothingOverKindsAndKeys) {
  start_window(kHour);
  const std::vector<Limit> limits = each_kind(10);
  std::vector<Charge> charges;
  for (const Limit& limit : limits) {
    charges.push_back({limit.name(), "alice", 3});
    charges.push_back({limit.name(), "team", 4});
  }
  const Decision first = limiter().take(charges).value();
  EXPECT_TRUE(first.allowed());
  EXPECT_EQ(first.taken, 5 * 7);
  EXPECT_EQ(first.remaining, 6);
  for (const Limit& limit : limits) {
    EXPECT_EQ(usage(limit.name(), "alice").used, 3);
    EXPECT_EQ(usage(limit.name(), "team").used, 4);
  }
  EXPECT_TRUE(limiter().take(charges).value().allowed());
  // The third does not fit for the team, and so alice is not charged either.
  const Decision denied = limiter().take(charges).value();
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.taken, 0);
  EXPECT_EQ(denied.violated.size(), limits.size());
  for (const Limit& limit : limits) {
    EXPECT_EQ(usage(limit.name(), "alice").used, 6);
    EXPECT_EQ(usage(limit.name(), "team").used, 8);
  }
}

TEST_P(Conformance, Rule04_EveryOneOfSeveralCanDeny) {
  const std::vector<Limit> limits = each_kind(10);
  for (const Limit& culprit : limits) {
    SCOPED_TRACE(culprit.name());
    take(culprit.name(), "full", 10);
    std::vector<Charge> charges;
    for (const Limit& limit : limits)
      charges.push_back({limit.name(), limit.name() == culprit.name() ? "full" : "new", 1});
    const Decision decision = limiter().take(charges).value();
    EXPECT_FALSE(decision.allowed());
    EXPECT_EQ(decision.violated, Names{culprit.name()});
    const HoldDecision held = limiter().hold(charges, 1h).value();
    EXPECT_FALSE(held.allowed());
    EXPECT_EQ(held.violated, Names{culprit.name()});
    EXPECT_TRUE(held.id.empty());
    for (const Limit& limit : limits) EXPECT_EQ(charged(limit.name(), "new"), 0);
  }
}

TEST_P(Conformance, Rule04_ViolatedNamesEachLimitOnceInTheOrderOfTheCharges) {
  const std::string first = define(stock(unique("z-first")).amount(5));
  const std::string second = define(window(unique("m-second")).amount(5).per(1h));
  const std::string third = define(bucket(unique("a-third")).amount(5).per(1h));
  const Decision decision =
      limiter().take({{first, "a", 6}, {second, "a", 5}, {third, "a", 6}, {first, "b", 6}, {third, "b", 1}}).value();
  EXPECT_FALSE(decision.allowed());
  EXPECT_EQ(decision.violated, (Names{first, third}));
  EXPECT_EQ(take(second, "a", 5).violated, Names{});
}

TEST_P(Conformance, Rule04_TheSameMeterTwiceAddsUp) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    const std::string& name = limit.name();
    const Decision denied = limiter().take({{name, "alice", 6}, {name, "alice", 5}}).value();
    EXPECT_FALSE(denied.allowed());
    EXPECT_EQ(denied.violated, Names{name});
    EXPECT_TRUE(denied.retry_after.is_never()) << "eleven together never fit";
    const Decision fits = limiter().take({{name, "alice", 6}, {name, "bob", 1}, {name, "alice", 4}}).value();
    EXPECT_TRUE(fits.allowed());
    EXPECT_EQ(fits.taken, 11);
    EXPECT_EQ(fits.remaining, 0);
    EXPECT_EQ(usage(name, "alice").used, 10);
    EXPECT_EQ(usage(name, "bob").used, 1);
  }
}

TEST_P(Conformance, Rule04_TheTightestChargeIsTold) {
  const std::string wide = define(stock(unique("wide")).amount(1000));
  const std::string narrow = define(window(unique("narrow")).amount(20).per(1min));
  const std::string even = define(stock(unique("even")).amount(15));
  start_window(1min);
  const Decision decision = limiter().take({{wide, "a", 1}, {narrow, "a", 10}, {even, "a", 5}}).value();
  EXPECT_EQ(decision.remaining, 10);
  EXPECT_EQ(decision.limit, 20) << "of several with the same remaining, the first";
  EXPECT_EQ(decision.reset_after.ns(), Duration(1min).ns());
  // A denial tells of the tightest as things are, which need not be the one that denied.
  const Decision denied = limiter().take({{wide, "a", 1000}, {narrow, "a", 1}}).value();
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.violated, Names{wide});
  EXPECT_EQ(denied.remaining, 10);
  EXPECT_EQ(denied.limit, 20);
}

TEST_P(Conformance, Rule04_TheLongestWaitIsTold) {
  const std::string minute = define(window(unique("minute")).amount(1).per(1min));
  const std::string hour = define(window(unique("hour")).amount(1).per(1h));
  const std::string storage = define(stock(unique("storage")).amount(1));
  start_window(kHour);
  EXPECT_TRUE(limiter().take({{minute, "a"}, {hour, "a"}, {storage, "a"}}).value().allowed());
  EXPECT_EQ(limiter().take({{hour, "a"}, {minute, "a"}}).value().retry_after.ns(), Duration(1h).ns());
  EXPECT_EQ(limiter().take({{minute, "a"}, {hour, "b"}}).value().retry_after.ns(), Duration(1min).ns());
  EXPECT_TRUE(limiter().take({{minute, "a"}, {storage, "a"}}).value().retry_after.is_never());
}

TEST_P(Conformance, Rule04_SixteenChargesAtOnce) {
  const std::string storage = define(stock(unique("storage")).amount(5));
  std::vector<std::string> keys;
  for (int i = 0; i < 16; ++i) keys.push_back("key" + std::to_string(i));
  std::vector<Charge> charges;
  for (const std::string& key : keys) charges.push_back({storage, key, 3});
  EXPECT_EQ(limiter().take(charges).value().taken, 48);
  const HoldDecision denied = limiter().hold(charges, 1h).value();
  EXPECT_FALSE(denied.allowed());
  for (Charge& charge : charges) charge.cost = 2;
  const HoldDecision held = limiter().hold(charges, 1h, {.tag = unique("tag")}).value();
  ASSERT_TRUE(held.allowed());
  for (const std::string& key : keys) EXPECT_EQ(usage(storage, key).held, 2);
  EXPECT_EQ(limiter().cancel(held.id).value().amount, 32);
  for (const std::string& key : keys) EXPECT_EQ(charged(storage, key), 3);
}

}  // namespace
}  // namespace mete::conformance
