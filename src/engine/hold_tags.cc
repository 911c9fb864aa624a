#include "engine/hold_tags.h"

#include <memory>

#include "base/check.h"
#include "base/hash.h"

namespace mete::engine {

namespace {

constexpr Space kTagSpace(EntryType::kTag, 0);
constexpr std::uint64_t kTagSeed = 0x7461677461677461;

std::size_t id_bytes(std::string_view id) { return sizeof(TaggedHolds::value_type) + kTreeNodeBytes + id.size(); }

}  // namespace

std::uint64_t HoldTags::hash_of(std::string_view tag) const { return base::hash_bytes(tag, seed_ ^ kTagSeed); }

Entry* HoldTags::find(std::string_view tag) const { return keyspace_.find(hash_of(tag), kTagSpace, tag); }

bool HoldTags::make_entry(std::string_view tag, Slab::Ceiling ceiling) {
  if (find(tag) != nullptr) return true;
  Entry* entry = keyspace_.insert(hash_of(tag), kTagSpace, tag, sizeof(TaggedHolds*), ceiling);
  if (entry == nullptr) return false;
  entry->store(new TaggedHolds);
  return true;
}

void HoldTags::put(std::string_view tag, std::string_view id, Instant expires_at) {
  const Entry* entry = find(tag);
  CHECK(entry != nullptr);
  const auto [place, is_new] = entry->load<TaggedHolds*>()->insert_or_assign(std::string(id), expires_at);
  if (is_new) memory_.add(id_bytes(place->first));
}

void HoldTags::remove(std::string_view tag, std::string_view id) {
  Entry* entry = find(tag);
  if (entry == nullptr) return;
  TaggedHolds& holds = *entry->load<TaggedHolds*>();
  const auto found = holds.find(id);
  if (found == holds.end()) return;
  memory_.subtract(id_bytes(id));
  holds.erase(found);
  if (holds.empty()) forget(*entry);
}

bool HoldTags::has(std::string_view tag, std::string_view id) const {
  const Entry* entry = find(tag);
  return entry != nullptr && entry->load<TaggedHolds*>()->count(id) > 0;
}

std::vector<std::string> HoldTags::open_holds(std::string_view tag, Instant now) const {
  std::vector<std::string> ids;
  const Entry* entry = find(tag);
  if (entry == nullptr) return ids;
  for (const auto& [id, expires_at] : *entry->load<TaggedHolds*>()) {
    if (now < expires_at) ids.push_back(id);
  }
  return ids;
}

void HoldTags::sweep(Entry& entry, Instant now) {
  TaggedHolds& holds = *entry.load<TaggedHolds*>();
  for (auto hold = holds.begin(); hold != holds.end();) {
    if (now < hold->second) {
      ++hold;
      continue;
    }
    memory_.subtract(id_bytes(hold->first));
    hold = holds.erase(hold);
  }
  if (holds.empty()) forget(entry);
}

void HoldTags::forget(Entry& entry) {
  const std::unique_ptr<TaggedHolds> holds(entry.load<TaggedHolds*>());
  for (const auto& [id, expires_at] : *holds) memory_.subtract(id_bytes(id));
  keyspace_.erase(entry.hash_low, &entry);
}

}  // namespace mete::engine
