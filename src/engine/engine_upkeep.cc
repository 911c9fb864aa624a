// Upkeep: what time has made needless is taken away, a few buckets at a time; and listings, which walk the same way.

#include <algorithm>
#include <memory>
#include <vector>

#include "core/refusals.h"
#include "engine/engine.h"
#include "engine/operation.h"

namespace mete::engine {

namespace {

// How many buckets one operation looks through for fresh meters when memory is short: some 100 µs, and a millisecond
// where they come from memory.
constexpr std::size_t kEvictBucketsMax = 256;
// Where that was in vain, nobody looks for a while, and for longer each time: a refusal must not cost more than what is
// refused.
constexpr std::uint64_t kEvictPauseMinNs = 1'000'000;
constexpr std::uint64_t kEvictPauseMaxNs = 64'000'000;

// Where ids are scarce, finished holds are remembered for this part of their time.
constexpr std::int64_t kScarceRetention = 24;

}  // namespace

Engine::~Engine() {
  keyspace_.visit_all([this](Entry& entry) { forget(entry); });
}

void Engine::forget(Entry& entry) {
  switch (entry.space.type()) {
    case EntryType::kMeter:
    case EntryType::kOverride:
    case EntryType::kHeldParts:
      return meters_.forget(entry);
    case EntryType::kOperation:
      return ids_.forget(entry);
    case EntryType::kTag:
      return tags_.forget(entry);
    case EntryType::kKey:
      return keys_.forget(entry);
  }
}

void Engine::Remains::take_from(Entry& entry) {
  const std::lock_guard guard(lock_);
  if (entry.space.type() == EntryType::kOperation) {
    auto record = entry.load<OperationRecord>();
    if (record.hold == nullptr) return;
    owned_.holds.emplace_back(record.hold);
    record.hold = nullptr;
    entry.store(record);
  } else if (entry.space.type() == EntryType::kHeldParts) {
    owned_.parts.emplace_back(entry.load<HeldParts*>());
    entry.store<HeldParts*>(nullptr);
  } else if (entry.space.type() == EntryType::kTag) {
    owned_.tagged.emplace_back(entry.load<TaggedHolds*>());
    entry.store<TaggedHolds*>(nullptr);
  }
}

void Engine::Remains::free() {
  Owned owned;
  {
    const std::lock_guard guard(lock_);
    std::swap(owned, owned_);
  }
  for (const auto& hold : owned.holds) memory_.subtract(hold->bytes());
  for (const auto& tagged : owned.tagged) memory_.subtract(HoldTags::bytes_of(*tagged));
}

void Engine::clear_entry(Entry& entry) {
  if (entry.space.type() == EntryType::kOverride) return;
  remains_.take_from(entry);
  forget(entry);
}

// A hold, its parts and its tag lie in different buckets: whoever saw one without the others would be misled. So all
// are of the past at once, and each bucket is cleared when it is visited next. One at a time: a bucket that has missed
// two rounds would look like one that has missed none.
void Engine::clear() {
  const std::lock_guard one_at_a_time(clear_mutex_);
  {
    Keyspace::GuardEveryOne guard(keyspace_);
    recorder_.tell(ClearChange(), Durable::kAlways);
    guard.clear();
    open_holds_.store(0, std::memory_order_relaxed);
  }
  keyspace_.visit_all([](const Entry& /*entry*/) {});
  remains_.free();
}

void Engine::sweep(std::size_t buckets, Instant now) {
  const Instant at = floor_.at_least(now);
  floor_.raise(at);  // first the time, then the forgetting
  Keyspace::Position position{sweep_position_.load(std::memory_order_relaxed)};
  for (std::size_t i = 0; i < buckets; ++i) {
    bool is_done = true;
    const Keyspace::Position next =
        keyspace_.visit_bucket(position, [&](Entry& entry) { is_done = sweep_entry(entry, at) && is_done; });
    if (is_done) position = next.is_end() ? Keyspace::Position() : next;
  }
  sweep_position_.store(position.value, std::memory_order_relaxed);
}

void Engine::record_rest() {
  constexpr std::size_t kTogether = 32;  // as in take_each: fetched from memory together
  const std::vector<std::uint64_t> hashes = recorder_.next_interval();
  const std::span<const std::uint64_t> all(hashes);
  Encoder record;
  const auto tell = [&](Entry& entry) {
    if ((entry.flags & kIsUnrecorded) == 0) return;
    entry.flags &= static_cast<std::uint8_t>(~kIsUnrecorded);
    record.clear();
    if (entry.space.type() == EntryType::kKey) {
      write_change(record, Keys::change_of(entry));
    } else if (const LimitRecord* limit = limits_.at(entry.space.limit())) {
      write_change(record, Recorder::change_of(*limit, entry));
    }
    recorder_.append(record, Durable::kEverySecond);
  };
  for (std::size_t first = 0; first < all.size(); first += kTogether) {
    const auto together = all.subspan(first, std::min(kTogether, all.size() - first));
    for (const std::uint64_t hash : together) keyspace_.prefetch_bucket(hash);
    for (const std::uint64_t hash : together) keyspace_.prefetch_entry(hash);
    for (const std::uint64_t hash : together) keyspace_.visit_hash(hash, tell);
  }
}

bool Engine::evict(Instant now) {
  const std::uint64_t again_at_ns = evict_again_at_ns_.load(std::memory_order_relaxed);
  if (now.ns() < again_at_ns) return false;
  const std::size_t before = memory_.bytes();
  const std::size_t entries = keyspace_.entry_count();
  sweep(std::min<std::size_t>(kEvictBucketsMax, buckets()), now);
  if (memory_.bytes() < before || keyspace_.entry_count() < entries) return true;
  const std::uint64_t pause_ns = evict_pause_ns_.load(std::memory_order_relaxed);
  const bool is_pressed = now.ns() - again_at_ns < pause_ns;
  const std::uint64_t next_ns = is_pressed ? std::min(2 * pause_ns, kEvictPauseMaxNs) : kEvictPauseMinNs;
  evict_pause_ns_.store(next_ns, std::memory_order_relaxed);
  evict_again_at_ns_.store(now.ns() + next_ns, std::memory_order_relaxed);
  return false;
}

bool Engine::sweep_entry(Entry& entry, Instant now) {
  switch (entry.space.type()) {
    case EntryType::kMeter:
      sweep_meter(entry, now);
      return true;
    case EntryType::kHeldParts: {
      // Whoever opens their meter erases some of those that are over.
      const bool has_over = entry.load<HeldParts*>()->has_over();
      meters_.forget_if_empty(entry);
      return !has_over;
    }
    case EntryType::kOperation:
      sweep_operation(entry, now);
      return true;
    case EntryType::kTag:
      return tags_.sweep(entry, now);
    case EntryType::kKey:
      keys_.sweep(entry, now);
      return true;
    case EntryType::kOverride:
      return true;
  }
  __builtin_unreachable();
}

void Engine::sweep_meter(Entry& entry, Instant now) {
  const auto meter = meters_.open(entry, now);
  if (!meter || meter->parts != nullptr) return;
  if (!core::is_fresh(meter->rule->rule(), meter->state, meter->moment)) return;
  floor_.raise(meter->moment.now);  // the meter may stand later than the sweep
  meters_.forget(*meter->entry);
}

// False if it is forgotten.
bool Engine::sweep_operation(Entry& entry, Instant now) {
  const auto record = entry.load<OperationRecord>();
  Instant forget_at = record.made_at + config_.id_retention;
  if (record.hold != nullptr) {
    HoldRecord& hold = *record.hold;
    if (hold.state == HoldState::kHeld && hold.state_at(now) == HoldState::kExpired) {
      hold.state = HoldState::kExpired;
      hold.final_at = hold.expires_at;
      open_holds_.fetch_sub(1, std::memory_order_relaxed);
      expired_holds_.fetch_add(1, std::memory_order_relaxed);
    }
    if (hold.state == HoldState::kHeld) return true;
    // Whoever has ended a hold asks for it again soon, or never.
    const std::int64_t shorter = ids_.are_scarce() ? kScarceRetention : 1;
    forget_at = hold.final_at + Duration::from_ns(config_.id_retention.ns() / shorter);
  }
  if (now < forget_at) return true;
  ids_.forget(entry);
  return false;
}

// An id is forgotten when its time is over, whether or not the sweep has come by.
Entry* Engine::find_id(const OperationId& id, Instant now) {
  Entry* const entry = ids_.find(id);
  return entry != nullptr && sweep_operation(*entry, floor_.at_least(now)) ? entry : nullptr;
}

Result<UsagePage> Engine::scan(std::string_view limit, std::uint64_t cursor, std::size_t count, Instant now) {
  const std::optional<std::uint64_t> generation = generation_of(limit);
  if (!generation) return core::unknown_limit(limit);
  const Instant at = floor_.at_least(now);
  UsagePage page;
  const auto is_full = [&] { return page.keys.size() >= count; };
  page.cursor = keyspace_.visit_page(cursor, is_full, [&](const Entry& entry) {
    if (entry.space.type() != EntryType::kMeter) return;
    const LimitRecord* record = limits_.at(entry.space.limit());
    if (record == nullptr || record->generation != *generation) return;
    const auto meter = meters_.open(entry, at);
    if (meter && meter->used() > 0) page.keys.push_back({std::string(meter->key), meter->usage()});
  });
  return page;
}

std::optional<std::uint64_t> Engine::generation_of(std::string_view limit) {
  const std::uint64_t name_hash = meters_.hash_of_name(limit);
  const Keyspace::Guard guard(keyspace_, name_hash);  // any bucket's lock keeps the record alive
  const LimitRecord* record = limits_.find(limit, name_hash);
  return record == nullptr ? std::nullopt : std::optional(record->generation);
}

}  // namespace mete::engine
