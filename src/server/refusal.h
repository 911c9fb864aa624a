// Errors about input that is wrong: of the code kInvalid, with a message that says what and where.
#pragma once

#include <mete/result.h>

#include <string>
#include <utility>

namespace mete::server {

inline tl::unexpected<Error> invalid(std::string message) {
  return tl::unexpected(Error{ErrorCode::kInvalid, std::move(message)});
}

// `place` is where the input stands: a line of a file, a variable, a flag.
inline tl::unexpected<Error> invalid_at(const std::string& place, const std::string& message) {
  return invalid(place + ": " + message);
}

}  // namespace mete::server
