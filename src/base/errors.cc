#include "base/errors.h"

#include <utility>

#include "base/names.h"

namespace mete {

std::string_view to_string(ErrorCode code) {
  return base::name_of("ERR|NOLIMIT|NOHOLD|EXPIRED|EXCEEDS|MISMATCH|WRONGTYPE|OOM|UNAVAILABLE", code);
}

Failure::Failure(Error error)
    : std::runtime_error(std::string(to_string(error.code)) + ' ' + error.message), error_(std::move(error)) {}

namespace detail {

void fail(const Error& error) { throw Failure(error); }
void fail_without_value() { throw std::logic_error("the value of a result that is an error"); }
void fail_without_error() { throw std::logic_error("the error of a result that is a value"); }

}  // namespace detail

namespace base {

Error invalid(std::string message) { return Error{ErrorCode::kInvalid, std::move(message)}; }

Error invalid_at(const std::string& place, const std::string& message) { return invalid(place + ": " + message); }

Error unavailable(std::string message) { return Error{ErrorCode::kUnavailable, std::move(message)}; }

Error out_of_memory(std::string message) { return Error{ErrorCode::kOutOfMemory, std::move(message)}; }

}  // namespace base

}  // namespace mete
