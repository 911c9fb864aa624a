// What keys refuse, in the same words in every store.
#pragma once

#include <mete/result.h>

#include <string>

#include "core/key_requests.h"

namespace mete::core {

inline tl::unexpected<Error> wrong_type() {
  return tl::make_unexpected(Error{ErrorCode::kWrongType, "Operation against a key holding the wrong kind of value"});
}

inline tl::unexpected<Error> counter_overflow() {
  return tl::make_unexpected(Error{ErrorCode::kInvalid, "increment or decrement would overflow"});
}

// Of a quota or throttle.
inline tl::unexpected<Error> no_expiry(KeyType type) {
  const std::string_view reason = type == KeyType::kQuota
                                      ? "a quota key stays until it is removed: it takes no expiry"
                                      : "a throttle key goes when it is full again: its expiry cannot be changed";
  return tl::make_unexpected(Error{ErrorCode::kWrongType, std::string(reason)});
}

}  // namespace mete::core
