#include "core/meter.h"

namespace mete::core {

bool is_fresh(const Rule& rule, const State& state, const Moment& moment) {
  if (rule.kind == Kind::kBucket) return bucket::is_fresh(rule, state.bucket, moment.now);
  return used(rule, state, moment) == 0;
}

void release(const Rule& rule, State& state, const HeldPart& part, const Moment& moment) {
  switch (rule.kind) {
    case Kind::kBucket:
      return bucket::release(rule, state.bucket, part, moment.now);
    case Kind::kWindow:
    case Kind::kCalendar:
      return window::release(state.window, part);
    case Kind::kSliding:
      return sliding::release(rule, state.sliding, part, moment.now);
    case Kind::kStock:
      state.stock.used -= std::min(part.units, state.stock.used);
      return;
  }
}

Amount still_charged(const Rule& rule, const State& state, const HeldPart& part, const Moment& moment) {
  switch (rule.kind) {
    case Kind::kBucket:
      return bucket::still_charged(rule, part, moment.now);
    case Kind::kWindow:
    case Kind::kCalendar:
      return window::owns(state.window, part) ? part.units : 0;
    case Kind::kSliding:
      return sliding::owns(rule, part, moment.now) ? part.units : 0;
    case Kind::kStock:
      return part.units;
  }
  __builtin_unreachable();
}

HeldPart remake(const Rule& rule, const State& state, const HeldPart& part, const Moment& moment) {
  const Amount units = rule.kind == Kind::kBucket ? bucket::comes_back(rule, part, moment.now)
                                                  : still_charged(rule, state, part, moment);
  return {.units = units, .made_at = moment.now, .expires_at = part.expires_at};
}

void set_used(const Rule& rule, State& state, Amount units, const Moment& moment) {
  switch (rule.kind) {
    case Kind::kBucket:
      return bucket::set_used(rule, state.bucket, units, moment.now);
    case Kind::kWindow:
    case Kind::kCalendar:
      state.window = {moment.window.start, units};
      return;
    case Kind::kSliding:
      return sliding::set_used(rule, state.sliding, units, moment.now);
    case Kind::kStock:
      state.stock.used = units;
      return;
  }
}

Amount give_back(const Rule& rule, State& state, Amount units, Amount held, const Moment& moment) {
  const Amount given = std::clamp<Amount>(used(rule, state, moment) - held, 0, units);
  if (rule.kind == Kind::kSliding) {
    sliding::give_oldest(rule, state.sliding, given);
    return given;
  }
  // A part that is made now is one that has not begun to come back, and belongs to this window.
  release(rule, state, {.units = given, .made_at = moment.now, .expires_at = moment.now}, moment);
  return given;
}

void expire(const Rule& rule, State& state, const HeldPart& part, const Moment& moment) {
  settle(rule, state, moment);
  release(rule, state, part, moment);
}

Duration wait_for(const Rule& rule, const State& state, Amount cost, const Moment& moment) {
  if (cost > rule.capacity) return Duration::never();
  switch (rule.kind) {
    case Kind::kBucket:
      return bucket::wait_for(rule, state.bucket, cost, moment.now);
    case Kind::kWindow:
    case Kind::kCalendar:
      return window::wait_for(rule, state.window, cost, moment);
    case Kind::kSliding:
      return sliding::wait_for(rule, state.sliding, cost, moment);
    case Kind::kStock:
      return state.stock.used + cost <= rule.capacity ? Duration() : Duration::never();
  }
  __builtin_unreachable();
}

bool keeps_charges(const Rebase& from, const Rebase& to) {
  if (from.rule.kind != to.rule.kind) return false;
  if (from.rule.kind == Kind::kSliding) return from.rule.period == to.rule.period;
  return (from.rule == to.rule || from.rule.kind != Kind::kBucket) && from.moment.window == to.moment.window;
}

State rebase(const Rebase& from, const State& state, const Rebase& to) {
  State rebased;
  if (keeps_charges(from, to)) {
    if (from.rule.kind != Kind::kSliding || from.rule == to.rule) return state;
    rebased.sliding = sliding::recode(to.rule, state.sliding);
    return rebased;
  }
  if (from.rule.kind == Kind::kBucket && to.rule.kind == Kind::kBucket) {
    rebased.bucket = bucket::rebase(from.rule, state.bucket, to.rule, to.moment.now);
    return rebased;
  }
  const Amount units = used(from.rule, state, from.moment);
  if (units > 0) set_used(to.rule, rebased, units, to.moment);
  return rebased;
}

}  // namespace mete::core
