// What an operation's arguments may be. Each refusal names the field, what is wrong with it and what would be right.
#pragma once

#include <mete/decision.h>
#include <mete/limit.h>
#include <mete/result.h>

#include <span>
#include <string_view>

#include "core/key_operations.h"

namespace mete::core {

enum class CostRange : std::uint8_t {
  kFromZero,  // take and peek: cost 0 asks and charges nothing
  kFromOne,   // give and hold
};

// All but the time zone, which only the calendar knows.
Result<void> validate_limit(const Limit& limit);
Result<void> validate_name(std::string_view name);
Result<void> validate_key(std::string_view key);
Result<void> validate_amount(Amount amount);
Result<void> validate_charges(std::span<const Charge> charges, CostRange costs);
// How many takes a call may have that are independent of each other.
Result<void> validate_takes_count(std::size_t count);
Result<void> validate_mode(std::span<const Charge> charges, Mode mode, std::string_view id);
// An operation's id may be left out: then it is empty.
Result<void> validate_id(std::string_view id);
Result<void> validate_hold_id(std::string_view id);
Result<void> validate_tag(std::string_view tag);
Result<void> validate_ttl(Duration ttl);
// Used by reconcile, and per charge by commit.
Result<void> validate_used(Amount used);
// Of a shift: up or down.
Result<void> validate_change(Amount change);

Result<void> validate_quota(const QuotaRule& rule);
// What a quota is asked for at once.
Result<void> validate_consumption(Amount units);
Result<void> validate_throttle(const ThrottleRequest& request);
// Where it would only remove what is just being written, a length that is not above 0 is refused.
enum class ExpiryRange : std::uint8_t { kAny, kAboveZero };
Result<void> validate_expiry(const Expiry& expiry, ExpiryRange range);
Result<void> validate_bounds(const AddBounded& request);

// Whether a take may have this charge, in a few instructions; validate_charges() tells what is wrong with it.
inline bool is_plainly_valid(const Charge& charge) {
  return charge.limit.size() - 1 < kNameBytesMax && charge.key.size() - 1 < kKeyBytesMax && charge.cost >= 0 &&
         charge.cost <= kAmountMax;
}

}  // namespace mete::core
