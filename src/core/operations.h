// Operations on limits, meters and holds, as values. Views are valid for the call alone. What each does:
// docs/semantics.md; the keys have theirs in key_operations.h.
#pragma once

#include <mete/decision.h>
#include <mete/limit.h>
#include <mete/result.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operation.h"
#include "core/statistics.h"
#include "core/verdict.h"

namespace mete::core {

// A (limit, key).
struct MeterName {
  std::string_view limit;
  std::string_view key;
};

// --- Takes -----------------------------------------------------------------------------------------------------------

// `usages`, where there is room for one per charge, gets how each charge's meter stands by the decision: as it is after
// the charge, or as it would be after a peek's. It stays as it is where an answer from before is told.
struct Take {
  using Answer = Verdict;
  static constexpr Traits kTraits = {"TAKE", Effect::kTakes, Home::kCharges, Repeat::kWithId};
  static void visit(auto& value, auto& each) {
    each(value.mode, value.remembers_denial, value.usages, value.id, value.charges);
  }

  std::span<const Charge> charges;
  Mode mode = Mode::kTake;
  std::string_view id = {};
  bool remembers_denial = true;  // as the id's answer; not while the caller goes on waiting
  std::span<Usage> usages = {};
};

// Takes each charge for itself, in order: answers[i] is what a Take of charges[i] alone would be answered. For takes
// that have arrived together: on the way to the store they share what each would have to wait for.
struct TakeEach {
  using Answer = void;
  static constexpr Traits kTraits = {"", Effect::kTakes, Home::kEach, Repeat::kNever};

  std::span<const Charge> charges;
  std::span<Result<Verdict>> answers;
};

// The answer that this take got before, by its id; none if it has no id, or a new one. Nothing changes.
struct Recall {
  using Answer = std::optional<Verdict>;
  static constexpr Traits kTraits = {"RECALL", Effect::kTakes, Home::kCharges};
  static void visit(auto& value, auto& each) { each(value.take); }

  Take take;
};

struct Give {
  using Answer = Settlement;
  static constexpr Traits kTraits = {"GIVE", Effect::kSettles, Home::kCharges, Repeat::kWithId};
  static void visit(auto& value, auto& each) { each(value.id, value.charges); }

  std::span<const Charge> charges;
  std::string_view id = {};
};

// --- Holds -----------------------------------------------------------------------------------------------------------

struct Hold {
  using Answer = Verdict;
  static constexpr Traits kTraits = {"HOLD", Effect::kSettles, Home::kCharges};
  static void visit(auto& value, auto& each) {
    each(value.ttl, value.is_id_random, value.usages, value.id, value.tag, value.charges);
  }

  std::span<const Charge> charges;
  Duration ttl;
  std::string_view id;
  bool is_id_random = false;  // nobody knows the id yet: a denial need not be remembered
  std::string_view tag = {};
  std::span<Usage> usages = {};
};

struct Commit {
  using Answer = Settlement;
  static constexpr Traits kTraits = {"COMMIT", Effect::kSettles, Home::kHold};
  static void visit(auto& value, auto& each) { each(value.id, value.amounts, value.allow_overage); }

  std::string_view id;
  std::span<const Amount> amounts = {};  // one per charge; none: all that is held
  bool allow_overage = false;
};

struct Cancel {
  using Answer = Settlement;
  static constexpr Traits kTraits = {"CANCEL", Effect::kSettles, Home::kHold};
  static void visit(auto& value, auto& each) { each(value.id); }

  std::string_view id;
};

struct Extend {
  using Answer = Duration;
  static constexpr Traits kTraits = {"EXTEND", Effect::kSettles, Home::kHold};
  static void visit(auto& value, auto& each) { each(value.id, value.ttl); }

  std::string_view id;
  Duration ttl;
};

struct FindHold {
  using Answer = std::optional<HoldInfo>;
  static constexpr Traits kTraits = {"FIND", Effect::kReads, Home::kHold};
  static void visit(auto& value, auto& each) { each(value.id); }

  std::string_view id;
};

// The ids of a meter's open holds.
struct ListHolds {
  using Answer = std::vector<std::string>;
  static constexpr Traits kTraits = {"HOLDS", Effect::kReads, Home::kMeter};
  static void visit(auto& value, auto& each) { each(value.meter, value.count_max); }

  MeterName meter;
  std::size_t count_max = 0;
};

struct ListTagged {
  using Answer = std::vector<std::string>;
  static constexpr Traits kTraits = {"TAGGED"};
  static void visit(auto& value, auto& each) { each(value.tag); }

