// Meter: what one (limit, key) has used, for every kind of limit. Pure functions of (rule, state, charge, moment).
//
// Every function but settle() and fresh states wants a settled state: settle() lets a meter's windows pass up to the
// moment, and is idempotent. `used` counts everything charged, held or not, in whole units and rounded up.
//
// Adding a kind: its state in state.h, its functions in a file of its own, and a case in each switch of meter.cc and
// of this header; the compiler names the switches.
#pragma once

#include "core/bucket.h"
#include "core/sliding.h"
#include "core/window.h"

namespace mete::core {

// A state's window, or newest charge, never lies after the moment it is looked at: where the clock was set back, time
// stands still.
inline Instant not_before(const Rule& rule, const State& state, Instant now) {
  if (rule.kind == Kind::kSliding) return std::max(now, state.sliding.start);
  return has_window(rule.kind) ? std::max(now, state.window.start) : now;
}

inline void settle(const Rule& rule, State& state, const Moment& moment) {
  if (rule.kind == Kind::kWindow || rule.kind == Kind::kCalendar) {
    state.window = window::settle(state.window, moment);
  } else if (rule.kind == Kind::kSliding) {
    sliding::settle(rule, state.sliding, moment);
  }
}

inline Amount used(const Rule& rule, const State& state, const Moment& moment) {
  switch (rule.kind) {
    case Kind::kBucket:
      return bucket::used(rule, state.bucket, moment.now);
    case Kind::kWindow:
    case Kind::kCalendar:
      return state.window.used;
    case Kind::kSliding:
      return state.sliding.used();
    case Kind::kStock:
      return state.stock.used;
  }
  __builtin_unreachable();
}

inline bool fits(const Rule& rule, const State& state, Amount cost, const Moment& moment) {
  if (rule.kind == Kind::kBucket) return bucket::fits(rule, state.bucket, cost, moment.now);
  return used(rule, state, moment) + cost <= rule.capacity;
}

// Charges without asking. The caller has seen that it fits, or records usage that already happened.
inline void charge(const Rule& rule, State& state, Amount cost, const Moment& moment) {
  switch (rule.kind) {
    case Kind::kBucket:
      return bucket::charge(rule, state.bucket, cost, moment.now);
    case Kind::kWindow:
    case Kind::kCalendar:
      state.window.used += cost;
      return;
    case Kind::kSliding:
      return sliding::charge(rule, state.sliding, cost, moment.now);
    case Kind::kStock:
      state.stock.used += cost;
      return;
  }
}

// Until the meter is as a fresh one, if nothing is given back; never() for stock.
inline Duration reset_after(const Rule& rule, const State& state, const Moment& moment) {
  switch (rule.kind) {
    case Kind::kBucket:
      return bucket::reset_after(rule, state.bucket, moment.now);
    case Kind::kWindow:
    case Kind::kCalendar:
      return window::reset_after(state.window, moment);
    case Kind::kSliding:
      return sliding::reset_after(rule, state.sliding, moment);
    case Kind::kStock:
      return Duration::never();
  }
  __builtin_unreachable();
}

inline Amount remaining(const Rule& rule, const State& state, const Moment& moment) {
  return std::max<Amount>(0, rule.capacity - used(rule, state, moment));
}

// What an answer tells of a meter.
struct Standing {
  Amount remaining = 0;
  Duration reset_after;
};

inline Standing standing(const Rule& rule, const State& state, const Moment& moment) {
  if (rule.kind != Kind::kBucket) return {remaining(rule, state, moment), reset_after(rule, state, moment)};
  const base::Uint128 backlog = bucket::backlog(rule, state.bucket, moment.now);
  return {std::max<Amount>(0, rule.capacity - bucket::whole_units(rule, backlog)), bucket::drain_time(rule, backlog)};
}

bool is_fresh(const Rule& rule, const State& state, const Moment& moment);

// Gives back a held part, as far as it is still charged.
void release(const Rule& rule, State& state, const HeldPart& part, const Moment& moment);

// How much of a held part is still charged to the meter, in whole units and rounded up.
Amount still_charged(const Rule& rule, const State& state, const HeldPart& part, const Moment& moment);

// A held part as if it were made now: with what of it would come back, rounded down.
HeldPart remake(const Rule& rule, const State& state, const HeldPart& part, const Moment& moment);

// Gives back up to `units` of what is used and not held, and tells how much that was.
Amount give_back(const Rule& rule, State& state, Amount units, Amount held, const Moment& moment);

// Makes the usage `units`, whatever it was.
void set_used(const Rule& rule, State& state, Amount units, const Moment& moment);

// The exact wait until `cost` fits, if nothing happens but that time passes: zero if it fits now, never() if no wait is
// enough.
Duration wait_for(const Rule& rule, const State& state, Amount cost, const Moment& moment);

// Lets a held part expire, at its time: windows pass up to then, and what is still charged of it comes back.
void expire(const Rule& rule, State& state, const HeldPart& part, const Moment& moment);

// The moment at which a part of this meter expires, as far as waits look ahead. A calendar's period stays the same: at
// its end every wait is over.
inline Moment moment_of_expiry(const Rule& rule, const Moment& moment, Instant expires_at) {
  const Instant at = std::max(expires_at, moment.now);  // a meter that stands still may stand later
  return {at, rule.kind == Kind::kWindow ? fixed_window(rule.period, at) : moment.window};
}

// As wait_for, and so many of the held parts expire. `parts` is a range of HeldPart, the first to expire first.
template <class Parts>
Duration wait_for(const Rule& rule, State state, Amount cost, Moment moment, const Parts& parts,
                  std::size_t parts_max) {
  if (cost > rule.capacity) return Duration::never();
  const Instant asked_at = moment.now;
  for (const HeldPart& part : parts) {
    if (parts_max-- == 0) break;
    const Duration wait = wait_for(rule, state, cost, moment);
    if (moment.now + wait <= part.expires_at) return moment.now - asked_at + wait;
    moment = moment_of_expiry(rule, moment, part.expires_at);
    expire(rule, state, part, moment);
  }
  return moment.now - asked_at + wait_for(rule, state, cost, moment);
}

// A meter before and after its limit is redefined, at one instant.
struct Rebase {
  const Rule& rule;
  const Moment& moment;
};

// Whether usage stays where it was charged, and so do the parts that are held of it.
bool keeps_charges(const Rebase& from, const Rebase& to);

// The same usage under another rule: redefining never refills.
State rebase(const Rebase& from, const State& state, const Rebase& to);

}  // namespace mete::core
