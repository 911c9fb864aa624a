#include "escrow/stranded.h"
#include "base/try.h"

#include <algorithm>
#include <utility>

namespace mete::escrow {

Result<void> Stranded::look(store::Store& shared, std::string_view tag, Instant now) {
  const auto ids = TRY(shared.holds_tagged(tag));
  std::vector<Lost> lost;
  for (std::size_t i = 0; i < std::min(ids.size(), kHoldsMax); ++i) {
    const auto hold = TRY(shared.find_hold(ids[i]));
    if (!hold || hold->state != HoldState::kHeld) continue;
    for (const HeldCharge& charge : hold->charges) lost.push_back({charge.amount, now + hold->expires_in});
  }
  const std::scoped_lock lock(mutex_);
  lost_ = std::move(lost);
  return {};
}

Amount Stranded::amount(Instant now) const {
  Amount sum = 0;
  const std::scoped_lock lock(mutex_);
  for (const Lost& each : lost_) {
    if (now < each.until) sum += each.units;
  }
  return sum;
}

}  // namespace mete::escrow
