#include "server/observation/busy_keys.h"

#include <algorithm>
#include <span>

#include "base/hash.h"

namespace mete::server {

void BusyKeys::count(const Charge& charge, bool is_allowed, std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (slots_.empty()) slots_.resize(kSlots);
  turn_slices(now_ns);
  const std::uint64_t weight = period_;
  seen_ += weight;
  period_ = seen_ < kCountedAll ? 1 : kSamplePeriod;
  until_sample_ = period_;
  Slot* const slot = find_slot(charge, weight);
  if (slot == nullptr) return;
  if (slot->now + slot->before == 0) slot->since_ns = now_ns;
  slot->now += weight;
  if (!is_allowed) slot->denied_now += weight;
}

BusyKeys::Slot* BusyKeys::find_slot(const Charge& charge, std::uint64_t weight) {
  const std::uint64_t hash = base::hash_bytes(charge.key, base::hash_bytes(charge.limit, 0));
  const auto slots = std::span(slots_).subspan(hash % (kSlots / kSlotsOfKey) * kSlotsOfKey, kSlotsOfKey);
  const auto own = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.hash == hash; });
  if (own != slots.end()) return &*own;
  Slot& least = *std::min_element(slots.begin(), slots.end(),
                                  [](const Slot& a, const Slot& b) { return a.now + a.before < b.now + b.before; });
  if (least.now + least.before > weight) {
    std::uint64_t& count = least.now > weight ? least.now : least.before;
    count -= std::min(count, weight);
    return nullptr;
  }
  least = {.hash = hash, .limit = std::string(charge.limit), .key = std::string(charge.key)};
  return &least;
}

void BusyKeys::turn_slices(std::uint64_t now_ns) {
  const std::uint64_t slice = now_ns / kSliceNs;
  if (slice == slice_) return;
  const bool is_next = slice == slice_ + 1;
  for (Slot& slot : slots_) {
    slot.before = is_next ? slot.now : 0;
    slot.denied_before = is_next ? slot.denied_now : 0;
    slot.now = 0;
    slot.denied_now = 0;
  }
  slice_ = slice;
  seen_ = 0;
}

void BusyKeys::add_to(std::map<std::pair<std::string, std::string>, BusyKey>& sums, std::uint64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t slice = now_ns / kSliceNs;
  if (slice > slice_ + 1) return;  // Nothing has happened for a while.
  // What is the slice before by now may not have been turned yet.
  const bool is_turned = slice == slice_;
  const std::uint64_t window_start_ns = (slice_ - (is_turned ? 1 : 0)) * kSliceNs;
  for (const Slot& slot : slots_) {
    const std::uint64_t count = slot.now + (is_turned ? slot.before : 0);
    const std::uint64_t denied = slot.denied_now + (is_turned ? slot.denied_before : 0);
    if (count == 0) continue;
    const std::uint64_t from_ns = std::min(std::max(slot.since_ns, window_start_ns), now_ns);
    const std::uint64_t covered_ms = std::max(now_ns - from_ns, kCoveredMinNs) / 1'000'000;
    const auto rate = [&](std::uint64_t number) { return (number * 1000 + covered_ms / 2) / covered_ms; };
    BusyKey& sum = sums[{slot.limit, slot.key}];
    sum.decisions += rate(count);
    // Other keys take away from the decisions, and not from the denials among them.
    sum.denied += std::min(rate(denied), rate(count));
  }
}

}  // namespace mete::server
