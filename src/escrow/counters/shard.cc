#include "escrow/counters/shard.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/random.h"

namespace mete::escrow {

namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kHotLines = sizeof(Counter) / kLineBytes + 1;

}  // namespace

std::uint64_t hash_of_key(std::string_view key) {
  static const std::uint64_t kSeed = base::random_number();
  return base::hash_bytes(key, kSeed);
}

Shard::Entry* Shard::find(const CounterKey& key, Instant now) {
  const auto at = table_.find(key);
  if (at == table_.end()) return nullptr;
  if (!at->entry->counter.is_forgotten(now)) return at->entry.get();
  forget(at);
  return nullptr;
}

Shard::Entry& Shard::find_or_make(const CounterKey& key, Instant now) {
  if (Entry* const entry = find(key, now)) return *entry;
  auto made = std::make_unique<Entry>();
  made->key = key.text;
  const auto [at, is_new] = table_.insert(Cell{key.hash, std::move(made)});
  CHECK(is_new);
  ++*remembered_;
  births_.append(*at->entry);
  return *at->entry;
}

void Shard::prefetch(std::uint64_t hash) const {
  const auto at = table_.find(hash);
  if (at == table_.end()) return;
  const auto* const lines = reinterpret_cast<const char*>(at->entry.get());
  for (std::size_t line = 0; line < kHotLines; ++line) __builtin_prefetch(lines + line * kLineBytes);
}

void Shard::note_change(Entry& entry, Source source) {
  entry.source = source;
  if (entry.change.number > read_up_to_) return;
  changes_.remove(entry);
  changes_.append(entry);
}

void Shard::visit_births(std::uint64_t after, const std::function<bool(const Entry&)>& act) const {
  for (const auto& slot : births_.after(after)) {
    if (slot.entry != nullptr && !act(*slot.entry)) return;
  }
}

std::uint64_t Shard::sweep(std::uint64_t after, std::size_t count, Instant now) {
  std::vector<Entry*> gone;
  std::uint64_t next = 0;
  bool is_end = true;  // but for places of counters that have gone
  for (const auto& slot : births_.after(after)) {
    if (slot.entry == nullptr) continue;
    is_end = count-- > 0;
    if (!is_end) break;
    if (slot.entry->counter.is_forgotten(now)) gone.push_back(slot.entry);
    next = slot.number;
  }
  for (const Entry* entry : gone) forget(table_.find(CounterKey{entry->key, hash_of_key(entry->key)}));
  return is_end ? 0 : next;
}

std::uint64_t Shard::read_changes(std::uint64_t after, const Reader& reader, StateWriter& states,
                                  std::size_t bytes_max) {
  bool is_all = true;
  for (const auto& slot : changes_.after(after)) {
    is_all = states.bytes() < bytes_max;
    if (!is_all) break;
    after = slot.number;
    if (slot.entry == nullptr) continue;
    const Entry& entry = *slot.entry;
    const bool is_known = reader.source != kNobody && entry.source == reader.source;
    if (!is_known && !entry.counter.is_forgotten(reader.now)) states.write(entry.key, entry.counter);
  }
  if (is_all) after = changes_.last();  // The last one may have been forgotten.
  read_up_to_ = std::max(read_up_to_, after);
  return after;
}

std::size_t Shard::count_changes(std::uint64_t after, Source reader) const {
  const auto slots = changes_.after(after);
  return static_cast<std::size_t>(std::count_if(slots.begin(), slots.end(), [&](const auto& slot) {
    return slot.entry != nullptr && (reader == kNobody || slot.entry->source != reader);
  }));
}

void Shard::forget(Table::iterator at) {
  CHECK(at != table_.end());
  births_.remove(*at->entry);
  changes_.remove(*at->entry);
  if (at->entry->counter.is_present()) --present_;
  table_.erase(at);
  --*remembered_;
}

}  // namespace mete::escrow
