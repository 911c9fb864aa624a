#include "net/buffer_budget.h"

#include <algorithm>

namespace mete::net {

void BufferBudget::note(ConnectionSet& set, std::uint64_t connection, std::size_t before, std::size_t now) {
  const std::size_t sum = bytes_.fetch_add(now - before, std::memory_order_relaxed) + (now - before);
  const bool is_above = now > before && sum > bytes_max_.load(std::memory_order_relaxed);
  if (before < kLarge && now < kLarge && !is_above) return;
  const std::lock_guard lock(mutex_);
  if (now < kLarge) {
    large_.erase(connection);
  } else {
    const auto [place, is_new] = large_.try_emplace(connection, Large{&set, now, false});
    if (!is_new) place->second.bytes = now;
  }
  if (is_above) relieve();
}

// Down to seven eighths: so that not each byte that arrives looks for the largest again.
void BufferBudget::relieve() {
  const std::size_t bytes_max = bytes_max_.load(std::memory_order_relaxed);
  std::size_t sum = bytes();
  std::vector<Victim> candidates;
  for (const auto& [id, large] : large_) {
    if (large.is_doomed) {
      sum -= std::min(sum, large.bytes);
    } else {
      candidates.push_back({large.set, id, large.bytes});
    }
  }
  if (sum <= bytes_max) return;
  std::sort(candidates.begin(), candidates.end(),
            [](const Victim& one, const Victim& other) { return one.bytes > other.bytes; });
  for (const Victim& victim : candidates) {
    if (sum <= bytes_max - bytes_max / 8) return;
    sum -= std::min(sum, victim.bytes);
    large_[victim.connection].is_doomed = true;
    cut_off_count_.fetch_add(1, std::memory_order_relaxed);
    cut_off_(victim);
  }
}

}  // namespace mete::net
