// Bucket: a token bucket with exact refill. A greedy client gets burst + floor(amount · t / period) units in every t.
//
//     full_at ──── when the bucket will be full again, in ticks of 1/amount ns (see state.h)
//     backlog ──── full_at - now: what is missing from a full bucket; a unit is `period` ticks
//
// A charge moves full_at on by cost · period; time does the rest, so a denial has nothing to write.
#pragma once

#include <algorithm>

#include "core/rule.h"
#include "core/state.h"

namespace mete::core::bucket {

using base::Uint128;

inline Uint128 now_ticks(const Rule& rule, Instant now) {
  return base::multiply(now.ns(), base::to_unsigned(rule.amount));
}

inline Uint128 unit_ticks(const Rule& rule, Amount units) {
  return base::multiply(base::to_unsigned(units), rule.period_ns());
}

inline Uint128 backlog(const Rule& rule, const BucketState& state, Instant now) {
  const Uint128 now_at = now_ticks(rule, now);
  return state.full_at() > now_at ? state.full_at() - now_at : 0;
}

inline void set_backlog(const Rule& rule, BucketState& state, Uint128 ticks, Instant now) {
  state.set_full_at(now_ticks(rule, now) + ticks);
}

inline Amount whole_units(const Rule& rule, Uint128 ticks) {
  return base::saturate(base::div_ceil(ticks, rule.period_ns()));
}

inline Amount used(const Rule& rule, const BucketState& state, Instant now) {
  return whole_units(rule, backlog(rule, state, now));
}

inline bool fits(const Rule& rule, const BucketState& state, Amount cost, Instant now) {
  return backlog(rule, state, now) + unit_ticks(rule, cost) <= unit_ticks(rule, rule.capacity);
}

// Where a charge made now begins. A bucket that became full within the last nanosecond goes on from that very tick, not
// from now: nobody could have asked earlier, and a greedy client of a small bucket would lose that fraction with each
// unit. It is less than a unit, so never more than the burst fits at one instant.
inline Uint128 charged_from(const Rule& rule, const BucketState& state, Instant now) {
  const Uint128 now_at = now_ticks(rule, now);
  const std::uint64_t kept_below = std::min(base::to_unsigned(rule.amount), rule.period_ns());
  return state.full_at() + kept_below > now_at ? state.full_at() : now_at;
}

inline bool is_fresh(const Rule& rule, const BucketState& state, Instant now) {
  return charged_from(rule, state, now) == now_ticks(rule, now);
}

inline void charge(const Rule& rule, BucketState& state, Amount cost, Instant now) {
  state.set_full_at(charged_from(rule, state, now) + unit_ticks(rule, cost));
}

inline Duration drain_time(const Rule& rule, Uint128 ticks) {
  return Duration::from_ns(base::saturate(base::div_ceil(ticks, base::to_unsigned(rule.amount))));
}

inline Duration wait_for(const Rule& rule, const BucketState& state, Amount cost, Instant now) {
  const Uint128 wanted = backlog(rule, state, now) + unit_ticks(rule, cost);
  const Uint128 room = unit_ticks(rule, rule.capacity);
  return wanted > room ? drain_time(rule, wanted - room) : Duration();
}

inline Duration reset_after(const Rule& rule, const BucketState& state, Instant now) {
  return drain_time(rule, backlog(rule, state, now));
}

// What of a held part the bucket has not refilled since it was made. Only that may be credited: had the part never been
// charged, the bucket would have been full up to here, and refill past full is lost. The refill since is counted
// against this part alone, as if nothing had waited before it, so that parts released in any order never credit too
// much.
inline Uint128 part_ticks(const Rule& rule, const HeldPart& part, Instant now) {
  const Uint128 charged = unit_ticks(rule, part.units);
  const Uint128 refilled =
      now > part.made_at ? base::multiply(now.ns() - part.made_at.ns(), base::to_unsigned(rule.amount)) : 0;
  return charged > refilled ? charged - refilled : 0;
}

inline void release(const Rule& rule, BucketState& state, const HeldPart& part, Instant now) {
  const Uint128 charged = backlog(rule, state, now);
  const Uint128 credit = part_ticks(rule, part, now);
  set_backlog(rule, state, charged > credit ? charged - credit : 0, now);
}

inline Amount comes_back(const Rule& rule, const HeldPart& part, Instant now) {
  return base::saturate(base::div_floor(part_ticks(rule, part, now), rule.period_ns()));
}

inline Amount still_charged(const Rule& rule, const HeldPart& part, Instant now) {
  return whole_units(rule, part_ticks(rule, part, now));
}

inline void set_used(const Rule& rule, BucketState& state, Amount units, Instant now) {
  set_backlog(rule, state, unit_ticks(rule, units), now);
}

// The same usage under another rule: whole units stay, the fraction of a unit is rounded up to a multiple of
// 1/amount µs. So what counts in microseconds, as stores behind a network do, has whole numbers too, and the same ones.
BucketState rebase(const Rule& from, const BucketState& state, const Rule& to, Instant now);

}  // namespace mete::core::bucket
