// Rule 8, how holds are found: by id, by meter in the order of expiry, and by tag.
#include <algorithm>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

using Ids = std::vector<std::string>;

Ids sorted(Ids ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST_P(Conformance, Rule08_HoldsOfAMeterAreListedByExpiry) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  const std::string late = hold({credits, "alice", 1}, 3h);
  const std::string soon = hold({credits, "alice", 1}, 1h);
  const std::string middle = hold({credits, "alice", 1}, 2h);
  hold({credits, "bob", 1}, 1h);
  EXPECT_EQ(limiter().holds(credits, "alice").value(), (Ids{soon, middle, late}));
  EXPECT_EQ(limiter().holds(credits, "alice", 2).value(), (Ids{soon, middle}));
  EXPECT_EQ(limiter().holds(credits, "alice", 0).value(), Ids{});
  EXPECT_EQ(limiter().holds(credits, "carol").value(), Ids{});
  limiter().extend(soon, 150min).value();
  EXPECT_EQ(limiter().holds(credits, "alice").value(), (Ids{middle, soon, late}));
  limiter().commit(middle).value();
  EXPECT_EQ(limiter().holds(credits, "alice").value(), (Ids{soon, late}));
  advance(150min);
  EXPECT_EQ(limiter().holds(credits, "alice").value(), Ids{late});
  limiter().cancel(late).value();
  EXPECT_EQ(limiter().holds(credits, "alice").value(), Ids{});
}

TEST_P(Conformance, Rule08_AHoldIsListedOnceForEachOfItsMeters) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  const std::string seats = define(stock(unique("seats")).amount(100));
  const HoldDecision held = limiter().hold({{credits, "a", 1}, {seats, "a", 2}, {credits, "a", 3}}, 1h).value();
  EXPECT_EQ(limiter().holds(credits, "a").value(), Ids{held.id});
  EXPECT_EQ(limiter().holds(seats, "a").value(), Ids{held.id});
  EXPECT_EQ(usage(credits, "a").held, 4);
  EXPECT_EQ(limiter().find_hold(held.id).value()->charges,
            (std::vector<HeldCharge>{{credits, "a", 1}, {seats, "a", 2}, {credits, "a", 3}}));
  EXPECT_EQ(limiter().cancel(held.id).value().amount, 6);
}

TEST_P(Conformance, Rule08_HoldsAreFoundByTag) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  const std::string tag = unique("job:42");
  const auto tagged = [&](std::string_view key, Duration ttl) {
    return limiter().hold({{credits, key, 1}}, ttl, {.tag = tag}).value().id;
  };
  const std::string first = tagged("alice", 1h);
  const std::string second = tagged("bob", 2h);
  const std::string third = tagged("alice", 3h);
  limiter().hold({{credits, "alice", 1}}, 3h, {.tag = unique("job:43")}).value();
  hold({credits, "alice", 1}, 3h);
  EXPECT_EQ(sorted(limiter().holds_tagged(tag).value()), sorted({first, second, third}));
  EXPECT_EQ(limiter().find_hold(first).value()->tag, tag);
  limiter().commit(third).value();
  EXPECT_EQ(sorted(limiter().holds_tagged(tag).value()), sorted({first, second}));
  limiter().extend(first, 90min).value();
  advance(90min + Duration::from_ns(-world().clock_resolution().ns()));
  EXPECT_EQ(sorted(limiter().holds_tagged(tag).value()), sorted({first, second}));
  advance(world().clock_resolution());
  EXPECT_EQ(limiter().holds_tagged(tag).value(), Ids{second});
  limiter().cancel(second).value();
  EXPECT_EQ(limiter().holds_tagged(tag).value(), Ids{});
  EXPECT_EQ(limiter().holds_tagged(unique("unknown")).value(), Ids{});
}

TEST_P(Conformance, Rule08_RandomIdsDiffer) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  Ids ids;
  for (int i = 0; i < 100; ++i) ids.push_back(hold({credits, "alice", 1}, 1h));
  ids = sorted(ids);
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(sorted(limiter().holds(credits, "alice").value()), ids);
}

TEST_P(Conformance, Rule08_ADroppedLimitTakesItsPartOutOfEveryHold) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string seats = define(stock(unique("seats")).amount(10));
  const HoldDecision cancelled = limiter().hold({{credits, "a", 3}, {seats, "a", 3}}, 1h).value();
  const HoldDecision committed = limiter().hold({{credits, "a", 2}, {seats, "a", 2}}, 1h).value();
  const HoldDecision lonely = limiter().hold({{credits, "a", 2}}, 1h).value();
  EXPECT_TRUE(limiter().drop(credits).value());
  define(stock(credits).amount(10));
  take(credits, "a", 7);
  EXPECT_EQ(limiter().holds(credits, "a").value(), Ids{}) << "a new limit has no part in older holds";
  EXPECT_EQ(limiter().cancel(cancelled.id).value().amount, 3);
  const Amount amounts[] = {2, 1};
  EXPECT_TRUE(limiter().commit(committed.id, amounts).has_value());
  EXPECT_EQ(limiter().extend(lonely.id, 1h).value().ns(), Duration(1h).ns());
  EXPECT_EQ(limiter().cancel(lonely.id).value().amount, 0);
  EXPECT_EQ(usage(credits, "a").used, 7);
  EXPECT_EQ(usage(credits, "a").held, 0);
  EXPECT_EQ(usage(seats, "a").used, 1);
  EXPECT_EQ(usage(seats, "a").held, 0);
}

TEST_P(Conformance, Rule08_TheLongestHoldAndTheShortest) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const Duration step = world().clock_resolution();
  const std::string shortest = hold({credits, "a", 1}, step);
  EXPECT_EQ(limiter().find_hold(shortest).value()->state, HoldState::kHeld);
  const std::string longest = hold({credits, "a", 2}, kHoldTtlMax);
  advance(step);
  EXPECT_EQ(limiter().find_hold(shortest).value()->state, HoldState::kExpired);
  EXPECT_EQ(usage(credits, "a").held, 2);
  advance(kHoldTtlMax + Duration::from_ns(-2 * step.ns()));
  EXPECT_EQ(usage(credits, "a").held, 2) << "an open hold is not forgotten, however old it is";
  EXPECT_EQ(limiter().commit(longest).value().amount, 2);
}

}  // namespace
}  // namespace mete::conformance
