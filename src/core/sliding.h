// Sliding: at most `amount` in every period, wherever it begins. docs/semantics.md has the rules, and their proof.
//
//     ────┼──────■──■────────────■─────■■────────┤ now        a charge counts for one period
//                ├─────────── period ────────────┤
//
// A meter remembers when its usage was charged, in one of two forms:
//
// - A log, while charges are few: the newest and up to four older ones, each with its exact time. A charge at m counts
//   up to m + period.
// - A ring, when they are many: time is cut into slots of a 125th of the period, and a charge counts up to the end of
//   its slot plus a period. What is left of a slot that is no longer the newest is whole quanta; the rest is carried on
//   to the newest slot. What comes back leaves a part of a quantum in a few slots. So everything counts as long as it
//   should, or a little longer.
//
// A charge that does not fit the log turns it into a ring, and a meter without usage begins with a log.
//
// The third form, two windows, is how meters were kept in earlier versions; settle() turns it into charges, and rings
// of earlier versions into those of this one.
//
// Every function but settle() wants a settled state.
#pragma once

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "core/rule.h"
#include "core/state.h"

namespace mete::core::sliding {

inline constexpr std::int64_t kSlots = 125;  // of a millisecond, a slot has eight whole microseconds

// Whole microseconds, so that stores which count in these have the same slots.
inline Duration slot_width(const Rule& rule) {
  return Duration::from_ns((rule.period.ns() + kSlots * 1000 - 1) / (kSlots * 1000) * 1000);
}

// The slot that holds an instant begins there.
inline Instant slot_of(const Rule& rule, Instant at) {
  return Instant::from_ns(at.ns() - at.ns() % static_cast<std::uint64_t>(slot_width(rule).ns()));
}

// How much longer than a period a charge counts, from its start.
inline Duration lag(const Rule& rule, const SlidingState& state) {
  return state.form() == SlidingState::Form::kRing ? slot_width(rule) : Duration();
}

// Up to when a part that comes back leaves the meter. A ring would count its charge up to the end of its slot, but may
// have been a log when that charge left: then the unit that left would be somebody else's.
inline Instant comes_back_until(const Rule& rule, Instant made_at) { return made_at + rule.period; }

// Up to when the charge, or slot, that starts there counts.
inline Instant counts_until(const Rule& rule, const SlidingState& state, Instant start) {
  return start + lag(rule, state) + rule.period;
}

// From when on a ring, or a log at another instant than its newest charge's, is not as it was: something has left it,
// or a charge begins another slot.
inline Instant stands_until(const Rule& rule, const SlidingState& state) {
  const std::int64_t width = slot_width(rule).ns();
  const std::int64_t oldest = rule.period.ns() + width - width * state.ring.slots;
  return state.start + Duration::from_ns(std::min(width, oldest));
}

void let_pass(const Rule& rule, SlidingState& state, Instant now);
void charge_elsewhen(const Rule& rule, SlidingState& state, Amount cost, Instant now);

inline bool is_within_newest(const Rule& rule, const SlidingState& state, Instant now) {
  if (state.form() == SlidingState::Form::kRing) {
    return now < stands_until(rule, state) && !state.has_ring_of_earlier_version();
  }
  return state.form() == SlidingState::Form::kLog && now == state.start;
}

inline void settle(const Rule& rule, SlidingState& state, const Moment& moment) {
  if (state.used_and_form != 0 && !is_within_newest(rule, state, moment.now)) let_pass(rule, state, moment.now);
}

inline void charge(const Rule& rule, SlidingState& state, Amount cost, Instant now) {
  if (is_within_newest(rule, state, now) && state.used() > 0) {
    state.add(cost);
  } else if (cost > 0) {
    charge_elsewhen(rule, state, cost, now);
  }
}

// Whether a part's charge still counts. If not, it has come back by itself.
bool owns(const Rule& rule, const HeldPart& part, Instant now);

// Takes a part out of its own place, and what is not there any more from the next ones, to which it was carried. If a
// reconciliation has left less than that, the rest is the oldest's.
void release(const Rule& rule, SlidingState& state, const HeldPart& part, Instant now);

// Takes so much from the oldest charges; at most what is used. That is safe whatever was charged when: what stays
// counts at least as long as what was not given back.
void give_oldest(const Rule& rule, SlidingState& state, Amount units);

void set_used(const Rule& rule, SlidingState& state, Amount units, Instant now);

Duration wait_for(const Rule& rule, const SlidingState& state, Amount cost, const Moment& moment);
Duration reset_after(const Rule& rule, const SlidingState& state, const Moment& moment);

// The same charges under another rule of the same period.
SlidingState recode(const Rule& rule, const SlidingState& state);

// One charge, or all those of a slot.
struct Charged {
  Instant start;
  Amount units = 0;
};
// The oldest first; the newest last, even if nothing is left of it.
using Charges = boost::container::static_vector<Charged, kSlots + 1>;
Charges charges_of(const Rule& rule, const SlidingState& state);
SlidingState made_of(const Rule& rule, SlidingState::Form form, std::span<const Charged> charges);
// The charges of a ring in their own slots, if they can be so; else as made_of().
SlidingState ring_of(const Rule& rule, const Charges& charges);

// A state as it was kept, by this version or an earlier one; none if it cannot be one.
std::optional<SlidingState> read_state(std::string_view bytes);

}  // namespace mete::core::sliding