  std::string_view tag;
};

// The open holds that were made first, in that order. It looks through everything that the store keeps.
struct OldestHolds {
  using Answer = std::vector<HoldInfo>;
  static constexpr Traits kTraits = {"OLDEST"};
  static void visit(auto& value, auto& each) { each(value.count_max); }

  std::size_t count_max = 0;
};

// --- Meters ----------------------------------------------------------------------------------------------------------

struct ReadUsage {
  using Answer = Usage;
  static constexpr Traits kTraits = {"USAGE", Effect::kReads, Home::kMeter};
  static void visit(auto& value, auto& each) { each(value.meter); }

  MeterName meter;
};

struct Reconcile {
  using Answer = Reconciliation;
  static constexpr Traits kTraits = {"RECONCILE", Effect::kSettles, Home::kMeter, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.meter, value.used); }

  MeterName meter;
  Amount used = 0;
};

// By how much what a key has used differs from a source of truth: this is added to it, or taken off it if negative.
struct Shift {
  std::string_view key;
  Amount change = 0;
};

// What became of a shift.
struct Shifted {
  Amount change = 0;     // less was taken off than asked for where less was used
  bool is_late = false;  // a new window has begun meanwhile, and nothing was changed

  bool operator==(const Shifted&) const = default;
};

// Shifts of keys of one limit, each made for itself: answers[i] tells what became of shifts[i]. What is held stays
// held, usage may pass the limit, and nothing goes below 0. Only of a stock, a window or a calendar. On the way to the
// store the shifts share what each would have to wait for. kUnavailable: that one may have happened or not.
struct ShiftUsage {
  using Answer = void;
  static constexpr Traits kTraits = {"", Effect::kSettles, Home::kEach, Repeat::kNever};

  std::string_view limit;
  // When it was looked at what the keys had used. In a window or calendar period that began later, the difference means
  // nothing.
  Instant since;
  std::span<const Shift> shifts;
  std::span<Result<Shifted>> answers;

  // Some of them.
  [[nodiscard]] ShiftUsage part(std::size_t first, std::size_t count_max) const {
    const std::size_t count = std::min(count_max, shifts.size() - first);
    return {limit, since, shifts.subspan(first, count), answers.subspan(first, count)};
  }
};

struct ScanUsage {
  using Answer = UsagePage;
  static constexpr Traits kTraits = {"SCAN"};
  static void visit(auto& value, auto& each) { each(value.limit, value.cursor, value.count); }

  std::string_view limit;
  std::uint64_t cursor = 0;
  std::size_t count = 0;
};

// --- Definitions -----------------------------------------------------------------------------------------------------

struct Define {
  using Answer = void;
  static constexpr Traits kTraits = {"DEFINE", Effect::kSettles, Home::kEverywhere};
  static void visit(auto& value, auto& each) { each(value.limit); }

  Limit limit = {Kind::kBucket, {}};
};

struct Drop {
  using Answer = bool;
  static constexpr Traits kTraits = {"DROP", Effect::kSettles, Home::kEverywhere, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.name); }

  std::string_view name;
};

struct FindLimit {
  using Answer = std::optional<Limit>;
  static constexpr Traits kTraits = {"LIMIT"};
  static void visit(auto& value, auto& each) { each(value.name); }

  std::string_view name;
};

struct ListLimits {
  using Answer = std::vector<std::string>;
  static constexpr Traits kTraits = {"LIMITS"};
  static void visit(auto& /*value*/, auto& /*each*/) {}
};

struct Override {
  using Answer = void;
  static constexpr Traits kTraits = {"AMEND", Effect::kSettles, Home::kMeter};
  static void visit(auto& value, auto& each) { each(value.meter, value.amount); }

  MeterName meter;
  std::optional<Amount> amount = {};  // none: the limit's own again
};

// The key's own amount; none if it has the limit's.
struct FindOverride {
  using Answer = std::optional<Amount>;
  static constexpr Traits kTraits = {"OVERRIDE", Effect::kReads, Home::kMeter};
  static void visit(auto& value, auto& each) { each(value.meter); }

  MeterName meter;
};

// --- All of it -------------------------------------------------------------------------------------------------------

// Forgets every meter, hold, id, tag and key, in one step. Limits and their overrides stay.
struct Clear {
  using Answer = void;
  static constexpr Traits kTraits = {"CLEAR", Effect::kSettles, Home::kEverywhere};
  static void visit(auto& /*value*/, auto& /*each*/) {}
};

struct ReadStatistics {
  using Answer = Statistics;
  static constexpr Traits kTraits = {"STATS"};
  static void visit(auto& /*value*/, auto& /*each*/) {}
};

}  // namespace mete::core
