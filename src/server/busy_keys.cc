#include "server/busy_keys.h"

#include <algorithm>
#include <utility>

namespace mete::server {

void BusyKeys::count(const Charge& charge, bool is_allowed, std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  turn_slices(now_ns);
  std::string name(charge.limit);
  name += '\0';  // no name of a limit has one
  name += charge.key;
  Counts& counts = counts_of(std::move(name));
  counts.now += period_;
  if (!is_allowed) counts.denied_now += period_;
}

void BusyKeys::turn_slices(std::uint64_t now_ns) {
  const std::uint64_t slice = now_ns / kSliceNs;
  if (slice == slice_) return;
  const bool is_next = slice == slice_ + 1;
  for (auto entry = counts_.begin(); entry != counts_.end();) {
    Counts& counts = entry->second;
    counts = is_next ? Counts{counts.now, 0, counts.denied_now, 0} : Counts{};
    entry = counts.before == 0 ? counts_.erase(entry) : std::next(entry);
  }
  slice_ = slice;
  period_ = seen_ > kSampledAbove ? kSamplePeriod : 1;
  seen_ = 0;
}

BusyKeys::Counts& BusyKeys::counts_of(std::string name) {
  if (const auto found = counts_.find(name); found != counts_.end()) return found->second;
  Counts inherited;
  if (counts_.size() >= kKeysMax) {
    const auto least = std::min_element(counts_.begin(), counts_.end(), [](const auto& a, const auto& b) {
      return a.second.before + a.second.now < b.second.before + b.second.now;
    });
    inherited = least->second;
    counts_.erase(least);
  }
  return counts_.emplace(std::move(name), inherited).first->second;
}

void BusyKeys::add_to(std::map<std::pair<std::string, std::string>, BusyKey>& sums, std::uint64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t slice = now_ns / kSliceNs;
  if (slice > slice_ + 1) return;  // Nothing has happened for a while.
  const std::uint64_t elapsed_ns = kSliceNs + (slice == slice_ ? now_ns % kSliceNs : kSliceNs);
  const auto rate = [&](std::uint64_t count) {
    return (count * 1'000 + elapsed_ns / 2'000'000) / (elapsed_ns / 1'000'000);
  };
  for (const auto& [name, counts] : counts_) {
    const std::size_t end = name.find('\0');
    BusyKey& sum = sums[{name.substr(0, end), name.substr(end + 1)}];
    sum.decisions += rate(counts.before + counts.now);
    sum.denied += rate(counts.denied_before + counts.denied_now);
  }
}

}  // namespace mete::server
