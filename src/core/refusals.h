// Refusals: the errors that every store says in the same words.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <cstdint>
#include <string_view>

namespace mete::core {

enum class KeyType : std::uint8_t;

Error unknown_limit(std::string_view name);
// Of a meter that nodes keep for themselves (core/reserved.h).
Error reserved_key(std::string_view key);
Error no_hold(std::string_view id);
// Why an operation on a hold that is not open is refused.
Error not_open(std::string_view id, HoldState state);
// A commit again, with other amounts than the hold was committed with.
Error committed_otherwise(std::string_view id);
Error wrong_amount_count(std::size_t charges, std::size_t amounts);
Error exceeds_hold(std::string_view limit, Amount amount, Amount held);
Error overage_does_not_fit(std::string_view limit, Amount overage);
Error id_mismatch(std::string_view id);
// `field`: what the caller gave that would make usage too large.
Error usage_too_large(std::string_view field, std::string_view limit);
// What a bucket or a sliding window has used comes back with time: no source of truth has such a number.
Error cannot_shift(std::string_view limit, Kind kind);

// What keys refuse.
Error wrong_type();
Error counter_overflow();
// Of a quota or throttle.
Error no_expiry(KeyType type);

}  // namespace mete::core
