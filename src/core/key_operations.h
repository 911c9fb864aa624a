// Operations on keys, as values, and what goes into them and comes out. A key is not a meter of a named limit: it has
// one type, and a quota or throttle carries a rule of its own; an operation for another type is kWrongType. Each is
// atomic, and an error has changed nothing. Views are valid for the call alone.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/operation.h"
#include "core/verdict.h"

namespace mete::core {

enum class KeyType : std::uint8_t {
  kNone,      // there is no such key
  kCounter,   // a whole number of 64 bits, which may expire
  kQuota,     // a window of its own; stays until it is removed
  kThrottle,  // a bucket of its own; goes when it is full again
};

// "none", "string" (which is what Redis calls a counter), "quota", "throttle".
std::string_view to_string(KeyType type);

// When a counter shall expire. A time that is not in the future removes it.
struct Expiry {
  enum class Kind : std::uint8_t { kKeep, kNone, kIn, kAt };

  Kind kind = Kind::kKeep;
  Duration length = {};  // kIn
  Instant instant = {};  // kAt

  static constexpr Expiry keep() { return {}; }
  static constexpr Expiry none() { return {.kind = Kind::kNone}; }
  static constexpr Expiry in(Duration length) { return {.kind = Kind::kIn, .length = length}; }
  static constexpr Expiry at(Instant instant) { return {.kind = Kind::kAt, .instant = instant}; }

  // The instant it stands for, Instant::max() for none, given the one so far.
  [[nodiscard]] constexpr Instant resolve(Instant so_far, Instant now) const {
    switch (kind) {
      case Kind::kKeep:
        return so_far;
      case Kind::kNone:
        return Instant::max();
      case Kind::kIn:
        return now + length;
      case Kind::kAt:
        return instant;
    }
    __builtin_unreachable();
  }
};

// Which counters get a new expiry. One that does not expire counts as the last of all to do so.
enum class ExpiryCondition : std::uint8_t { kAlways, kIfNone, kIfAny, kIfLater, kIfSooner, kIfAnyAndSooner };

// Whether a counter's expiry may go from the one instant to the other; Instant::max(): it has none.
constexpr bool is_met(ExpiryCondition condition, Instant so_far, Instant next) {
  switch (condition) {
    case ExpiryCondition::kAlways:
      return true;
    case ExpiryCondition::kIfNone:
      return so_far == Instant::max();
    case ExpiryCondition::kIfAny:
      return so_far != Instant::max();
    case ExpiryCondition::kIfLater:
      return next > so_far;
    case ExpiryCondition::kIfSooner:
      return next < so_far;
    case ExpiryCondition::kIfAnyAndSooner:
      return so_far != Instant::max() && next < so_far;
  }
  __builtin_unreachable();
}

enum class SetCondition : std::uint8_t { kAlways, kIfAbsent, kIfPresent };

// Which keys an operation may remove or replace. A quota binds whoever only uses it, and so is not theirs to undo.
enum class KeyReach : std::uint8_t { kAnyKey, kAllButQuotas };

constexpr bool is_within(KeyReach reach, KeyType type) { return reach == KeyReach::kAnyKey || type != KeyType::kQuota; }

struct SetAnswer {
  bool is_set = false;
  std::optional<std::int64_t> old = {};  // the counter's value before, set or not
  bool is_out_of_reach = false;          // it is a quota, which stays

  bool operator==(const SetAnswer&) const = default;
};

struct BoundedSum {
  std::int64_t value = 0;    // as it is now
  std::int64_t applied = 0;  // what was added of `by`

  bool operator==(const BoundedSum&) const = default;
};

struct QuotaRule {
  Amount amount = 1;
  Duration window;  // whole seconds

  bool operator==(const QuotaRule&) const = default;
};

struct QuotaStanding {
  QuotaRule rule;
  Amount remaining = 0;

