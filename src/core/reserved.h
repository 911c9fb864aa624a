// What the nodes of a cluster keep for themselves in stores that clients use too: limits, ids, tags and keys of these
// names. Clients neither see nor touch them, at whichever door (store/caller.h).
#pragma once

#include <algorithm>
#include <string_view>

namespace mete::core {

inline constexpr std::string_view kReservedLimits = "mete.";
// The limits that quota keys of a cluster are: theirs who use the keys.
inline constexpr std::string_view kQuotaLimits = "mete.quota:";
inline constexpr std::string_view kReservedMark = "mete-";  // of ids and tags
// The key whose override is the number of a limit that was made once, and goes when the limit is dropped
// (escrow/definitions.h).
inline constexpr std::string_view kGenerationKey = "mete-generation";

inline bool is_reserved_limit(std::string_view name) {
  return name.starts_with(kReservedLimits) && !name.starts_with(kQuotaLimits);
}

// Its amount is no bound of anybody's: who could charge it would have the limit without an end.
inline bool is_reserved_key(std::string_view key) { return key == kGenerationKey; }

inline bool is_reserved_tag(std::string_view tag) { return tag.starts_with(kReservedMark); }

// An id may begin with a part in braces, by which it lies with its key (store/hash_tag.h).
inline bool is_reserved_id(std::string_view id) {
  if (id.starts_with('{')) id.remove_prefix(std::min(id.find('}'), id.size() - 1) + 1);
  return id.starts_with(kReservedMark);
}

}  // namespace mete::core
