// Rule 2: a denial changes nothing: no charge, no timestamp, no expiry.
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, Rule02_DenialChangesNothing) {
  const std::string plenty = define(stock(unique("plenty")).amount(1000));
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "alice", 5);
    advance(7min + 1ns);
    take(limit.name(), "alice", 4);
    const std::string open = hold({plenty, "alice", 7}, 30min);
    const Standing before = standing(limit.name(), "alice");
    const Standing before_other = standing(plenty, "alice");
    const std::string& name = limit.name();
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(take(name, "alice", 4).allowed());
      EXPECT_FALSE(take(name, "alice", 11).allowed());
      EXPECT_FALSE(limiter().hold({{name, "alice", 4}}, 1h).value().allowed());
      EXPECT_FALSE(limiter().take({{plenty, "alice", 1}, {name, "alice", 4}}).value().allowed());
      EXPECT_FALSE(limiter().hold({{plenty, "alice", 1}, {name, "alice", 4}}, 1h).value().allowed());
      EXPECT_FALSE(limiter().take({{plenty, "alice", 1}, {name, "alice", 4}}, {.id = unique(name)}).value().allowed());
    }
    EXPECT_EQ(standing(name, "alice"), before);
    EXPECT_EQ(standing(plenty, "alice"), before_other);
    EXPECT_EQ(limiter().find_hold(open).value()->expires_in.ns(), Duration(30min).ns());
    EXPECT_TRUE(limiter().holds(name, "alice").value().empty());
  }
}

TEST_P(Conformance, Rule02_DenialTakesNothingFromUpTo) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "alice", 10);
    const Standing before = standing(limit.name(), "alice");
    EXPECT_FALSE(take_mode({limit.name(), "alice", 5}, Mode::kUpTo).allowed());
    EXPECT_EQ(standing(limit.name(), "alice"), before);
  }
}

TEST_P(Conformance, Rule02_AskingInVainDoesNotPostponeTheRefill) {
  const std::string api = define(bucket(unique("api")).amount(10).per(10s));
  take(api, "alice", 10);
  for (int i = 0; i < 9; ++i) {
    advance(100ms);
    EXPECT_FALSE(take(api, "alice").allowed());
  }
  advance(100ms);
  EXPECT_TRUE(take(api, "alice").allowed());
}

TEST_P(Conformance, Rule02_AskingInVainDoesNotPostponeTheWindow) {
  const std::string report = define(window(unique("report")).amount(1).per(1min));
  start_window(1min);
  take(report, "alice");
  for (int i = 0; i < 59; ++i) {
    advance(1s);
    EXPECT_FALSE(take(report, "alice").allowed());
  }
  advance(1s);
  EXPECT_TRUE(take(report, "alice").allowed());
}

TEST_P(Conformance, Rule02_ADeniedFirstTakeLeavesNoKeyBehind) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    EXPECT_FALSE(take(limit.name(), "nobody", 11).allowed());
    EXPECT_TRUE(limiter().top(limit.name(), 10).value().empty());
    const Duration fresh = limit.kind() == Kind::kStock ? Duration::never() : Duration();
    EXPECT_EQ(usage(limit.name(), "nobody").reset_after.ns(), fresh.ns());
  }
}

}  // namespace
}  // namespace mete::conformance
