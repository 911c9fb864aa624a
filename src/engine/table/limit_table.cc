#include "engine/table/limit_table.h"

#include "base/check.h"
#include "engine/table/entry.h"

namespace mete::engine {

LimitTable::LimitTable() : table_(new Table(kSlotsMin)) {}

LimitTable::~LimitTable() {
  const std::unique_ptr<Table> table(table_.load());
  for (const auto& slot : table->by_number) delete slot.load();
}

void LimitTable::place(Table& table, const LimitRecord* record) {
  std::uint64_t i = record->name_hash & table.mask;
  while (table.by_name[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & table.mask;
  table.by_number[record->number].store(record, std::memory_order_release);
  table.by_name[i].store(record, std::memory_order_release);
}

std::unique_ptr<LimitTable::Table> LimitTable::rebuild(std::uint64_t slots, const LimitRecord* without) const {
  auto table = std::make_unique<Table>(slots);
  for (const LimitRecord* record : all()) {
    if (record != without) place(*table, record);
  }
  return table;
}

LimitTable::Retired LimitTable::publish(std::unique_ptr<LimitRecord> record, const LimitRecord* old) {
  Table* table = table_.load();
  if (old != nullptr) {
    record->number = old->number;
    record->generation = old->generation;
    std::uint64_t i = old->name_hash & table->mask;
    while (table->by_name[i].load(std::memory_order_relaxed) != old) i = (i + 1) & table->mask;
    table->by_number[record->number].store(record.get(), std::memory_order_release);
    table->by_name[i].store(record.release(), std::memory_order_release);
    return {nullptr, std::unique_ptr<const LimitRecord>(old)};
  }
  std::unique_ptr<Table> outgrown;
  if (2 * (count_ + 1) > table->mask) {
    outgrown.reset(table);
    table_.store(rebuild(2 * (table->mask + 1), nullptr).release(), std::memory_order_release);
    table = table_.load();
  }
  record->number = next_number();
  ++count_;
  place(*table, record.release());
  return {std::move(outgrown), nullptr};
}

// Open addressing cannot simply empty a slot that others were placed behind: the table is made anew.
LimitTable::Retired LimitTable::remove(const LimitRecord* record) {
  std::unique_ptr<Table> outdated(table_.load());
  table_.store(rebuild(outdated->mask + 1, record).release(), std::memory_order_release);
  --count_;
  return {std::move(outdated), std::unique_ptr<const LimitRecord>(record)};
}

std::uint32_t LimitTable::next_number() {
  if (free_numbers_.empty()) {
    CHECK(numbers_ < Space::kLimitsMax);
    return numbers_++;
  }
  const std::uint32_t number = free_numbers_.back();
  free_numbers_.pop_back();
  return number;
}

std::vector<const LimitRecord*> LimitTable::all() const {
  std::vector<const LimitRecord*> records;
  for (const auto& slot : table_.load(std::memory_order_acquire)->by_number) {
    if (const LimitRecord* record = slot.load(std::memory_order_acquire)) records.push_back(record);
  }
  return records;
}

}  // namespace mete::engine
