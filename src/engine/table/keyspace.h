// Keyspace: a hash table of entries, each bucket one cache line with its own lock.
//
//     ┌──────┬──────────┬──────────┬───────┬────────────────┐
//     │ lock │ overflow │ tags ·11 │ count │ references ·11 │      a bucket: 64 bytes
//     └──────┴──────────┴──────────┴───────┴────────────────┘
//
// A look-up costs two cache misses: the bucket, with lock, tags (8 bits of the hash) and references; and the entry,
// with its key and its payload. Since the lock lies in the line that is needed anyway, threads on different keys share
// nothing.
//
// The table grows by linear hashing: one bucket at a time is split in two, so no operation waits for a rehash, and the
// memory always fits the number of entries. Bucket i holds the hashes whose low bits are i; the bucket count tells how
// many bits. Segments of buckets double in size and never move.
//
//     bucket count 6 = 4 + 2:    0 1 2 3 | 4 5           0 and 1 are split: 3 low bits; 2 and 3 are not: 2 low bits
//
// Locking: operations lock all the buckets they need at once, in ascending order (GuardAll). A split or a merge holds
// the lock of the bucket that it changes, so whoever holds a bucket's lock sees its hashes stay.
//
// Clearing is one step, and does not touch the entries: from then on all buckets are of the round before, and whoever
// locks one of these first has it cleared. So nobody meets an entry from before.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/lock.h"
#include "base/pages.h"
#include "engine/table/entry.h"
#include "engine/table/slab.h"

namespace mete::engine {

class Keyspace {
 public:
  // The most buckets that one operation locks: its charges', its id's and its tag's.
  static constexpr std::size_t kLocksMax = 18;

  class Guard;          // holds the lock of one bucket
  class GuardAll;       // holds those of several
  class GuardEveryOne;  // holds all there are

  // Clears an entry that is of the round before: erases it, or leaves it there.
  using ClearEntry = std::function<void(Entry& entry)>;

  explicit Keyspace(MemoryGauge& memory, ClearEntry clear_entry = nullptr);
  Keyspace(const Keyspace&) = delete;
  Keyspace& operator=(const Keyspace&) = delete;
  ~Keyspace();

  // The next three want the lock of the hash's bucket.
  [[nodiscard]] Entry* find(std::uint64_t hash, Space space, std::string_view key) const;
  // The payload is zeroed. Null if the memory ceiling is reached, unless it is ignored.
  [[nodiscard]] Entry* insert(std::uint64_t hash, Space space, std::string_view key, std::uint8_t payload_size,
                              Slab::Ceiling ceiling = Slab::Ceiling::kObey);
  void erase(std::uint64_t hash, Entry* entry);

  // Brings the bucket of a hash into the cache, and later (when it has come) what in it has the hash. Hints: looking
  // something up takes two trips to memory, one after the other, and with these the trips of many overlap.
  void prefetch_bucket(std::uint64_t hash) const { __builtin_prefetch(&bucket_of(hash), 1); }
  void prefetch_entry(std::uint64_t hash) const;

  // Calls visit(entry) under the bucket's lock for each entry that has this hash.
  template <class Visit>
  void visit_hash(std::uint64_t hash, Visit visit);

  // A place in a walk over all buckets, in the order of the reversed hashes: an order that splits and merges keep, so
  // an entry that stays is met exactly once.
  struct Position {
    std::uint64_t value = 0;
    [[nodiscard]] bool is_end() const { return value >= kEnd; }
    static constexpr std::uint64_t kEnd = std::uint64_t{1} << 32;
  };

  // Calls visit(entry) under the bucket's lock for each entry of the bucket at `position`, and returns the next
  // position. `visit` may insert into the bucket, and erase of it what it has met and what it is given.
  template <class Visit>
  Position visit_bucket(Position position, Visit&& visit);

  // Visits every bucket, each under its own lock.
  template <class Visit>
  void visit_all(Visit visit) {
    for (Position position; !position.is_end();) position = visit_bucket(position, visit);
  }
  // A page of a listing, which is a walk in pieces: visits buckets from a cursor on (0: the first) until is_full(), and
  // a bounded number of them. Returns the cursor of the next page; 0 after the last one.
  template <class IsFull, class Visit>
  std::uint64_t visit_page(std::uint64_t cursor, IsFull is_full, Visit visit) {
    Position position{cursor};
    for (std::size_t i = 0; i < kPageBucketsMax && !position.is_end(); ++i) {
      position = visit_bucket(position, visit);
      if (is_full()) break;
    }
    return position.is_end() ? 0 : position.value;
  }

