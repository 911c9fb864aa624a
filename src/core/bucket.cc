#include "core/bucket.h"

namespace mete::core::bucket {

namespace {

constexpr std::uint64_t kNanosecondsPerMicrosecond = 1000;

// A part of a unit, in ticks of `from`, as ticks of `to`. A rule of an odd number of nanoseconds may have less than a
// microsecond left up to the whole unit: that is the most it becomes.
Uint128 carry_fraction(const Rule& from, Uint128 ticks, const Rule& to) {
  const Uint128 exact = base::multiply(static_cast<std::uint64_t>(ticks), to.period_ns());
  const Uint128 rounded =
      base::div_ceil(base::div_ceil(exact, from.period_ns()), kNanosecondsPerMicrosecond) * kNanosecondsPerMicrosecond;
  return std::min<Uint128>(rounded, to.period_ns());
}

}  // namespace

BucketState rebase(const Rule& from, const BucketState& state, const Rule& to, Instant now) {
  const Uint128 ticks = backlog(from, state, now);
  const Uint128 units = base::div_floor(ticks, from.period_ns());
  BucketState rebased;
  set_backlog(to, rebased, units * to.period_ns() + carry_fraction(from, ticks % from.period_ns(), to), now);
  return rebased;
}

}  // namespace mete::core::bucket