  bool operator==(const QuotaStanding&) const = default;
};

// What a quota answers that has not enough left.
inline constexpr Amount kQuotaDenied = -1;

// A bucket of `capacity` that gets `count` back per `period`, and what to take of it; 0 asks and changes nothing.
struct ThrottleRequest {
  Amount capacity = 1;
  Amount count = 1;
  Duration period;
  Amount quantity = 1;
};

struct ListedKey {
  std::string key;
  KeyType type = KeyType::kNone;

  bool operator==(const ListedKey&) const = default;
};

// A page of a listing, as UsagePage.
struct KeyPage {
  std::uint64_t cursor = 0;
  std::vector<ListedKey> keys;
};

// --- Counters --------------------------------------------------------------------------------------------------------

// A counter's value, or what remains of a quota; none if there is no such key.
struct GetKey {
  using Answer = std::optional<std::int64_t>;
  static constexpr Traits kTraits = {"GET", Effect::kReads, Home::kKey};
  static void visit(auto& value, auto& each) { each(value.key); }

  std::string_view key;
};

// Makes the key a counter, whatever it was, within its reach.
struct SetCounter {
  using Answer = SetAnswer;
  static constexpr Traits kTraits = {"SET", Effect::kChanges, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) {
    each(value.key, value.value, value.expiry, value.condition, value.wants_old, value.reach);
  }

  std::string_view key;
  std::int64_t value = 0;
  Expiry expiry = Expiry::none();
  SetCondition condition = SetCondition::kAlways;
  bool wants_old = false;  // then a quota or throttle is not replaced: kWrongType
  KeyReach reach = KeyReach::kAnyKey;
};

// Removes a counter, and tells what it was.
struct TakeOut {
  using Answer = std::optional<std::int64_t>;
  static constexpr Traits kTraits = {"GETDEL", Effect::kChanges, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.key); }

  std::string_view key;
};

// Adds to a counter, made at 0 if there is none, and returns the sum. On a quota: as TakeQuota.
struct AddToCounter {
  using Answer = std::int64_t;
  static constexpr Traits kTraits = {"INCRBY", Effect::kChanges, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.key, value.by); }

  std::string_view key;
  std::int64_t by = 1;
};

// Adds to a counter. Where that leads out of the bounds nothing changes; or, to saturate, it becomes the bound.
struct AddBounded {
  using Answer = BoundedSum;
  static constexpr Traits kTraits = {"INCREX", Effect::kChanges, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) {
    each(value.key, value.by, value.lower, value.upper, value.saturate, value.expiry, value.expiry_only_if_none);
  }

  std::string_view key;
  std::int64_t by = 1;
  std::optional<std::int64_t> lower = {};
  std::optional<std::int64_t> upper = {};
  bool saturate = false;
  Expiry expiry = Expiry::keep();
  bool expiry_only_if_none = false;  // a counter that expires already keeps its time
};

// --- Quotas and throttles --------------------------------------------------------------------------------------------

// Defines the quota, or changes it: what is used stays used.
struct SetQuota {
  using Answer = void;
  static constexpr Traits kTraits = {"QUOTASET", Effect::kSettles, Home::kKey};
  static void visit(auto& value, auto& each) { each(value.key, value.rule); }

  std::string_view key;
  QuotaRule rule;
};

struct GetQuota {
  using Answer = std::optional<QuotaStanding>;
  static constexpr Traits kTraits = {"QUOTAGET", Effect::kReads, Home::kKey};
  static void visit(auto& value, auto& each) { each(value.key); }

  std::string_view key;
};

struct RemoveQuota {
  using Answer = bool;
  static constexpr Traits kTraits = {"QUOTADEL", Effect::kSettles, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.key); }

  std::string_view key;
};

// Defines the quota if there is none, then consumes: what remains, or kQuotaDenied.
struct TakeQuota {
  using Answer = Amount;
  static constexpr Traits kTraits = {"QUOTAINCR", Effect::kChanges, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.key, value.rule, value.units); }

  std::string_view key;
  QuotaRule rule;
  Amount units = 1;
};

