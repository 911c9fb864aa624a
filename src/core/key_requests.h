// Keys: what goes into their operations and what comes out of them. A key is not a meter of a named limit: it has one
// type, and a quota or throttle carries a rule of its own. Views are valid for the call alone.
#pragma once

#include <mete/limit.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

struct SetRequest {
  std::string_view key;
  std::int64_t value = 0;
  Expiry expiry = Expiry::none();
  SetCondition condition = SetCondition::kAlways;
  bool wants_old = false;  // then a quota or throttle is not replaced: kWrongType
  KeyReach reach = KeyReach::kAnyKey;
};

struct SetAnswer {
  bool is_set = false;
  std::optional<std::int64_t> old = {};  // the counter's value before, set or not
  bool is_out_of_reach = false;          // it is a quota, which stays

  bool operator==(const SetAnswer&) const = default;
};

struct BoundedAdd {
  std::string_view key;
  std::int64_t by = 1;
  std::optional<std::int64_t> lower = {};
  std::optional<std::int64_t> upper = {};
  bool saturate = false;
  Expiry expiry = Expiry::keep();
  bool expiry_only_if_none = false;  // a counter that expires already keeps its time
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

}  // namespace mete::core
