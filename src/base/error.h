// Errors to return, for a message that says what happened and what to do.
#pragma once

#include <mete/result.h>

#include <string>
#include <utility>

namespace mete::base {

inline tl::unexpected<Error> invalid(std::string message) {
  return tl::unexpected(Error{ErrorCode::kInvalid, std::move(message)});
}
inline tl::unexpected<Error> unavailable(std::string message) {
  return tl::unexpected(Error{ErrorCode::kUnavailable, std::move(message)});
}

}  // namespace mete::base
