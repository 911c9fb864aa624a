#include "server/observation/metrics.h"

namespace mete::server {

LoopMetrics::Found LoopMetrics::find_counts(std::string_view limit) {
  auto found = by_limit_.find(std::string(limit));
  if (found == by_limit_.end()) {
    const std::string name = by_limit_.size() < kLimitsMax ? std::string(limit) : std::string(kOtherLimits);
    const std::lock_guard lock(mutex_);
    found = by_limit_.try_emplace(name, std::make_unique<Counts>()).first;
  }
  return {found->first, found->second.get()};
}

void LoopMetrics::add_decisions_to(std::map<std::string, DecisionCounts>& sums) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [limit, counts] : by_limit_) {
    DecisionCounts& sum = sums[limit];
    sum.allowed += counts->allowed.get();
    sum.denied += counts->denied.get();
    sum.shadow_denied += counts->shadow_denied.get();
  }
}

}  // namespace mete::server
