// The modes of take: peek, up_to and force; and shadow limits.
#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

using Names = std::vector<std::string>;

TEST_P(Conformance, Peek_TellsWhatTakeWouldAndChangesNothing) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 3);
    for (const Amount cost : {0, 1, 7, 8, 11}) {
      const Standing before = standing(limit.name(), "a");
      const Decision peeked = limiter().peek(limit.name(), "a", cost).value();
      EXPECT_EQ(standing(limit.name(), "a"), before);
      const Decision taken = take(limit.name(), "a", cost);
      EXPECT_EQ(peeked, taken) << "cost " << cost;
      EXPECT_EQ(peeked.taken, taken.allowed() ? cost : 0);
      if (taken.allowed() && cost > 0) limiter().give(limit.name(), "a", cost).value();
    }
    EXPECT_EQ(usage(limit.name(), "a").used, 3);
  }
}

TEST_P(Conformance, Peek_OverSeveralCharges) {
  const std::string first = define(stock(unique("first")).amount(10));
  const std::string second = define(stock(unique("second")).amount(5));
  const Charge fits[] = {{first, "a", 4}, {second, "a", 5}};
  const Decision allowed = limiter().peek(fits).value();
  EXPECT_TRUE(allowed.allowed());
  EXPECT_EQ(allowed.taken, 9);
  EXPECT_EQ(allowed.remaining, 0) << "as it would be after the take";
  const Charge too_much[] = {{first, "a", 4}, {second, "a", 6}};
  EXPECT_EQ(limiter().peek(too_much).value().violated, Names{second});
  EXPECT_EQ(charged(first, "a") + charged(second, "a"), 0);
}

TEST_P(Conformance, Peek_CostZeroAsksHowThingsStand) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 10);
    const Standing before = standing(limit.name(), "a");
    const Decision asked = take(limit.name(), "a", 0);
    EXPECT_TRUE(asked.allowed()) << "nothing fits where all is used, but not more";
    EXPECT_EQ(asked.taken, 0);
    EXPECT_EQ(asked.remaining, 0);
    EXPECT_EQ(asked.limit, 10);
    EXPECT_EQ(standing(limit.name(), "a"), before);
    EXPECT_EQ(take(limit.name(), "new", 0).remaining, 10);
    EXPECT_EQ(limiter().top(limit.name(), 5).value().size(), 1U) << "asking makes no key";
  }
}

TEST_P(Conformance, Handles_AnswerAsTheirNamesDo) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    const LimitHandle handle = limiter().limit(limit.name());
    const MeterHandle meter = handle.meter("a");
    EXPECT_TRUE(handle.allow("a", 2));
    EXPECT_EQ(meter.take(3)->remaining, 5);
    EXPECT_TRUE(meter.allow());
    const MeterDecision denied = handle.take("a", 5).value();
    EXPECT_FALSE(denied.allowed());
    EXPECT_TRUE(denied.is_violated);
    EXPECT_EQ(denied.remaining, 4);
    EXPECT_FALSE(meter.allow(5));
    EXPECT_EQ(usage(limit.name(), "a").used, 6);
  }
  EXPECT_EQ(limiter().limit(unique("none")).take("a").error().code, ErrorCode::kNoLimit);
  EXPECT_THROW(static_cast<void>(limiter().limit(unique("none")).allow("a")), Failure);
}

TEST_P(Conformance, TakeEach_AnswersEachByItself) {
  const std::string limit = define(stock(unique("stock")).amount(600));
  std::vector<Charge> charges(kTakesMax, Charge{limit, "a", 1});
  const std::string none = unique("none");
  charges[10].limit = none;
  charges[11].key = "b";
  const auto answers = limiter().take_each(charges).value();
  ASSERT_EQ(answers.size(), charges.size());
  EXPECT_EQ(answers[10].error().code, ErrorCode::kNoLimit);
  EXPECT_EQ(answers[11]->remaining, 599);
  Amount allowed = 0;
  for (const auto& answer : answers) allowed += answer.has_value() && answer->allowed() ? 1 : 0;
  EXPECT_EQ(allowed, 601);
  EXPECT_EQ(usage(limit, "a").used, 600);
}

