// Rule 7: an operation with an id happens once, and gets the same answer ever after.
#include <functional>
#include <span>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, Rule07_TheSameIdGetsTheSameAnswerAndChargesOnce) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    const std::string id = unique("id-" + limit.name());
    const auto again = [&] { return limiter().take({{limit.name(), "alice", 4}}, {.id = id}).value(); };
    start_window(kHour);
    const Decision first = again();
    EXPECT_TRUE(first.allowed());
    EXPECT_EQ(again(), first);
    EXPECT_EQ(usage(limit.name(), "alice").used, 4);
    take(limit.name(), "alice", 6);
    EXPECT_EQ(again(), first) << "also when it would not fit any more";
    advance(24h + Duration::from_ns(-world().clock_resolution().ns()));
    EXPECT_EQ(again(), first) << "for 24 hours";
  }
}

TEST_P(Conformance, Rule07_DenialsAreRememberedToo) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "alice", 10);
    const std::string id = unique("id-" + limit.name());
    const auto again = [&] { return limiter().take({{limit.name(), "alice", 4}}, {.id = id}).value(); };
    const Decision first = again();
    EXPECT_FALSE(first.allowed());
    EXPECT_EQ(first.violated, std::vector<std::string>{limit.name()});
    limiter().give(limit.name(), "alice", 10).value();
    EXPECT_EQ(again(), first);
    EXPECT_EQ(usage(limit.name(), "alice").used, 0);
  }
}

TEST_P(Conformance, Rule07_EveryModeIsIdempotent) {
  const std::string storage = define(stock(unique("storage")).amount(10));
  for (const Mode mode : {Mode::kTake, Mode::kUpTo, Mode::kForce}) {
    const std::string key = "key" + std::to_string(static_cast<int>(mode));
    const std::string id = unique(key);
    const Decision first = limiter().take({{storage, key, 8}}, {.mode = mode, .id = id}).value();
    EXPECT_EQ(limiter().take({{storage, key, 8}}, {.mode = mode, .id = id}).value(), first);
    EXPECT_EQ(usage(storage, key).used, 8);
  }
}

TEST_P(Conformance, Rule07_GiveIsIdempotent) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "alice", 9);
    const std::string id = unique("id-" + limit.name());
    const auto again = [&] { return limiter().give({{limit.name(), "alice", 4}}, id).value(); };
    const Settlement first = again();
    EXPECT_EQ(first.amount, 4);
    EXPECT_EQ(again(), first);
    EXPECT_EQ(usage(limit.name(), "alice").used, 5);
    take(limit.name(), "alice", 5);
    EXPECT_EQ(again(), first) << "with what remained then";
  }
}

TEST_P(Conformance, Rule07_HoldIsIdempotentInEveryState) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string id = unique("job");
  const auto again = [&] { return limiter().hold({{credits, "alice", 4}}, 1h, {.id = id, .tag = "tag"}).value(); };
  const HoldDecision first = again();
  EXPECT_TRUE(first.allowed());
  EXPECT_EQ(first.id, id);
  EXPECT_EQ(again(), first);
  EXPECT_EQ(usage(credits, "alice").held, 4);
  EXPECT_EQ(limiter().holds(credits, "alice").value(), std::vector<std::string>{id});
  EXPECT_EQ(limiter().commit(id, 3).value().amount, 3);
  EXPECT_EQ(again(), first) << "the answer is the same, and the hold stays committed";
  EXPECT_EQ(limiter().find_hold(id).value()->state, HoldState::kCommitted);
  EXPECT_EQ(charged(credits, "alice"), 3);

  const std::string cancelled = unique("cancelled");
  const HoldDecision other = limiter().hold({{credits, "alice", 2}}, 1h, {.id = cancelled}).value();
  limiter().cancel(cancelled).value();
  EXPECT_EQ(limiter().hold({{credits, "alice", 2}}, 1h, {.id = cancelled}).value(), other);
  EXPECT_EQ(charged(credits, "alice"), 3);

  const std::string expired = unique("expired");
  const HoldDecision third = limiter().hold({{credits, "alice", 2}}, 1min, {.id = expired}).value();
  advance(1min);
  EXPECT_EQ(limiter().hold({{credits, "alice", 2}}, 1min, {.id = expired}).value(), third);
  EXPECT_EQ(charged(credits, "alice"), 3);
}

