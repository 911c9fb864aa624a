#include "store/etcd/seen_limits.h"

#include <algorithm>

#include "store/open_admission.h"

namespace mete::store::etcd {

void SeenLimits::note(const Image& image) {
  const std::lock_guard lock(mutex_);
  for (auto each = image.lower_bound({Space::kLimit}); each != image.end(); ++each) {
    const auto& [entry, slot] = *each;
    if (entry.space != Space::kLimit) break;
    const auto known = limits_.find(entry.name);
    if (slot.revision == 0) {
      if (known != limits_.end()) limits_.erase(known);
      continue;
    }
    if (known != limits_.end() && known->second.revision == slot.revision) continue;
    const auto limit = definition_of(slot, entry);
    if (!limit || !*limit) continue;  // whoever uses it will say so
    limits_[entry.name] = {.revision = slot.revision,
                           .is_open = (*limit)->on_fail() == OnFail::kOpen,
                           .capacity = (*limit)->burst().value_or((*limit)->amount())};
  }
}

std::optional<core::Verdict> SeenLimits::admit_open(const core::TakeRequest& request) const {
  Amount taken = 0;
  Amount least = kAmountMax;
  {
    const std::lock_guard lock(mutex_);
    for (const Charge& charge : request.charges) {
      const auto limit = limits_.find(charge.limit);
      if (limit == limits_.end() || !limit->second.is_open) return std::nullopt;
      taken += charge.cost;
      least = std::min(least, limit->second.capacity);
    }
  }
  return admit_as_fresh(taken, least, request.usages);
}

}  // namespace mete::store::etcd