  [[nodiscard]] std::size_t entry_count(EntryType type) const {
    return counts_[static_cast<std::size_t>(type)].load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t entry_count() const { return total_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t bucket_count() const { return bucket_count_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kPageBucketsMax = 512;  // a millisecond at worst
  static constexpr std::uint32_t kSlots = 11;
  static constexpr std::size_t kSlotsExpected = 33;  // in a bucket and its overflow; there may be more
  static constexpr std::uint32_t kFirstSegmentBits = 10;
  static constexpr std::uint32_t kFirstSegmentBuckets = 1U << kFirstSegmentBits;
  static constexpr std::uint32_t kBucketBitsMax = 31;
  static constexpr std::uint32_t kSegments = kBucketBitsMax - kFirstSegmentBits + 1;
  static constexpr std::uint32_t kLoad = 6;         // entries per bucket, on average
  static constexpr std::uint32_t kLoadToMerge = 2;  // below this the table shrinks
  static constexpr int kResizeStepsMax = 4;
  static constexpr std::size_t kEntryBytesUsual = 40;  // up to somewhere in the key

  struct Bucket {
    base::Lock lock;
    Slab::Reference overflow;  // another bucket of which only the lock is unused, or none
    std::array<std::uint8_t, kSlots> tags;
    std::uint8_t count : 7;
    std::uint8_t is_odd_round : 1;  // of clearing; not of an overflow
    std::array<Slab::Reference, kSlots> references;
  };
  static_assert(sizeof(Bucket) == 64);
  static_assert(kSlots < 128);
  static constexpr std::uint32_t kBucketUnits = sizeof(Bucket) / Slab::kUnitBytes;

  static std::uint32_t reverse_bits(std::uint32_t bits);
  // An unused slot's tag is 0, and no other's. None is 1 either: find_byte() might take an unused slot above it for
  // one.
  static std::uint8_t tag_of(std::uint64_t hash) {
    const auto tag = static_cast<std::uint8_t>(hash >> 56);
    return tag < 2 ? static_cast<std::uint8_t>(tag + 2) : tag;
  }
  static std::uint32_t index_of(std::uint64_t hash, std::uint32_t bucket_count);
  static std::uint32_t low_bits(std::uint32_t index, std::uint32_t bucket_count);

  [[nodiscard]] Bucket& bucket_at(std::uint32_t index) const;
  [[nodiscard]] Bucket& bucket_of(std::uint64_t hash) const {
    return bucket_at(index_of(hash, bucket_count_.load(std::memory_order_acquire)));
  }
  [[nodiscard]] Bucket* overflow_of(const Bucket& bucket) const {
    return bucket.overflow == Slab::kNone ? nullptr : reinterpret_cast<Bucket*>(slab_.at(bucket.overflow));
  }
  [[nodiscard]] Entry* entry_at(Slab::Reference reference) const {
    return reinterpret_cast<Entry*>(slab_.at(reference));
  }
  // The references of a bucket and its overflow; few buckets have more than fit.
  using References = boost::container::small_vector<Slab::Reference, kSlotsExpected>;
  struct Slot {
    std::uint8_t tag;
    Slab::Reference reference;
  };
  using Slots = boost::container::small_vector<Slot, kSlotsExpected>;

  [[nodiscard]] Entry* find_from(const Bucket& first, std::uint64_t hash, Space space, std::string_view key) const;
  [[nodiscard]] References references_of(const Bucket& first) const;
  Slots drain(Bucket& first);
  // False if the system has no memory for another bucket.
  [[nodiscard]] bool link(Bucket& first, Slot slot);

  // Counts an entry in or out, and notes when the table no longer fits.
  void count(EntryType type, std::size_t change) {
    counts_[static_cast<std::size_t>(type)].fetch_add(change, std::memory_order_relaxed);
    total_.fetch_add(change, std::memory_order_relaxed);
    if (is_crowded() || is_sparse()) wants_resize_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_crowded() const { return entry_count() > std::size_t{bucket_count()} * kLoad; }
  [[nodiscard]] bool is_sparse() const {
    return bucket_count() > kFirstSegmentBuckets && entry_count() < std::size_t{bucket_count()} * kLoadToMerge;
  }
  // Splits or merges a few buckets. Called with no bucket locked.
  void adjust_size_if_wanted() {
    if (wants_resize_.load(std::memory_order_relaxed)) adjust_size();
  }
  // For whoever has just locked a bucket, and knows that its hashes stay.
  void bring_up_to_date(Bucket& bucket) {
    if ((bucket.is_odd_round != 0) != is_odd_round_.load(std::memory_order_relaxed)) [[unlikely]]
      clear(bucket);
  }
  void clear(Bucket& bucket);
  void adjust_size();
  bool split_bucket();
  void merge_bucket();

  MemoryGauge& memory_;
  const ClearEntry clear_entry_;
  Slab slab_;
  std::array<std::atomic<Bucket*>, kSegments> segments_{};
  std::atomic<std::uint32_t> bucket_count_{kFirstSegmentBuckets};
  std::atomic<bool> wants_resize_{false};
  std::atomic<bool> is_odd_round_{false};  // changes while all buckets are locked
  std::atomic<std::size_t> total_{0};
  std::array<std::atomic<std::size_t>, kEntryTypes> counts_{};

  base::Lock resize_lock_;  // guards what follows, and that one bucket at a time is split or merged
  std::array<base::Pages, kSegments> segment_pages_;
};

// Holds the lock of the bucket of a hash, from its construction to its end.
class Keyspace::Guard {
 public:
  Guard(Keyspace& keyspace, std::uint64_t hash);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    bucket_->lock.unlock();
    keyspace_.adjust_size_if_wanted();
  }

  // As Keyspace::find, for the hash that is guarded.
  [[nodiscard]] Entry* find(Space space, std::string_view key) const {
    return keyspace_.find_from(*bucket_, hash_, space, key);
  }

 private:
  Keyspace& keyspace_;
  const std::uint64_t hash_;
  Bucket* bucket_;
};

// Holds the locks of the buckets of some hashes, from its construction to its end.
class Keyspace::GuardAll {
 public:
  GuardAll(Keyspace& keyspace, std::span<const std::uint64_t> hashes);
  GuardAll(const GuardAll&) = delete;
  GuardAll& operator=(const GuardAll&) = delete;
  ~GuardAll();

 private:
  void lock(std::span<const std::uint64_t> hashes, std::uint32_t bucket_count);
  void unlock();

  Keyspace& keyspace_;
  boost::container::static_vector<Bucket*, kLocksMax> buckets_;
};

// Holds every bucket's lock, from its construction to its end: nothing else happens meanwhile. It takes time in
// proportion to the table, so it is for what must be one step over all of it.
class Keyspace::GuardEveryOne {
 public:
  explicit GuardEveryOne(Keyspace& keyspace);
  GuardEveryOne(const GuardEveryOne&) = delete;
  GuardEveryOne& operator=(const GuardEveryOne&) = delete;
  ~GuardEveryOne();

  // Begins the next round of clearing.
  void clear() {
    auto& is_odd_round = keyspace_.is_odd_round_;
    is_odd_round.store(!is_odd_round.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  // Calls visit(entry) for each entry; as in visit_bucket, it may erase what it is given.
  template <class Visit>
  void visit(Visit visit) {
    for (std::uint32_t i = 0; i < keyspace_.bucket_count(); ++i) {
      for (const Slab::Reference reference : keyspace_.references_of(keyspace_.bucket_at(i))) {
        visit(*keyspace_.entry_at(reference));
      }
    }
  }

 private:
  Keyspace& keyspace_;
};

// A bucket may have been split or merged before its lock was ours; once it is ours, it cannot be.
inline Keyspace::Guard::Guard(Keyspace& keyspace, std::uint64_t hash) : keyspace_(keyspace), hash_(hash) {
  for (;;) {
    const std::uint32_t count_before = keyspace.bucket_count_.load(std::memory_order_acquire);
    const std::uint32_t index = index_of(hash, count_before);
    bucket_ = &keyspace.bucket_at(index);
    bucket_->lock.lock();
    const std::uint32_t count_now = keyspace.bucket_count_.load(std::memory_order_acquire);
    if (count_now == count_before || index_of(hash, count_now) == index) break;
    bucket_->lock.unlock();
  }
  keyspace.bring_up_to_date(*bucket_);
}

// Reads the bucket without its lock, which would cost more than the hint is worth. What it reads may be out of date, or
// torn between two states; nothing depends on it but the address that is fetched, and any address may be.
inline void Keyspace::prefetch_entry(std::uint64_t hash) const {
  const Bucket& bucket = bucket_of(hash);
  const auto tags = base::load_racing<std::uint64_t>(bucket.tags.data());
  const std::uint64_t candidates = base::find_byte(tags, tag_of(hash));
  if (candidates == 0) return;
  const auto slot = static_cast<std::uint32_t>(std::countr_zero(candidates)) / 8;
  const char* const entry = slab_.at(base::load_racing<Slab::Reference>(&bucket.references[slot]));
  __builtin_prefetch(entry, 1);
  __builtin_prefetch(entry + kEntryBytesUsual, 1);  // half of them reach into a second line
}

inline std::uint32_t Keyspace::index_of(std::uint64_t hash, std::uint32_t bucket_count) {
  const std::uint32_t mask = std::bit_ceil(bucket_count) - 1;
  const auto index = static_cast<std::uint32_t>(hash) & mask;
  return index < bucket_count ? index : index & (mask >> 1);
}

inline std::uint32_t Keyspace::low_bits(std::uint32_t index, std::uint32_t bucket_count) {
  const std::uint32_t unsplit = std::bit_floor(bucket_count);
  const auto bits = static_cast<std::uint32_t>(std::countr_zero(unsplit));
  const bool is_split = index >= unsplit || index < bucket_count - unsplit;
  return is_split ? bits + 1 : bits;
}

inline Keyspace::Bucket& Keyspace::bucket_at(std::uint32_t index) const {
  if (index < kFirstSegmentBuckets) return segments_[0].load(std::memory_order_relaxed)[index];
  const auto bits = static_cast<std::uint32_t>(std::bit_width(index)) - 1;
  return segments_[bits - kFirstSegmentBits + 1].load(std::memory_order_relaxed)[index - (1U << bits)];
}

inline Entry* Keyspace::find_from(const Bucket& first, std::uint64_t hash, Space space, std::string_view key) const {
  const std::uint8_t tag = tag_of(hash);
  const auto find_in = [&](const Bucket& bucket, std::uint32_t first_slot) -> Entry* {
    std::uint64_t candidates = base::find_byte(base::load<std::uint64_t>(bucket.tags.data() + first_slot), tag);
    for (; candidates != 0; candidates &= candidates - 1) {
      const auto slot = first_slot + static_cast<std::uint32_t>(std::countr_zero(candidates)) / 8;
      Entry* entry = entry_at(bucket.references[slot]);
      const bool is_match = entry->hash_low == static_cast<std::uint32_t>(hash) && entry->space == space;
      if (is_match && base::equal_bytes(entry->key(), key)) return entry;
    }
    return nullptr;
  };
  for (const Bucket* bucket = &first; bucket != nullptr; bucket = overflow_of(*bucket)) {
    if (Entry* entry = find_in(*bucket, 0)) return entry;
    if (bucket->count <= 8) break;
    if (Entry* entry = find_in(*bucket, kSlots - 8)) return entry;
  }
  return nullptr;
}

inline Entry* Keyspace::find(std::uint64_t hash, Space space, std::string_view key) const {
  return find_from(bucket_of(hash), hash, space, key);
}

template <class Visit>
void Keyspace::visit_hash(std::uint64_t hash, Visit visit) {
  const Guard guard(*this, hash);
  for (const Bucket* bucket = &bucket_of(hash); bucket != nullptr; bucket = overflow_of(*bucket)) {
    for (std::uint32_t slot = 0; slot < bucket->count; ++slot) {
      if (bucket->tags[slot] != tag_of(hash)) continue;
      Entry& entry = *entry_at(bucket->references[slot]);
      if (entry.hash_low == static_cast<std::uint32_t>(hash)) visit(entry);
    }
  }
}

template <class Visit>
Keyspace::Position Keyspace::visit_bucket(Position position, Visit&& visit) {
  const std::uint64_t hash = reverse_bits(static_cast<std::uint32_t>(position.value));
  const Guard guard(*this, hash);
  const std::uint32_t index = index_of(hash, bucket_count());
  const std::uint32_t bits = low_bits(index, bucket_count());
  for (const Slab::Reference reference : references_of(bucket_at(index))) {
    Entry& entry = *entry_at(reference);
    if (reverse_bits(entry.hash_low) >= position.value) visit(entry);
  }
  return {reverse_bits(index) + (Position::kEnd >> bits)};
}

}  // namespace mete::engine