TEST_P(Conformance, Rule07_ADeniedHoldKeepsTheCallersIdAndNoHold) {
  const std::string credits = define(stock(unique("credits")).amount(3));
  const std::string id = unique("job");
  const HoldDecision first = limiter().hold({{credits, "alice", 4}}, 1h, {.id = id}).value();
  EXPECT_FALSE(first.allowed());
  EXPECT_EQ(first.id, id);
  EXPECT_EQ(limiter().hold({{credits, "alice", 4}}, 1h, {.id = id}).value(), first);
  EXPECT_FALSE(limiter().find_hold(id).value().has_value());
  expect_error(limiter().commit(id), ErrorCode::kNoHold, id);
  EXPECT_TRUE(limiter().hold({{credits, "alice", 4}}, 1h).value().id.empty());
}

TEST_P(Conformance, Rule07_OtherParametersAreAMismatch) {
  const std::string credits = define(stock(unique("credits")).amount(100));
  const std::string other = define(stock(unique("other")).amount(100));
  const std::string taken = unique("taken");
  const std::string given = unique("given");
  const std::string held = unique("held");
  const std::string pair = unique("pair");
  limiter().take({{credits, "a", 4}}, {.id = taken}).value();
  limiter().take({{credits, "a", 4}, {other, "a", 4}}, {.id = pair}).value();
  limiter().give({{credits, "a", 4}}, given).value();
  limiter().hold({{credits, "a", 4}}, 1h, {.id = held, .tag = "tag"}).value();
  const Standing before = standing(credits, "a");
  const std::function<ErrorCode()> rows[] = {
      [&] {
        return limiter().take({{credits, "a", 5}}, {.id = taken}).error().code;
      },
      [&] {
        return limiter().take({{credits, "b", 4}}, {.id = taken}).error().code;
      },
      [&] {
        return limiter().take({{other, "a", 4}}, {.id = taken}).error().code;
      },
      [&] {
        return limiter().take({{credits, "a", 4}}, {.mode = Mode::kForce, .id = taken}).error().code;
      },
      [&] {
        return limiter().take({{credits, "a", 4}, {credits, "a", 4}}, {.id = taken}).error().code;
      },
      [&] {
        return limiter().take({{other, "a", 4}, {credits, "a", 4}}, {.id = pair}).error().code;
      },
      [&] {
        return limiter().give({{credits, "a", 4}}, taken).error().code;
      },
      [&] {
        return limiter().hold({{credits, "a", 4}}, 1h, {.id = taken}).error().code;
      },
      [&] {
        return limiter().take({{credits, "a", 4}}, {.id = given}).error().code;
      },
      [&] {
        return limiter().give({{credits, "a", 3}}, given).error().code;
      },
      [&] {
        return limiter().take({{credits, "a", 4}}, {.id = held}).error().code;
      },
      [&] {
        return limiter().give({{credits, "a", 4}}, held).error().code;
      },
      [&] {
        return limiter().hold({{credits, "a", 4}}, 2h, {.id = held, .tag = "tag"}).error().code;
      },
      [&] {
        return limiter().hold({{credits, "a", 4}}, 1h, {.id = held, .tag = "gat"}).error().code;
      },
      [&] {
        return limiter().hold({{credits, "a", 4}}, 1h, {.id = held}).error().code;
      },
      [&] {
        return limiter().hold({{credits, "a", 3}}, 1h, {.id = held, .tag = "tag"}).error().code;
      },
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) EXPECT_EQ(rows[i](), ErrorCode::kMismatch) << "row " << i;
  expect_error(limiter().take({{credits, "a", 5}}, {.id = taken}), ErrorCode::kMismatch, taken);
  EXPECT_EQ(standing(credits, "a"), before);
  EXPECT_EQ(usage(other, "a").used, 4);
}

