// What concerns all counters: listings, the sweep, and what goes to other nodes and comes from them.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "escrow/counters/counters.h"

namespace mete::escrow {

namespace {

// A cursor of a listing: the shard in the upper bits, and the last birth that was listed there.
constexpr int kShardBit = 59;
constexpr std::uint64_t kBirthMask = (std::uint64_t{1} << kShardBit) - 1;
static_assert(Counters::kShards <= std::size_t{1} << (64 - kShardBit));

constexpr std::size_t kSweptAtOnce = 1000;  // counters of each shard
constexpr std::uint64_t kSourceSeed = 0x736f75726365;

// That a counter has gone is believed for so much longer than it is remembered: nodes whose clocks differ forget at
// different times, and must still agree. After that it may be another one of the same name that lives here.
constexpr int kGraceFactor = 2;

// Whether whoever sent the state lacks something of the counter. What it has beside a part is not known: its slots do
// not tell.
bool has_more(const Counter& counter, const CounterState& state) {
  if (!state.is_part) return counter != state.counter;
  return counter.epoch != state.counter.epoch || counter.expiry != state.counter.expiry;
}

}  // namespace

core::KeyPage Counters::scan(std::uint64_t cursor, std::size_t count, Instant now) {
  core::KeyPage page;
  std::uint64_t after = cursor & kBirthMask;
  for (std::size_t i = cursor >> kShardBit; i < kShards; ++i, after = 0) {
    const std::lock_guard lock(shards_[i].mutex);
    shards_[i].shard.visit_births(after, [&](const Shard::Entry& entry) {
      if (page.keys.size() >= count) return false;
      after = entry.birth.number;
      if (entry.counter.is_live(now)) page.keys.push_back({entry.key, core::KeyType::kCounter});
      return true;
    });
    if (page.keys.size() >= count) {
      page.cursor = std::uint64_t{i} << kShardBit | after;
      return page;
    }
  }
  return page;
}

std::size_t Counters::size() const {
  std::size_t sum = 0;
  for (const Locked& locked : shards_) {
    const std::lock_guard lock(locked.mutex);
    sum += locked.shard.present();
  }
  return sum;
}

void Counters::sweep(Instant now) {
  for (Locked& locked : shards_) {
    const std::lock_guard lock(locked.mutex);
    locked.swept_to = locked.shard.sweep(locked.swept_to, kSweptAtOnce, now);
  }
}

Counters::Changes Counters::changes_since(const Cursor& cursor, const Reader& reader, std::size_t bytes_max) {
  Changes changes{.states = {}, .cursor = cursor};
  StateWriter states;
  for (std::size_t i = 0; i < kShards && states.bytes() < bytes_max; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    changes.cursor.seen_[i] = shards_[i].shard.read_changes(cursor.seen_[i], reader, states, bytes_max);
  }
  changes.states = std::move(states).take();
  return changes;
}

Counters::Cursor Counters::skip_changes() {
  Cursor cursor;
  for (std::size_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    cursor.seen_[i] = shards_[i].shard.skip_changes();
  }
  return cursor;
}

bool Counters::has_changes_since(const Cursor& cursor) const {
  for (std::size_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    if (shards_[i].shard.last_change() > cursor.seen_[i]) return true;
  }
  return false;
}

std::size_t Counters::count_changes(const Cursor& cursor, Source reader) const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    sum += shards_[i].shard.count_changes(cursor.seen_[i], reader);
  }
  return sum;
}

bool Counters::merge(const CounterState& state, Source source, Instant now) {
  if (state.counter.is_forgotten(now, kGraceFactor)) return true;
  if (take_in(state, source, now, kMergedFactor * counters_max_)) return true;
  ++refused_;
  return false;
}

// At the beginning of time nothing has been forgotten.
void Counters::load(const CounterState& state) {
  take_in(state, kNobody, Instant(), std::numeric_limits<std::size_t>::max());
}

bool Counters::take_in(const CounterState& state, Source source, Instant now, std::size_t counters_max) {
  const CounterKey key{state.key, hash_of_key(state.key)};
  Locked& locked = shard_of(key);
  const std::lock_guard lock(locked.mutex);
  Shard::Entry* entry = locked.shard.find(key, now);
  if (entry == nullptr) {
    if (state.counter.is_forgotten(now)) return true;
    if (remembered_ >= counters_max) return false;
    entry = &locked.shard.find_or_make(key, now);
  }
  Counter merged = entry->counter;
  const bool is_changed = merged.merge(state.counter);
  const bool is_more = has_more(merged, state);
  // Those that have it all need not be told. Others are: whoever sent it lacks something, or has told only us.
  if (is_changed || entry->change.number == 0) {
    locked.shard.update(*entry, is_more || state.is_part ? kNobody : source,
                        [&](Counter& counter) { counter = std::move(merged); });
  } else if (is_more) {
    locked.shard.note_change(*entry, kNobody);
  }
  return true;
}

Source source_of(const Writer& writer) {
  const Source source = base::hash_number(writer.incarnation, base::hash_bytes(writer.node, kSourceSeed));
  return source == kNobody ? 1 : source;
}

}  // namespace mete::escrow
