#include "engine/hold_tags.h"

#include <memory>

#include "base/check.h"
#include "base/hash.h"

namespace mete::engine {

namespace {

constexpr Space kTagSpace(EntryType::kTag, 0);
constexpr std::uint64_t kTagSeed = 0x7461677461677461;

std::size_t id_bytes(std::string_view id) {
  return sizeof(std::pair<const std::string, Instant>) + kTreeNodeBytes + id.size();
}

}  // namespace

std::uint64_t HoldTags::hash_of(std::string_view tag) const { return base::hash_bytes(tag, seed_ ^ kTagSeed); }

Entry* HoldTags::find(std::string_view tag) const { return keyspace_.find(hash_of(tag), kTagSpace, tag); }

bool HoldTags::make_entry(std::string_view tag, Slab::Ceiling ceiling) {
  if (find(tag) != nullptr) return true;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): the entry has a pointer
  Entry* entry = keyspace_.insert(hash_of(tag), kTagSpace, tag, sizeof(TaggedHolds*), ceiling);
  if (entry == nullptr) return false;
  entry->store(new TaggedHolds);
  return true;
}

void HoldTags::put(std::string_view tag, std::string_view id, Instant expires_at) {
  const Entry* entry = find(tag);
  CHECK(entry != nullptr);
  const auto [place, is_new] = entry->load<TaggedHolds*>()->expiries.insert_or_assign(std::string(id), expires_at);
  if (is_new) memory_.add(id_bytes(place->first));
}

void HoldTags::remove(std::string_view tag, std::string_view id) {
  Entry* entry = find(tag);
  if (entry == nullptr) return;
  auto& holds = entry->load<TaggedHolds*>()->expiries;
  const auto found = holds.find(id);
  if (found == holds.end()) return;
  memory_.subtract(id_bytes(id));
  holds.erase(found);
  if (holds.empty()) forget(*entry);
}

bool HoldTags::has(std::string_view tag, std::string_view id) const {
  const Entry* entry = find(tag);
  return entry != nullptr && entry->load<TaggedHolds*>()->expiries.contains(id);
}

HoldTags::Page HoldTags::open_holds(std::string_view tag, std::string_view from, Instant now) const {
  Page page;
  const Entry* entry = find(tag);
  if (entry == nullptr) return page;
  const auto& holds = entry->load<TaggedHolds*>()->expiries;
  auto hold = holds.lower_bound(from);
  for (std::size_t i = 0; i < kPageHolds && hold != holds.end(); ++i, ++hold) {
    if (now < hold->second) page.ids.push_back(hold->first);
  }
  if (hold != holds.end()) page.next = hold->first;
  return page;
}

bool HoldTags::sweep(Entry& entry, Instant now) {
  TaggedHolds& holds = *entry.load<TaggedHolds*>();
  bool has_found_any = false;
  auto hold = holds.expiries.lower_bound(holds.swept_to);
  for (std::size_t i = 0; i < kPageHolds && hold != holds.expiries.end(); ++i) {
    if (now < hold->second) {
      ++hold;
      continue;
    }
    has_found_any = true;
    memory_.subtract(id_bytes(hold->first));
    hold = holds.expiries.erase(hold);
  }
  const bool is_at_end = hold == holds.expiries.end();
  holds.swept_to = is_at_end ? std::string() : hold->first;
  if (holds.expiries.empty()) forget(entry);
  return is_at_end || !has_found_any;
}

void HoldTags::forget(Entry& entry) {
  const std::unique_ptr<TaggedHolds> holds(entry.load<TaggedHolds*>());
  if (holds != nullptr) memory_.subtract(bytes_of(*holds));
  keyspace_.erase(entry.hash_low, &entry);
}

std::size_t HoldTags::bytes_of(const TaggedHolds& holds) {
  std::size_t bytes = 0;
  for (const auto& [id, expires_at] : holds.expiries) bytes += id_bytes(id);
  return bytes;
}

}  // namespace mete::engine