TEST_P(Conformance, Rule07_ErrorsAreNotRemembered) {
  const std::string credits = unique("credits");
  const std::string id = unique("id");
  expect_error(limiter().take({{credits, "a", 4}}, {.id = id}), ErrorCode::kNoLimit, credits);
  expect_error(limiter().give({{credits, "a", 4}}, id), ErrorCode::kNoLimit, credits);
  expect_error(limiter().hold({{credits, "a", 4}}, 1h, {.id = id}), ErrorCode::kNoLimit, credits);
  define(stock(credits).amount(10));
  expect_error(limiter().take({{credits, "a", -1}}, {.id = id}), ErrorCode::kInvalid, "cost");
  EXPECT_EQ(limiter().take({{credits, "a", 4}}, {.id = id}).value().taken, 4);
}

TEST_P(Conformance, Rule07_SeveralChargesHappenOnce) {
  const std::vector<Limit> limits = each_kind(10);
  std::vector<Charge> charges;
  for (const Limit& limit : limits) charges.push_back({limit.name(), "alice", 3});
  const std::string id = unique("id");
  const Decision first = limiter().take(charges, {.id = id}).value();
  EXPECT_EQ(first.taken, 15);
  EXPECT_EQ(limiter().take(charges, {.id = id}).value(), first);
  for (const Limit& limit : limits) EXPECT_EQ(usage(limit.name(), "alice").used, 3);
}

TEST_P(Conformance, Rule07_AnIdOutlivesItsLimit) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string taken = unique("taken");
  const std::string given = unique("given");
  const std::string held = unique("held");
  const auto take_it = [&] { return limiter().take({{credits, "a", 4}}, {.id = taken}).value(); };
  const auto give_it = [&] { return limiter().give({{credits, "a", 1}}, given).value(); };
  const auto hold_it = [&] { return limiter().hold({{credits, "a", 2}}, 1h, {.id = held}).value(); };
  const Decision first = take_it();
  const Settlement second = give_it();
  const HoldDecision third = hold_it();
  EXPECT_TRUE(limiter().drop(credits).value());
  EXPECT_EQ(take_it(), first);
  EXPECT_EQ(give_it(), second);
  EXPECT_EQ(hold_it(), third);
}

TEST_P(Conformance, Rule07_AnAnswerIsRecalledAndNothingElseHappens) {
  const std::string credits = define(stock(unique("credits")).amount(10));
  const std::string seats = define(stock(unique("seats")).amount(10));
  const Charge one[] = {{credits, "a", 4}};
  const Charge several[] = {{credits, "a", 3}, {seats, "b", 3}, {credits, "c", 3}};
  const Charge large[] = {{credits, "a", 9}, {seats, "b", 1}};
  for (const std::span<const Charge> charges :
       {std::span<const Charge>(one), std::span<const Charge>(several), std::span<const Charge>(large)}) {
    SCOPED_TRACE(charges.size());
    const std::string id = unique("id" + std::to_string(charges.size()));
    const store::Take request{.charges = charges, .mode = Mode::kTake, .id = id};
    EXPECT_FALSE(world().store().recall(request).value().has_value()) << "it is a new one";
    const core::Verdict answer = world().store().take(request).value();
    EXPECT_EQ(answer.is_allowed, charges.data() != large);
    EXPECT_EQ(world().store().recall(request).value(), answer);
    const Charge other[] = {{credits, "b", 1}};
    expect_error(world().store().recall({.charges = other, .mode = Mode::kTake, .id = id}), ErrorCode::kMismatch, id);
  }
  EXPECT_EQ(usage(credits, "a").used, 7);
  EXPECT_EQ(usage(seats, "b").used, 3);
}

}  // namespace
}  // namespace mete::conformance
