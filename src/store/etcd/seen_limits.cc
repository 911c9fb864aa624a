#include "store/etcd/seen_limits.h"

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
    if (!limit.has_value() || !*limit) continue;  // whoever uses it will say so
    limits_[entry.name] = {.revision = slot.revision, .when_away = WhenAway::of(**limit)};
  }
}

std::optional<core::Verdict> SeenLimits::admit_open(const core::Take& request) const {
  const std::lock_guard lock(mutex_);
  return admit_if_open(request, [this](std::string_view name) {
    const auto known = limits_.find(name);
    return known == limits_.end() ? std::nullopt : std::optional(known->second.when_away);
  });
}

}  // namespace mete::store::etcd
