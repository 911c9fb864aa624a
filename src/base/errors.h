// invalid: the refusal of an argument, ready to be returned.
//
//     if (text.empty()) return base::invalid("the name is missing");
#pragma once

#include <mete/result.h>

#include <string>
#include <utility>

namespace mete::base {

inline tl::unexpected<Error> invalid(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kInvalid, std::move(message)});
}

inline tl::unexpected<Error> unavailable(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kUnavailable, std::move(message)});
}

}  // namespace mete::base