// Takes from a throttle with this rule. A rule that is not the key's present one replaces it, and the usage stays.
struct Throttle {
  using Answer = Verdict;
  static constexpr Traits kTraits = {"THROTTLE", Effect::kChanges, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.key, value.request); }

  std::string_view key;
  ThrottleRequest request;
};

// --- Several ---------------------------------------------------------------------------------------------------------

// What programs ask of keys by the hundred, and how that is answered: a sum, or what remains of a quota; a bounded sum;
// a throttle's verdict.
using KeyStep = std::variant<AddToCounter, AddBounded, TakeQuota, Throttle>;
using KeyStepAnswer = std::variant<std::int64_t, BoundedSum, Verdict>;

inline std::string_view key_of(const KeyStep& step) {
  return std::visit([](const auto& each) { return each.key; }, step);
}

// Carries each step out for itself, in order: answers[i] is what steps[i] alone would be answered. For steps that have
// arrived together: on the way to the store they share what each would have to wait for.
struct KeysEach {
  using Answer = void;
  static constexpr Traits kTraits = {"", Effect::kChanges, Home::kEach, Repeat::kNever};

  std::span<const KeyStep> steps;
  std::span<Result<KeyStepAnswer>> answers;

  // Some of them.
  [[nodiscard]] KeysEach part(std::size_t first, std::size_t count_max) const {
    const std::size_t count = std::min(count_max, steps.size() - first);
    return {steps.subspan(first, count), answers.subspan(first, count)};
  }
  // answers[i] = act(what steps[i] is), for all of them.
  template <class Act>
  void answer_by(Act act) const {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto as_it_is = [&](const auto& step) -> Result<KeyStepAnswer> { return act(step); };
      answers[i] = std::visit(as_it_is, steps[i]);
    }
  }
};

// --- Any key ---------------------------------------------------------------------------------------------------------

struct TypeOfKey {
  using Answer = KeyType;
  static constexpr Traits kTraits = {"TYPE", Effect::kReads, Home::kKey};
  static void visit(auto& value, auto& each) { each(value.key); }

  std::string_view key;
};

// False if there is no such key, or none within reach.
struct RemoveKey {
  using Answer = bool;
  static constexpr Traits kTraits = {"REMOVE", Effect::kChanges, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.key, value.reach); }

  std::string_view key;
  KeyReach reach = KeyReach::kAnyKey;
};

// None if there is no such key; Instant::max() if it does not expire. Of a throttle: when it will be full.
struct FindExpiry {
  using Answer = std::optional<Instant>;
  static constexpr Traits kTraits = {"EXPIRES", Effect::kReads, Home::kKey};
  static void visit(auto& value, auto& each) { each(value.key); }

  std::string_view key;
};

// Sets when a counter expires; false if there is no such key, or if the condition is not met. kWrongType on a quota or
// throttle.
struct ExpireKey {
  using Answer = bool;
  static constexpr Traits kTraits = {"EXPIRE", Effect::kChanges, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.key, value.expiry, value.condition); }

  std::string_view key;
  Expiry expiry;
  ExpiryCondition condition = ExpiryCondition::kAlways;
};

// False if there is nothing to change.
struct PersistKey {
  using Answer = bool;
  static constexpr Traits kTraits = {"PERSIST", Effect::kChanges, Home::kKey, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.key); }

  std::string_view key;
};

// Lists keys, about `count` at a time, while everything goes on. Start with cursor 0; cursor 0 in the answer means that
// this was the last page. A page may be empty. A key that is there throughout is listed exactly once.
struct ScanKeys {
  using Answer = KeyPage;
  static constexpr Traits kTraits = {"KEYS"};
  static void visit(auto& value, auto& each) { each(value.cursor, value.count); }

  std::uint64_t cursor = 0;
  std::size_t count = 0;
};

// How many there are; those that have expired count until they are noticed.
struct CountKeys {
  using Answer = std::size_t;
  static constexpr Traits kTraits = {"SIZE"};
  static void visit(auto& /*value*/, auto& /*each*/) {}
};

}  // namespace mete::core
