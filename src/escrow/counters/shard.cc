#include "escrow/counters/shard.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "base/random.h"

namespace mete::escrow {

std::uint64_t hash_of_key(std::string_view key) {
  static const std::uint64_t kSeed = base::random_number();
  return base::hash_bytes(key, kSeed);
}

Shard::Entry* Shard::find(std::string_view key, Instant now) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return nullptr;
  if (!at->second.counter.is_forgotten(now)) return &at->second;
  forget(at);
  return nullptr;
}

Shard::Entry& Shard::find_or_make(std::string_view key, Instant now) {
  if (Entry* const entry = find(key, now)) return *entry;
  const auto [at, is_new] = entries_.try_emplace(std::string(key));
  CHECK(is_new);
  Entry& entry = at->second;
  entry.key = &at->first;
  entry.birth = ++last_birth_;
  births_.emplace_hint(births_.end(), entry.birth, &entry);
  return entry;
}

void Shard::note_change(Entry& entry, Source source) {
  entry.source = source;
  if (entry.change > read_up_to_) return;
  if (entry.change == 0) {
    entry.change = ++last_change_;
    changes_.emplace_hint(changes_.end(), entry.change, &entry);
    return;
  }
  auto node = changes_.extract(entry.change);
  CHECK(!node.empty());
  node.key() = entry.change = ++last_change_;
  changes_.insert(changes_.end(), std::move(node));
}

void Shard::visit_births(std::uint64_t after, const std::function<bool(const Entry&)>& act) const {
  for (auto at = births_.upper_bound(after); at != births_.end(); ++at) {
    if (!act(*at->second)) return;
  }
}

std::uint64_t Shard::sweep(std::uint64_t after, std::size_t count, Instant now) {
  for (auto at = births_.upper_bound(after); at != births_.end(); --count) {
    if (count == 0) return std::prev(at)->first;
    const Entry& entry = *at->second;
    ++at;
    if (entry.counter.is_forgotten(now)) forget(entries_.find(*entry.key));
  }
  return 0;
}

std::uint64_t Shard::read_changes(std::uint64_t after, const Reader& reader, StateWriter& states,
                                  std::size_t bytes_max) {
  for (auto at = changes_.upper_bound(after); at != changes_.end() && states.bytes() < bytes_max; ++at) {
    const Entry& entry = *at->second;
    const bool is_known = reader.source != kNobody && entry.source == reader.source;
    if (!is_known && !entry.counter.is_forgotten(reader.now)) states.write(*entry.key, entry.counter);
    after = at->first;
  }
  read_up_to_ = std::max(read_up_to_, after);
  return after;
}

std::size_t Shard::count_changes(std::uint64_t after, Source reader) const {
  return static_cast<std::size_t>(std::count_if(changes_.upper_bound(after), changes_.end(), [&](const auto& change) {
    return reader == kNobody || change.second->source != reader;
  }));
}

void Shard::forget(Entries::iterator at) {
  CHECK(at != entries_.end());
  births_.erase(at->second.birth);
  changes_.erase(at->second.change);
  if (at->second.counter.is_present()) --present_;
  entries_.erase(at);
}

}  // namespace mete::escrow
