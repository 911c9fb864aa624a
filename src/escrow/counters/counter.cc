#include "escrow/counters/counter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace mete::escrow {

namespace {

bool is_before(const Slot& slot, const Writer& writer) { return slot.writer < writer; }

// The larger of each slot. Whether `mine` changed.
bool merge_slots(Slots& mine, const Slots& theirs) {
  bool is_changed = false;
  auto at = mine.begin();
  for (const Slot& slot : theirs) {
    at = std::lower_bound(at, mine.end(), slot.writer, is_before);
    if (at == mine.end() || at->writer != slot.writer) {
      at = mine.insert(at, slot);
      is_changed = true;
      continue;
    }
    is_changed |= at->increments < slot.increments || at->decrements < slot.decrements;
    at->increments = std::max(at->increments, slot.increments);
    at->decrements = std::max(at->decrements, slot.decrements);
  }
  return is_changed;
}

}  // namespace

bool Counter::is_forgotten(Instant now, int factor) const {
  if (is_present()) return is_expiring() && expiry.at + kExpiredKept * factor <= now;
  return Instant::from_ns(epoch.stamp.number) + kDeletedKept * factor <= now;
}

Int128 Counter::exact_value() const {
  Int128 sum = epoch.base;
  for (const Slot& slot : slots) {
    sum += static_cast<Int128>(slot.increments) - static_cast<Int128>(slot.decrements);
  }
  return sum;
}

std::int64_t Counter::value() const {
  using Limits = std::numeric_limits<std::int64_t>;
  return static_cast<std::int64_t>(std::clamp<Int128>(exact_value(), Limits::min(), Limits::max()));
}

Stamp Counter::next_stamp(const Writer& self, Instant now) const {
  return {std::max({now.ns(), epoch.stamp.number + 1, expiry.stamp.number + 1}), self};
}

void Counter::begin(Epoch next) {
  CHECK(next > epoch);
  epoch = std::move(next);
  expiry = {};
  slots.clear();
}

void Counter::set(const Writer& self, std::int64_t value, Instant now) {
  begin({.stamp = next_stamp(self, now), .has_base = true, .base = value});
}

void Counter::remove(const Writer& self, Instant now) { begin({.stamp = next_stamp(self, now)}); }

bool Counter::add(const Writer& self, std::int64_t by, Instant now) {
  // The epoch after an expiry follows from what has expired alone: nodes that see it apart begin the same one, and what
  // they add adds up. It has no writer, and so a SET of the same instant wins.
  if (is_present() && !is_live(now)) {
    begin({.stamp = {.number = std::max(expiry.at.ns(), epoch.stamp.number + 1), .writer = {}}});
  }
  Slot& slot = slot_of(self);
  base::Uint128& sum = by < 0 ? slot.decrements : slot.increments;
  const base::Uint128 size =
      by < 0 ? base::Uint128{0} - static_cast<base::Uint128>(by) : static_cast<base::Uint128>(by);
  if (sum + size > kSlotMax) return false;
  sum += size;
  return true;
}

void Counter::expire_at(const Writer& self, Instant at, Instant now) {
  CHECK(is_live(now));
  expiry = {.stamp = next_stamp(self, now), .at = at};
}

bool Counter::merge(const Counter& other) {
  if (other.epoch < epoch) return false;
  if (epoch < other.epoch) {
    *this = other;
    return true;
  }
  bool is_changed = merge_slots(slots, other.slots);
  if (expiry < other.expiry) {
    expiry = other.expiry;
    is_changed = true;
  }
  return is_changed;
}

Slot& Counter::slot_of(const Writer& writer) {
  const auto at = std::lower_bound(slots.begin(), slots.end(), writer, is_before);
  if (at != slots.end() && at->writer == writer) return *at;
  return *slots.insert(at, Slot{.writer = writer});
}

}  // namespace mete::escrow
