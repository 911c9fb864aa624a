#include "engine/table/keyspace.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "base/check.h"

namespace mete::engine {

Keyspace::Keyspace(MemoryGauge& memory, ClearEntry clear_entry)
    : memory_(memory), clear_entry_(std::move(clear_entry)), slab_(memory) {
  constexpr std::size_t kBytes = kFirstSegmentBuckets * sizeof(Bucket);
  segment_pages_[0] = base::Pages::map(kBytes);
  CHECK(segment_pages_[0].data() != nullptr);
  segments_[0].store(reinterpret_cast<Bucket*>(segment_pages_[0].data()), std::memory_order_relaxed);
  memory_.add(kBytes);
}

Keyspace::~Keyspace() = default;

std::uint32_t Keyspace::reverse_bits(std::uint32_t bits) {
  bits = (bits >> 1 & 0x55555555) | (bits & 0x55555555) << 1;
  bits = (bits >> 2 & 0x33333333) | (bits & 0x33333333) << 2;
  bits = (bits >> 4 & 0x0f0f0f0f) | (bits & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(bits);
}

Entry* Keyspace::insert(std::uint64_t hash, Space space, std::string_view key, std::uint8_t payload_size,
                        Slab::Ceiling ceiling) {
  const std::size_t bytes = sizeof(Entry) + payload_size + key.size();
  const Slab::Reference reference = slab_.allocate(Slab::units_for(bytes), ceiling);
  if (reference == Slab::kNone) return nullptr;
  auto* entry = new (slab_.at(reference)) Entry{.hash_low = static_cast<std::uint32_t>(hash),
                                                .space = space,
                                                .key_size = static_cast<std::uint16_t>(key.size()),
                                                .payload_size = payload_size,
                                                .flags = 0};
  std::memset(entry->payload(), 0, payload_size);
  std::memcpy(entry->payload() + payload_size, key.data(), key.size());
  if (!link(bucket_of(hash), {tag_of(hash), reference})) {
    slab_.free(reference, Slab::units_for(bytes));
    return nullptr;
  }
  count(space.type(), 1);
  return entry;
}

bool Keyspace::link(Bucket& first, Slot slot) {
  Bucket* bucket = &first;
  while (bucket->count == kSlots) {
    if (bucket->overflow == Slab::kNone) {
      // Past the ceiling if need be: the entry itself has passed it.
      bucket->overflow = slab_.allocate(kBucketUnits, Slab::Ceiling::kIgnore);
      if (bucket->overflow == Slab::kNone) return false;
      new (slab_.at(bucket->overflow)) Bucket{};
    }
    bucket = overflow_of(*bucket);
  }
  bucket->tags[bucket->count] = slot.tag;
  bucket->references[bucket->count] = slot.reference;
  ++bucket->count;
  return true;
}

// The last slot of the last bucket fills the gap, so that all buckets but the last are always full.
void Keyspace::erase(std::uint64_t hash, Entry* entry) {
  Bucket* holder = nullptr;
  std::uint32_t slot = 0;
  Bucket* last = &bucket_of(hash);
  Bucket* before_last = nullptr;
  for (;;) {
    for (std::uint32_t i = 0; i < last->count; ++i) {
      if (entry_at(last->references[i]) != entry) continue;
      holder = last;
      slot = i;
    }
    if (last->overflow == Slab::kNone) break;
    before_last = last;
    last = overflow_of(*last);
  }
  CHECK(holder != nullptr);
  const Slab::Reference reference = holder->references[slot];
  count(entry->space.type(), static_cast<std::size_t>(-1));
  slab_.free(reference, Slab::units_for(entry->bytes()));
  --last->count;
  holder->tags[slot] = last->tags[last->count];
  holder->references[slot] = last->references[last->count];
  last->tags[last->count] = 0;
  if (last->count == 0 && before_last != nullptr) {
    slab_.free(before_last->overflow, kBucketUnits);
    before_last->overflow = Slab::kNone;
  }
}

Keyspace::References Keyspace::references_of(const Bucket& first) const {
  References references;
  for (const Bucket* bucket = &first; bucket != nullptr; bucket = overflow_of(*bucket)) {
    references.insert(references.end(), bucket->references.begin(), bucket->references.begin() + bucket->count);
  }
  return references;
}

// Empties a bucket and frees its overflow.
Keyspace::Slots Keyspace::drain(Bucket& first) {
  Slots slots;
  for (const Bucket* bucket = &first; bucket != nullptr; bucket = overflow_of(*bucket)) {
    for (std::uint32_t i = 0; i < bucket->count; ++i) slots.push_back({bucket->tags[i], bucket->references[i]});
  }
  for (Slab::Reference overflow = first.overflow; overflow != Slab::kNone;) {
    const Slab::Reference next = reinterpret_cast<Bucket*>(slab_.at(overflow))->overflow;
    slab_.free(overflow, kBucketUnits);
    overflow = next;
  }
  first.overflow = Slab::kNone;
  first.count = 0;
  first.tags.fill(0);
  return slots;
}

void Keyspace::clear(Bucket& bucket) {
  for (const Slab::Reference reference : references_of(bucket)) clear_entry_(*entry_at(reference));
  bucket.is_odd_round = is_odd_round_.load(std::memory_order_relaxed) ? 1 : 0;
}

void Keyspace::adjust_size() {
  if (!resize_lock_.try_lock()) return;  // somebody else is at it
  const std::lock_guard guard(resize_lock_, std::adopt_lock);
  wants_resize_.store(false, std::memory_order_relaxed);
  int steps = 0;
  while (steps < kResizeStepsMax && is_crowded() && split_bucket()) ++steps;
  while (steps < kResizeStepsMax && is_sparse()) {
    merge_bucket();
    ++steps;
  }
  if (steps == kResizeStepsMax) wants_resize_.store(true, std::memory_order_relaxed);
}

// Splits the next unsplit bucket. False if there is no memory for another one: the buckets then grow longer.
bool Keyspace::split_bucket() {
  const std::uint32_t count = bucket_count();
  const std::uint32_t unsplit = std::bit_floor(count);
  if (count >> kBucketBitsMax != 0 || !memory_.try_add(sizeof(Bucket))) return false;
  const auto segment = static_cast<std::uint32_t>(std::bit_width(count)) - kFirstSegmentBits;
  if (segments_[segment].load(std::memory_order_relaxed) == nullptr) {
    const std::size_t bytes = unsplit * sizeof(Bucket);
    const auto size = bytes < base::kHugePageBytes ? base::Pages::Size::kNormal : base::Pages::Size::kHuge;
    base::Pages pages = base::Pages::map(bytes, size);
    if (pages.data() == nullptr) {
      memory_.subtract(sizeof(Bucket));
      return false;
    }
    segments_[segment].store(reinterpret_cast<Bucket*>(pages.data()), std::memory_order_relaxed);
    segment_pages_[segment] = std::move(pages);
  }
  Bucket& bucket = bucket_at(count - unsplit);
  Bucket& sibling = bucket_at(count);  // nobody else can reach it before the count says so
  const std::lock_guard guard(bucket.lock);
  bring_up_to_date(bucket);
  sibling.is_odd_round = bucket.is_odd_round;
  for (const Slot slot : drain(bucket)) {
    const bool moves = (entry_at(slot.reference)->hash_low & unsplit) != 0;
    CHECK(link(moves ? sibling : bucket, slot));
  }
  bucket_count_.store(count + 1, std::memory_order_release);
  return true;
}

void Keyspace::merge_bucket() {
  const std::uint32_t last = bucket_count() - 1;
  Bucket& bucket = bucket_at(last - std::bit_floor(last));
  Bucket& sibling = bucket_at(last);
  const std::scoped_lock guard(bucket.lock, sibling.lock);
  bring_up_to_date(bucket);
  bring_up_to_date(sibling);
  for (const Slot slot : drain(sibling)) CHECK(link(bucket, slot));
  bucket_count_.store(last, std::memory_order_release);
  memory_.subtract(sizeof(Bucket));
}

Keyspace::GuardAll::GuardAll(Keyspace& keyspace, std::span<const std::uint64_t> hashes) : keyspace_(keyspace) {
  for (;;) {
    const std::uint32_t count_before = keyspace_.bucket_count_.load(std::memory_order_acquire);
    lock(hashes, count_before);
    const std::uint32_t count_now = keyspace_.bucket_count_.load(std::memory_order_acquire);
    const bool is_current = std::all_of(hashes.begin(), hashes.end(), [&](std::uint64_t hash) {
      return index_of(hash, count_now) == index_of(hash, count_before);
    });
    if (is_current) break;
    unlock();
  }
  for (Bucket* bucket : buckets_) keyspace_.bring_up_to_date(*bucket);
}

void Keyspace::GuardAll::lock(std::span<const std::uint64_t> hashes, std::uint32_t bucket_count) {
  boost::container::static_vector<std::uint32_t, kLocksMax> indexes;
  for (const std::uint64_t hash : hashes) indexes.push_back(index_of(hash, bucket_count));
  std::sort(indexes.begin(), indexes.end());
  const auto end = std::unique(indexes.begin(), indexes.end());
  for (auto index = indexes.begin(); index != end; ++index) {
    buckets_.push_back(&keyspace_.bucket_at(*index));
    buckets_.back()->lock.lock();
  }
}

void Keyspace::GuardAll::unlock() {
  for (Bucket* bucket : buckets_) bucket->lock.unlock();
  buckets_.clear();
}

// The order of a resize: first its lock, which keeps the number of buckets, then theirs.
Keyspace::GuardEveryOne::GuardEveryOne(Keyspace& keyspace) : keyspace_(keyspace) {
  keyspace_.resize_lock_.lock();
  for (std::uint32_t i = 0; i < keyspace_.bucket_count(); ++i) {
    Bucket& bucket = keyspace_.bucket_at(i);
    bucket.lock.lock();
    keyspace_.bring_up_to_date(bucket);
  }
}

Keyspace::GuardEveryOne::~GuardEveryOne() {
  for (std::uint32_t i = 0; i < keyspace_.bucket_count(); ++i) keyspace_.bucket_at(i).lock.unlock();
  keyspace_.resize_lock_.unlock();
  keyspace_.adjust_size_if_wanted();
}

Keyspace::GuardAll::~GuardAll() {
  unlock();
  keyspace_.adjust_size_if_wanted();
}

}  // namespace mete::engine