TEST_P(Conformance, UpTo_TakesWhatFits) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    const Charge four{limit.name(), "a", 4};
    EXPECT_EQ(take_mode(four, Mode::kUpTo).taken, 4);
    EXPECT_EQ(take_mode(four, Mode::kUpTo).taken, 4);
    const Decision rest = take_mode(four, Mode::kUpTo);
    EXPECT_TRUE(rest.allowed());
    EXPECT_EQ(rest.taken, 2);
    EXPECT_EQ(rest.remaining, 0);
    EXPECT_TRUE(rest.violated.empty());
    const Decision none = take_mode(four, Mode::kUpTo);
    EXPECT_FALSE(none.allowed());
    EXPECT_EQ(none.taken, 0);
    EXPECT_EQ(none.violated, Names{limit.name()});
    EXPECT_EQ(none.retry_after, limiter().peek(limit.name(), "a", 1).value().retry_after);
    EXPECT_TRUE(take_mode({limit.name(), "a", 0}, Mode::kUpTo).allowed());
    EXPECT_EQ(take_mode({limit.name(), "b", kAmountMax}, Mode::kUpTo).taken, 10);
    EXPECT_EQ(usage(limit.name(), "a").used, 10);
  }
}

TEST_P(Conformance, UpTo_TakesWholeUnitsOfABucket) {
  const std::string api = define(bucket(unique("api")).amount(10).per(10s));
  take(api, "a", 10);
  advance(2999ms);
  EXPECT_EQ(take_mode({api, "a", 10}, Mode::kUpTo).taken, 2);
  advance(1ms);
  EXPECT_EQ(take_mode({api, "a", 10}, Mode::kUpTo).taken, 1) << "the fraction was left in the bucket";
}

TEST_P(Conformance, Force_RecordsPastTheLimit) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    take(limit.name(), "a", 8);
    const Decision forced = take_mode({limit.name(), "a", 7}, Mode::kForce);
    EXPECT_TRUE(forced.allowed());
    EXPECT_EQ(forced.taken, 7);
    EXPECT_EQ(forced.remaining, 0);
    EXPECT_EQ(forced.retry_after, Duration());
    EXPECT_TRUE(forced.violated.empty());
    EXPECT_EQ(usage(limit.name(), "a").used, 15);
    if (limit.kind() == Kind::kStock) {
      EXPECT_TRUE(take(limit.name(), "a").retry_after.is_never());
    } else {
      expect_exact_wait({limit.name(), "a", 1});
    }
  }
}

TEST_P(Conformance, Force_OverSeveralCharges) {
  const std::string full = define(stock(unique("full")).amount(1));
  const std::string open = define(stock(unique("open")).amount(100));
  take(full, "a");
  const Decision forced = limiter().take({{full, "a", 3}, {open, "a", 3}}, {.mode = Mode::kForce}).value();
  EXPECT_TRUE(forced.allowed());
  EXPECT_EQ(forced.taken, 6);
  EXPECT_EQ(usage(full, "a").used, 4);
  EXPECT_EQ(usage(open, "a").used, 3);
}

TEST_P(Conformance, Force_StopsAtWhatCanBeCounted) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    const std::string& name = limit.name();
    EXPECT_TRUE(take_mode({name, "a", kAmountMax}, Mode::kForce).allowed());
    const Standing before = standing(name, "a");
    expect_error(limiter().take({{name, "a", 1}}, {.mode = Mode::kForce}), ErrorCode::kInvalid, name);
    expect_error(limiter().take({{name, "b", 1}, {name, "a", 1}}, {.mode = Mode::kForce}), ErrorCode::kInvalid, name);
    expect_error(limiter().take({{name, "c", kAmountMax}, {name, "c", 1}}, {.mode = Mode::kForce}), ErrorCode::kInvalid,
                 name);
    EXPECT_EQ(standing(name, "a"), before);
    EXPECT_EQ(usage(name, "b").used, 0);
    EXPECT_EQ(usage(name, "c").used, 0);
  }
}

TEST_P(Conformance, Shadow_NeverDenies) {
  for (const Limit& defined : each_kind(10)) {
    SCOPED_TRACE(defined.name());
    start_window(kHour);
    const std::string name = define(of_kind(defined.kind(), defined.name(), 10).shadow());
    EXPECT_EQ(take(name, "a", 8).violated, Names{});
    EXPECT_EQ(usage(name, "a").used, 8);
    const Decision over = take(name, "a", 3);
    EXPECT_TRUE(over.allowed());
    EXPECT_EQ(over.violated, Names{name});
    EXPECT_EQ(over.retry_after, Duration());
    EXPECT_EQ(over.taken, 3) << "the caller may go ahead with all of it";
    EXPECT_EQ(over.remaining, 2) << "all charges are on shadow limits, so it speaks";
    EXPECT_EQ(usage(name, "a").used, 8) << "where it does not fit, it is left uncharged";
    EXPECT_EQ(limiter().give(name, "a", 5).value().amount, 5) << "giving is giving";
    EXPECT_TRUE(take_mode({name, "a", 20}, Mode::kForce).allowed());
    EXPECT_EQ(usage(name, "a").used, 23);
  }
}

