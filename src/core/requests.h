// Operations as stores pass them on: everything they carry, in one value each. Views are valid for the call alone.
#pragma once

#include <mete/decision.h>

#include <span>
#include <string_view>

namespace mete::core {

// `usages`, where there is room for one per charge, gets how each charge's meter stands by the decision: as it is after
// the charge, or as it would be after a peek's. It stays as it is where an answer from before is told.
struct TakeRequest {
  std::span<const Charge> charges;
  Mode mode = Mode::kTake;
  std::string_view id = {};
  bool remembers_denial = true;  // as the id's answer; not while the caller goes on waiting
  std::span<Usage> usages = {};
};

struct HoldRequest {
  std::span<const Charge> charges;
  Duration ttl;
  std::string_view id;
  bool is_id_random = false;  // nobody knows the id yet: a denial need not be remembered
  std::string_view tag = {};
  std::span<Usage> usages = {};
};

struct CommitRequest {
  std::string_view id;
  std::span<const Amount> amounts = {};  // one per charge; none: all that is held
  bool allow_overage = false;
};

// By how much what a key has used differs from a source of truth: this is added to it, or taken off it if negative.
struct Shift {
  std::string_view key;
  Amount change = 0;
};

// Shifts of keys of one limit. `since`: when it was looked at what the keys had used. In a window or calendar period
// that began later, the difference means nothing.
struct ShiftRequest {
  std::string_view limit;
  Instant since;
  std::span<const Shift> shifts;
};

// What became of a shift.
struct Shifted {
  Amount change = 0;     // less was taken off than asked for where less was used
  bool is_late = false;  // a new window has begun meanwhile, and nothing was changed

  bool operator==(const Shifted&) const = default;
};

}  // namespace mete::core
