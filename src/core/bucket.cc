#include "core/bucket.h"

namespace mete::core::bucket {

BucketState rebase(const Rule& from, const BucketState& state, const Rule& to, Instant now) {
  const Uint128 ticks = backlog(from, state, now);
  const Uint128 units = base::div_floor(ticks, from.period_ns());
  const auto fraction = static_cast<std::uint64_t>(ticks % from.period_ns());
  BucketState rebased;
  set_backlog(to, rebased,
              units * to.period_ns() + base::div_ceil(base::multiply(fraction, to.period_ns()), from.period_ns()), now);
  return rebased;
}

}  // namespace mete::core::bucket
