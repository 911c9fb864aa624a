// LimitEntry: a limit as mete.limits keeps it: its definition, and of earlier ones what meters that are still of their
// time need. Pure; the text is a line for the numbers, one for the definition, and one for each earlier revision:
//
//     rev born cleared slot free free free free free
//     kind amount period burst unit zone anchor shadow durable on_fail scope      or "-": it was dropped
//     rev slot until kind amount …
//
// A revision is what a meter's state is written in: a definition that leaves the meaning of states as it is, such as
// another amount of stock, makes no new one. A slot is a digit that stands for a bucket's revision in its plain values;
// it is given to another one only when no value of the earlier one can be there any more.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rule.h"

namespace mete::store::redis {

// How much longer than needed Redis keeps something: the clock of the next master may be behind. As in lua/margin.lua.
inline constexpr std::uint64_t kMarginUs = 5'000'000;

inline constexpr std::size_t kRevisionSlots = 5;
inline constexpr int kNoSlot = -1;

struct LimitEntry {
  struct Earlier {
    std::uint64_t rev = 0;
    int slot = kNoSlot;
    std::uint64_t until_us = 0;
    Limit definition;

    bool operator==(const Earlier&) const = default;
  };

  std::uint64_t rev = 0;
  std::uint64_t born = 0;     // values of revisions before this are of a limit that was dropped
  std::uint64_t cleared = 0;  // of values before this only the key's own amount is left
  int slot = kNoSlot;
  std::array<std::uint64_t, kRevisionSlots> free_at_us = {};
  std::optional<Limit> definition;  // none: it was dropped
  std::vector<Earlier> earlier;     // the oldest first

  bool operator==(const LimitEntry&) const = default;
};

std::string to_text(const LimitEntry& entry);
Result<LimitEntry> parse_limit_entry(std::string_view name, std::string_view text);

// What becomes of an entry; of none: a new limit's is LimitEntry().
LimitEntry redefined(LimitEntry entry, const Limit& definition, std::uint64_t now_us);
LimitEntry dropped(LimitEntry entry, std::uint64_t now_us);
LimitEntry cleared(LimitEntry entry, std::uint64_t now_us);

// The numbers of a definition, as decisions need them.
core::Rule rule_of(const Limit& limit);

// In microseconds: how long a bucket takes from empty to full, rounded down, and the spans of time that the expiry of
// plain values goes by. None if plain values cannot tell such times.
struct BucketTimes {
  std::uint64_t full_us = 0;
  std::uint64_t span_us = 0;
};
std::optional<BucketTimes> bucket_times(const core::Rule& rule);

}  // namespace mete::store::redis
