#include "core/refusals.h"

#include <string>

#include "base/errors.h"
#include "core/key_operations.h"

namespace mete::core {

Error unknown_limit(std::string_view name) {
  return {ErrorCode::kNoLimit, "unknown limit '" + std::string(name) + "'"};
}

Error reserved_key(std::string_view key) {
  return base::invalid("key '" + std::string(key) + "' is for what nodes keep for themselves");
}

Error no_hold(std::string_view id) {
  return {ErrorCode::kNoHold, "no hold '" + std::string(id) + "': it is unknown, or was forgotten"};
}

Error not_open(std::string_view id, HoldState state) {
  const std::string name = "hold '" + std::string(id) + "'";
  if (state == HoldState::kExpired)
    return {ErrorCode::kExpired, name + " has expired: make a new one, and extend it in time"};
  return {ErrorCode::kNoHold, name + " is " + std::string(to_string(state)) + " already: a hold is final once"};
}

Error committed_otherwise(std::string_view id) {
  return {ErrorCode::kMismatch,
          "hold '" + std::string(id) + "' is committed already, with other amounts: a hold is final once"};
}

Error wrong_amount_count(std::size_t charges, std::size_t amounts) {
  return base::invalid("amounts: the hold has " + std::to_string(charges) +
                       (charges == 1 ? " charge, not " : " charges, not ") + std::to_string(amounts));
}

Error exceeds_hold(std::string_view limit, Amount amount, Amount held) {
  return {ErrorCode::kExceeds, "amount " + std::to_string(amount) + " for '" + std::string(limit) + "' exceeds the " +
                                   std::to_string(held) + " held: commit less, or allow overage"};
}

Error overage_does_not_fit(std::string_view limit, Amount overage) {
  return {ErrorCode::kExceeds, "the overage of " + std::to_string(overage) + " for '" + std::string(limit) +
                                   "' does not fit: commit what is held, or less"};
}

Error id_mismatch(std::string_view id) {
  return {ErrorCode::kMismatch, "id '" + std::string(id) +
                                    "' was used for an operation with other parameters: give each operation an id of "
                                    "its own"};
}

Error usage_too_large(std::string_view field, std::string_view limit) {
  return base::invalid(std::string(field) + ": usage of '" + std::string(limit) + "' would pass " +
                       std::to_string(kAmountMax));
}

Error cannot_shift(std::string_view limit, Kind kind) {
  return base::invalid("limit '" + std::string(limit) + "' is a " + std::string(to_string(kind)) +
                       ", whose usage comes back with time, so that no source of truth can tell it: only "
                       "stock, window and calendar can be synced");
}

Error wrong_type() { return Error{ErrorCode::kWrongType, "Operation against a key holding the wrong kind of value"}; }

Error counter_overflow() { return base::invalid("increment or decrement would overflow"); }

Error no_expiry(KeyType type) {
  const std::string_view reason = type == KeyType::kQuota
                                      ? "a quota key stays until it is removed: it takes no expiry"
                                      : "a throttle key goes when it is full again: its expiry cannot be changed";
  return Error{ErrorCode::kWrongType, std::string(reason)};
}

}  // namespace mete::core
