// Each kind of limit against its model: random histories of one meter, which rapidcheck makes and cuts down.
//
// The clock steps forwards and backwards; where it is set back, both sides stand still.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "core/meter.h"
#include "model/model_meter.h"

namespace mete::model {

namespace {

enum class Action { kTake, kForce, kGive, kSet };

struct Step {
  std::int64_t clock_step_ns = 0;
  Action action = Action::kTake;
  Amount units = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  constexpr const char* kNames[] = {"take", "force", "give", "set"};
  return out << "clock " << step.clock_step_ns << " ns, " << kNames[static_cast<int>(step.action)] << ' ' << step.units;
}

// Numbers of every magnitude, and often small ones.
rc::Gen<std::int64_t> magnitude(std::int64_t min, std::int64_t max) {
  return rc::gen::mapcat(rc::gen::inRange(0, 62), [=](int bits) {
    const std::int64_t top = std::clamp(std::int64_t{1} << bits, min, max);
    return rc::gen::inRange<std::int64_t>(min, top + 1);
  });
}

rc::Gen<Limit> limit_of(Kind kind) {
  return rc::gen::apply(
      [kind](Amount amount, std::int64_t period_ns, Amount burst, Unit unit) {
        Limit limit(kind, "limit");
        limit.amount(amount);
        if (kind == Kind::kCalendar) limit.per(unit);
        if (kind == Kind::kBucket || kind == Kind::kWindow || kind == Kind::kSliding) {
          limit.per(Duration::from_ns(period_ns));
        }
        if (kind == Kind::kBucket) limit.burst(burst);
        return limit;
      },
      magnitude(1, kAmountMax), magnitude(kPeriodMin.ns(), kPeriodMax.ns()), magnitude(1, kAmountMax),
      rc::gen::element(Unit::kHour, Unit::kDay, Unit::kWeek, Unit::kMonth, Unit::kYear));
}

rc::Gen<Step> any_step(const Limit& limit) {
  const std::int64_t far = std::max<std::int64_t>(limit.period().value_or(std::chrono::hours(24 * 40)).ns() / 3, 4);
  return rc::gen::apply(
      [](std::int64_t forwards, bool is_back, Action action, Amount units) {
        return Step{is_back ? -forwards : forwards, action, units};
      },
      magnitude(0, far), rc::gen::weightedElement<bool>({{5, false}, {1, true}}),
      rc::gen::weightedElement<Action>(
          {{8, Action::kTake}, {1, Action::kForce}, {3, Action::kGive}, {1, Action::kSet}}),
      magnitude(0, limit.amount()));
}

core::Rule rule_of(const Terms& terms) {
  return {.kind = terms.kind,
          .amount = static_cast<Amount>(terms.amount),
          .capacity = static_cast<Amount>(terms.capacity),
          .period = Duration::from_ns(static_cast<std::int64_t>(terms.period))};
}

// The core and the model, side by side.
struct Pair {
  Terms terms;
  core::Rule rule;
  core::State state;
  core::Moment moment;
  ModelMeter model;

  void pass_to(Instant now) {
    const Instant at = core::not_before(rule, state, now);
    moment = {at, {}};
    if (core::has_window(rule.kind)) {
      const WideSpan span = span_at(terms, Wide{at.ns()});
      moment.window = {Instant::from_ns(static_cast<std::uint64_t>(span.start)),
                       Instant::from_ns(static_cast<std::uint64_t>(span.end))};
    }
    core::settle(rule, state, moment);
    model.pass_to(Wide{at.ns()});
  }

  void compare(Amount cost) const {
    RC_ASSERT(core::used(rule, state, moment) == model.usage());
    RC_ASSERT(core::remaining(rule, state, moment) == model.remaining());
    RC_ASSERT(core::reset_after(rule, state, moment) == model.reset_after());
    RC_ASSERT(core::fits(rule, state, cost, moment) == model.fits(cost));
    RC_ASSERT(core::wait_for(rule, state, cost, moment) == model.retry_after(cost, {}));
  }

  void apply(const Step& step) {
    switch (step.action) {
      case Action::kTake:
        if (!model.fits(step.units)) return;
        [[fallthrough]];
      case Action::kForce:
        if (model.usage() + step.units > kAmountMax) return;
        core::charge(rule, state, step.units, moment);
        model.charge(step.units);
        return;
      case Action::kGive: {
        const Amount given = core::give_back(rule, state, step.units, 0, moment);
        RC_ASSERT(given == std::min(step.units, model.givable(0)));
        model.give(given);
        return;
      }
      case Action::kSet:
        core::set_used(rule, state, step.units, moment);
        model.set_usage(step.units);
        return;
    }
  }
};

class KindHistories : public testing::TestWithParam<Kind> {};

TEST_P(KindHistories, AnswerAsTheModel) {
  constexpr int kRounds = 10;  // of 100 histories
  const auto compare_histories = [kind = GetParam()] {
    const Limit limit = *limit_of(kind);
    const auto steps = *rc::gen::container<std::vector<Step>>(any_step(limit));
    const Terms terms = terms_of(limit, std::nullopt);
    Instant clock = Instant::from_unix_seconds(1'700'000'000);
    Instant latest = clock;
    Pair pair{terms, rule_of(terms), {}, {}, ModelMeter(terms, Wide{clock.ns()})};
    for (const Step& step : steps) {
      clock = clock + Duration::from_ns(step.clock_step_ns);
      latest = std::max(latest, clock);
      pair.pass_to(latest);
      pair.compare(step.units);
      pair.apply(step);
      pair.compare(step.units);
    }
  };
  for (int round = 0; round < kRounds; ++round) ASSERT_TRUE(rc::check(compare_histories));
}

INSTANTIATE_TEST_SUITE_P(Kinds, KindHistories,
                         testing::Values(Kind::kBucket, Kind::kWindow, Kind::kSliding, Kind::kCalendar, Kind::kStock),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

}  // namespace

}  // namespace mete::model
