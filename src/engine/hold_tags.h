// HoldTags: the open holds of a tag.
//
// Thread safety: every call but hash_of() wants the lock of the tag's bucket.
#pragma once

#include <string_view>
#include <vector>

#include "engine/hold_record.h"
#include "engine/table/keyspace.h"

namespace mete::engine {

class HoldTags {
 public:
  HoldTags(MemoryGauge& memory, Keyspace& keyspace, std::uint64_t seed)
      : memory_(memory), keyspace_(keyspace), seed_(seed) {}

  [[nodiscard]] std::uint64_t hash_of(std::string_view tag) const;

  // Makes room for a hold's id under a tag; false if the memory ceiling is reached.
  [[nodiscard]] bool make_entry(std::string_view tag, Slab::Ceiling ceiling = Slab::Ceiling::kObey);
  // Adds the id, or changes when it expires.
  void put(std::string_view tag, std::string_view id, Instant expires_at);
  void remove(std::string_view tag, std::string_view id);
  [[nodiscard]] bool has(std::string_view tag, std::string_view id) const;
  // A page of the ids of open holds, in their order.
  struct Page {
    std::vector<std::string> ids;
    std::string next;  // where the next one begins; empty: there is none
  };
  static constexpr std::size_t kPageHolds = 1000;
  [[nodiscard]] Page open_holds(std::string_view tag, std::string_view from, Instant now) const;

  // Drops the ids that have expired from the next page of them, and the entry if none is left. False if there are
  // likely more.
  bool sweep(Entry& entry, Instant now);
  void forget(Entry& entry);
  // What the ids take.
  [[nodiscard]] static std::size_t bytes_of(const TaggedHolds& holds);

 private:
  [[nodiscard]] Entry* find(std::string_view tag) const;

  MemoryGauge& memory_;
  Keyspace& keyspace_;
  const std::uint64_t seed_;
};

}  // namespace mete::engine