TEST_P(Conformance, Shadow_SaysNothingBesideOthers) {
  const std::string real = define(window(unique("real")).amount(100).per(1h));
  const std::string shadow = define(stock(unique("shadow")).amount(5).shadow());
  start_window(kHour);
  const Decision fits = limiter().take({{shadow, "a", 4}, {real, "a", 4}}).value();
  EXPECT_EQ(fits.taken, 8);
  EXPECT_EQ(fits.remaining, 96);
  EXPECT_EQ(fits.limit, 100);
  EXPECT_EQ(fits.reset_after.ns(), Duration(1h).ns());
  const Decision over = limiter().take({{shadow, "a", 4}, {real, "a", 4}}).value();
  EXPECT_TRUE(over.allowed());
  EXPECT_EQ(over.violated, Names{shadow});
  EXPECT_EQ(over.taken, 8);
  EXPECT_EQ(over.remaining, 92);
  EXPECT_EQ(usage(shadow, "a").used, 4);
  EXPECT_EQ(usage(real, "a").used, 8);
  // Where another limit denies, the shadow is not charged, and its endless wait is nobody's.
  const Decision denied = limiter().take({{shadow, "a", 1}, {real, "a", 93}}).value();
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.violated, Names{real});
  const Decision both = limiter().take({{shadow, "a", 9}, {real, "a", 93}}).value();
  EXPECT_EQ(both.violated, (Names{shadow, real}));
  EXPECT_EQ(both.retry_after.ns(), Duration(1h).ns());
  EXPECT_EQ(usage(shadow, "a").used, 4);
}

TEST_P(Conformance, Shadow_ReducesNothing) {
  const std::string shadow = define(stock(unique("shadow")).amount(10).shadow());
  EXPECT_EQ(take_mode({shadow, "a", 8}, Mode::kUpTo).taken, 8);
  EXPECT_EQ(usage(shadow, "a").used, 8);
  const Decision over = take_mode({shadow, "a", 5}, Mode::kUpTo);
  EXPECT_TRUE(over.allowed());
  EXPECT_EQ(over.taken, 5) << "a limit that denies nothing takes nothing away either";
  EXPECT_EQ(over.violated, Names{shadow});
  EXPECT_EQ(usage(shadow, "a").used, 8);
}

TEST_P(Conformance, Shadow_HoldsNothingWhereItDoesNotFit) {
  const std::string real = define(stock(unique("real")).amount(100));
  const std::string shadow = define(stock(unique("shadow")).amount(5).shadow());
  const HoldDecision fits = limiter().hold({{real, "a", 4}, {shadow, "a", 4}}, 1h).value();
  const HoldDecision over = limiter().hold({{real, "a", 4}, {shadow, "a", 4}}, 1h).value();
  EXPECT_TRUE(over.allowed());
  EXPECT_EQ(over.violated, Names{shadow});
  EXPECT_EQ(usage(shadow, "a").held, 4);
  EXPECT_EQ(usage(real, "a").held, 8);
  EXPECT_EQ(limiter().holds(shadow, "a").value(), Names{fits.id});
  EXPECT_EQ(limiter().find_hold(over.id).value()->charges.size(), 2U) << "it is part of the hold";
  EXPECT_EQ(limiter().extend(over.id, 2h).value().ns(), Duration(2h).ns());
  EXPECT_EQ(limiter().cancel(over.id).value(), (Settlement{.amount = 4, .remaining = 96, .limit = 100}))
      << "nothing was held on the shadow, and nothing comes back";
  EXPECT_EQ(usage(shadow, "a").held, 4);
  EXPECT_EQ(limiter().cancel(fits.id).value().amount, 8);
  EXPECT_EQ(charged(shadow, "a"), 0);
}

TEST_P(Conformance, Shadow_OverageIsLeftOutWhereItDoesNotFit) {
  const std::string shadow = define(stock(unique("shadow")).amount(5).shadow());
  const std::string id = hold({shadow, "a", 4}, 1h);
  const Amount amount = 7;
  EXPECT_EQ(limiter().commit_with_overage(id, {&amount, 1}).value().amount, 7);
  EXPECT_EQ(usage(shadow, "a").used, 4);
}

}  // namespace
}  // namespace mete::conformance
