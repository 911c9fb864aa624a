// What every call that can fail returns: a value, or an Error that says what happened and what to do.
//
// A denial is not an error: it is a Decision. Errors are bad input, unknown names and stores that do not answer,
// and an error has changed nothing.
//
//     auto decision = limiter.take("api", "alice");
//     if (!decision) std::cerr << decision.error().message << '\n';
//
// `value()` on an error throws tl::bad_expected_access<Error>.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>

namespace mete {

enum class ErrorCode : std::uint8_t {
  kInvalid,      // an argument is out of its range; the message names it
  kNoLimit,      // no limit of that name is defined
  kNoHold,       // no open hold of that id
  kExpired,      // the hold's time ran out before this call
  kExceeds,      // a commit of more than is held
  kMismatch,     // the id was used before, with other parameters
  kWrongType,    // the key is of another type than the operation is for
  kOutOfMemory,  // a memory ceiling is reached; what exists goes on working
  kUnavailable,  // the store does not answer; nothing is known to have happened
};

// The code as it stands on the wire in front of the message: "NOLIMIT", "EXPIRED", …; "ERR" for kInvalid.
std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;

  bool operator==(const Error&) const = default;
};

// What a call returns that has nothing to tell but that it was done.
struct Done {
  bool operator==(const Done&) const = default;
};

// Result<void> has a value() too, which throws like any other's.
template <class T>
using Result = tl::expected<std::conditional_t<std::is_void_v<T>, Done, T>, Error>;

}  // namespace mete
