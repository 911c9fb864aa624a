// Rule 12: an unknown limit is an error, never an allowance; and what is meant for shares is no limit of one's own.
// Rule 13: the store's time never runs backwards.
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, Rule12_AnUnknownLimitIsAnError) {
  const std::string name = unique("nowhere");
  const std::string known = define(stock(unique("known")).amount(10));
  expect_error(limiter().take(name, "a"), ErrorCode::kNoLimit, name);
  expect_error(limiter().take(name, "a", 0), ErrorCode::kNoLimit, name);
  for (const Mode mode : {Mode::kPeek, Mode::kUpTo, Mode::kForce}) {
    expect_error(limiter().take({{name, "a", 1}}, {.mode = mode}), ErrorCode::kNoLimit, name);
  }
  expect_error(limiter().peek(name, "a"), ErrorCode::kNoLimit, name);
  expect_error(limiter().give(name, "a"), ErrorCode::kNoLimit, name);
  expect_error(limiter().hold({{name, "a", 1}}, 1h), ErrorCode::kNoLimit, name);
  expect_error(limiter().usage(name, "a"), ErrorCode::kNoLimit, name);
  expect_error(limiter().reconcile(name, "a", 1), ErrorCode::kNoLimit, name);
  expect_error(limiter().holds(name, "a"), ErrorCode::kNoLimit, name);
  expect_error(limiter().scan(name, 0), ErrorCode::kNoLimit, name);
  expect_error(limiter().top(name, 1), ErrorCode::kNoLimit, name);
  EXPECT_FALSE(limiter().drop(name).value());
  EXPECT_FALSE(limiter().find_limit(name).value().has_value());
  // One unknown limit among several: nothing happens to the others, whatever their order.
  expect_error(limiter().take({{known, "a", 1}, {name, "a", 1}}), ErrorCode::kNoLimit, name);
  expect_error(limiter().take({{name, "a", 1}, {known, "a", 1}}, {.mode = Mode::kForce}), ErrorCode::kNoLimit, name);
  expect_error(limiter().hold({{known, "a", 1}, {name, "a", 1}}, 1h), ErrorCode::kNoLimit, name);
  EXPECT_EQ(charged(known, "a"), 0);
  take(known, "a", 5);
  expect_error(limiter().give({{known, "a", 1}, {name, "a", 1}}), ErrorCode::kNoLimit, name);
  EXPECT_EQ(usage(known, "a").used, 5);
}

TEST_P(Conformance, Rule12_NamesAreTakenLiterally) {
  const std::string name = define(stock(unique("Storage")).amount(10));
  EXPECT_TRUE(take(name, "a").allowed());
  const std::string other = name + " ";
  expect_error(limiter().take(other, "a"), ErrorCode::kNoLimit, other);
  expect_error(limiter().take(std::string(128, 'n'), "a"), ErrorCode::kNoLimit, "nnn");
}

// To the store that nodes share, a limit that they draw from is one like any other.
TEST_P(Conformance, ALimitOfScopeEscrowIsKeptAndDecided) {
  for (const Limit& each : each_kind(10)) {
    SCOPED_TRACE(each.name());
    const Limit limit = Limit(each).scope(Scope::kEscrow);
    expect_error(limiter().define(limit), ErrorCode::kInvalid, "use node or shared");
    EXPECT_EQ(limiter().find_limit(limit.name()).value(), each) << "a refusal changes nothing";
    world().store().define(limit).value();
    EXPECT_EQ(limiter().find_limit(limit.name()).value(), limit);
    EXPECT_EQ(take(limit.name(), "a", 7).remaining, 3);
    EXPECT_FALSE(take(limit.name(), "a", 4).allowed());
  }
}

TEST_P(Conformance, Rule13_WhileTheClockIsBehindTimeStandsStill) {
  const std::vector<Limit> limits = each_kind(10);
  start_window(kHour);
  advance(10min);
  std::vector<Standing> before;
  for (const Limit& limit : limits) {
    take(limit.name(), "a", 4);
    hold({limit.name(), "a", 3}, 40min);
    before.push_back(standing(limit.name(), "a"));
  }
  if (!world().set_clock_back(3h)) GTEST_SKIP() << "this store's clock cannot be set back";
  for (std::size_t i = 0; i < limits.size(); ++i) EXPECT_EQ(standing(limits[i].name(), "a"), before[i]);
  advance(2h + 59min);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    SCOPED_TRACE(limits[i].name());
    EXPECT_EQ(standing(limits[i].name(), "a"), before[i]) << "still behind";
    EXPECT_EQ(take(limits[i].name(), "a", 3).remaining, 0);
    EXPECT_FALSE(take(limits[i].name(), "a").allowed());
  }
  advance(1min + 6min);
  EXPECT_TRUE(take(limits[0].name(), "a").allowed()) << "the bucket has gone on by six minutes: one unit";
  EXPECT_FALSE(take(limits[0].name(), "a").allowed());
}

TEST_P(Conformance, Rule13_AHoldLivesItsTimeOnASteppingClock) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string id = hold({credits, "a", 10}, 10min);
  advance(5min);
  EXPECT_EQ(limiter().find_hold(id).value()->expires_in.ns(), Duration(5min).ns());
  if (!world().set_clock_back(4min)) GTEST_SKIP() << "this store's clock cannot be set back";
  EXPECT_EQ(limiter().find_hold(id).value()->expires_in.ns(), Duration(5min).ns());
  advance(4min + 5min);
  EXPECT_EQ(limiter().find_hold(id).value()->state, HoldState::kExpired);
  EXPECT_TRUE(take(credits, "a", 10).allowed());
}

}  // namespace
}  // namespace mete::conformance
