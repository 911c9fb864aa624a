#include "server/doors/http/problem.h"

#include <array>

#include "wire/json.h"

namespace mete::server {

namespace {

struct ErrorStatus {
  ErrorCode code;
  int status;
};
// The rest is bad input.
constexpr std::array kStatuses = {
    ErrorStatus{ErrorCode::kNoLimit, 404},     ErrorStatus{ErrorCode::kNoHold, 404},
    ErrorStatus{ErrorCode::kMismatch, 409},    ErrorStatus{ErrorCode::kExpired, 410},
    ErrorStatus{ErrorCode::kExceeds, 422},     ErrorStatus{ErrorCode::kOutOfMemory, 503},
    ErrorStatus{ErrorCode::kUnavailable, 503},
};

int status_of(ErrorCode code) {
  for (const ErrorStatus& row : kStatuses) {
    if (row.code == code) return row.status;
  }
  return 400;
}

}  // namespace

wire::HttpResponse problem(int status, std::string_view detail, std::string_view code) {
  wire::HttpResponse response{.status = status, .content_type = kProblemContentType};
  wire::JsonWriter writer(response.body);
  // "about:blank" says that the status tells the kind of problem; its title is then the status's.
  writer.begin_object().member("type", "about:blank").member("title", wire::reason_phrase(status));
  writer.member("status", std::int64_t{status}).member("detail", detail).member("code", code).end_object();
  // Both may be over in a moment; a client that asks again at once does not help.
  if (status == 503) response.add_header("Retry-After", 1);
  return response;
}

wire::HttpResponse problem(const Error& error) {
  return problem(status_of(error.code), error.message, to_string(error.code));
}

}  // namespace mete::server
