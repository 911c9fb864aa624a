// LimitTable: the defined limits, by name and by number, read without a lock.
//
// Readers hold the lock of some bucket of the keyspace while they use a record. A writer publishes first, then visits
// every bucket once: after that no reader can still see what was replaced, and it is freed. Writers exclude each other
// outside.
#pragma once

#include <mete/limit.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "engine/table/entry.h"
#include "engine/table/rule_table.h"

namespace mete::engine {

// A limit as it is at one time; never changed once it is published.
struct LimitRecord {
  LimitRecord(Limit limit, std::uint64_t hash) : definition(std::move(limit)), name_hash(hash) {}

  Limit definition;
  std::uint64_t name_hash;       // also part of its keys' hashes
  std::uint32_t number = 0;      // the limit's part of its entries' space; used again once the limit is gone
  std::uint64_t generation = 0;  // unlike any other limit's, ever
  const RuleRecord* rule = nullptr;
  // The revision before this one. A meter whose kEvenRevision flag differs from is_even has not been rebased yet.
  bool is_even = true;
  const RuleRecord* previous_rule = nullptr;
  Instant changed_at;

  // Whether a meter's entry is of this revision, and all that there is of the meter.
  [[nodiscard]] bool is_plain(const Entry& meter) const {
    return (meter.flags & ~kRecordingFlags) == (is_even ? kEvenRevision : 0);
  }
};

class LimitTable {
 public:
  LimitTable();
  ~LimitTable();
  LimitTable(const LimitTable&) = delete;
  LimitTable& operator=(const LimitTable&) = delete;

  [[nodiscard]] const LimitRecord* find(std::string_view name, std::uint64_t name_hash) const {
    const Table& table = *table_.load(std::memory_order_acquire);
    for (std::uint64_t i = name_hash & table.mask;; i = (i + 1) & table.mask) {
      const LimitRecord* record = table.by_name[i].load(std::memory_order_acquire);
      if (record == nullptr) return nullptr;
      if (record->name_hash == name_hash && base::equal_bytes(record->definition.name(), name)) return record;
    }
  }

  [[nodiscard]] const LimitRecord* at(std::uint32_t number) const {
    return table_.load(std::memory_order_acquire)->by_number[number].load(std::memory_order_acquire);
  }

  // What a writer has replaced. Destroyed after the visit of every bucket.
  class Retired;

  // Publishes a record under its name: a new one, or in place of `old`.
  Retired publish(std::unique_ptr<LimitRecord> record, const LimitRecord* old);
  Retired remove(const LimitRecord* record);
  // The number of a removed limit may be given to another one.
  void reuse_number(std::uint32_t number) { free_numbers_.push_back(number); }

  [[nodiscard]] std::vector<const LimitRecord*> all() const;

 private:
  struct Table {
    explicit Table(std::uint64_t slots) : mask(slots - 1), by_name(slots), by_number(slots) {}
    std::uint64_t mask;
    std::vector<std::atomic<const LimitRecord*>> by_name;  // open addressing, at most half full
    std::vector<std::atomic<const LimitRecord*>> by_number;
  };
  static constexpr std::uint64_t kSlotsMin = 64;

  static void place(Table& table, const LimitRecord* record);
  std::unique_ptr<Table> rebuild(std::uint64_t slots, const LimitRecord* without) const;
  std::uint32_t next_number();

  std::atomic<Table*> table_;
  std::size_t count_ = 0;
  std::uint32_t numbers_ = 0;
  std::vector<std::uint32_t> free_numbers_;
};

class LimitTable::Retired {
 public:
  Retired() = default;
  Retired(std::unique_ptr<Table> table, std::unique_ptr<const LimitRecord> record)
      : table_(std::move(table)), record_(std::move(record)) {}

  [[nodiscard]] bool is_empty() const { return table_ == nullptr && record_ == nullptr; }

 private:
  std::unique_ptr<Table> table_;
  std::unique_ptr<const LimitRecord> record_;
};

}  // namespace mete::engine
