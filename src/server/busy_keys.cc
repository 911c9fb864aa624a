#include "server/busy_keys.h"

#include <algorithm>

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
  const std::uint64_t hash = base::hash_bytes(charge.key, base::hash_bytes(charge.limit, 0));
  Slot& slot = slots_[hash % kSlots];
  if (slot.hash != hash) {
    if (slot.now + slot.before > weight) {
      std::uint64_t& count = slot.now > weight ? slot.now : slot.before;
      count -= std::min(count, weight);
      return;
    }
    slot = {.hash = hash, .limit = std::string(charge.limit), .key = std::string(charge.key)};
  }
  slot.now += weight;
  if (!is_allowed) slot.denied_now += weight;
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
  const std::uint64_t elapsed_ms = (kSliceNs + (slice == slice_ ? now_ns % kSliceNs : kSliceNs)) / 1'000'000;
  const auto rate = [&](std::uint64_t count) { return (count * 1000 + elapsed_ms / 2) / elapsed_ms; };
  for (const Slot& slot : slots_) {
    if (slot.now + slot.before == 0) continue;
    BusyKey& sum = sums[{slot.limit, slot.key}];
    sum.decisions += rate(slot.now + slot.before);
    // Other keys take away from the decisions, and not from the denials among them.
    sum.denied += std::min(rate(slot.denied_now + slot.denied_before), rate(slot.now + slot.before));
  }
}

}  // namespace mete::server
