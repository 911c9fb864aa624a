#include "base/errors.h"

#include <utility>

namespace mete {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "ERR";
    case ErrorCode::kNoLimit:
      return "NOLIMIT";
    case ErrorCode::kNoHold:
      return "NOHOLD";
    case ErrorCode::kExpired:
      return "EXPIRED";
    case ErrorCode::kExceeds:
      return "EXCEEDS";
    case ErrorCode::kMismatch:
      return "MISMATCH";
    case ErrorCode::kWrongType:
      return "WRONGTYPE";
    case ErrorCode::kOutOfMemory:
      return "OOM";
    case ErrorCode::kUnavailable:
      return "UNAVAILABLE";
  }
  __builtin_unreachable();
}

namespace base {

tl::unexpected<Error> invalid(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kInvalid, std::move(message)});
}

tl::unexpected<Error> invalid_at(const std::string& place, const std::string& message) {
  return invalid(place + ": " + message);
}

tl::unexpected<Error> unavailable(std::string message) {
  return tl::unexpected<Error>(Error{ErrorCode::kUnavailable, std::move(message)});
}

}  // namespace base

}  // namespace mete
