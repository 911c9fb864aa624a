#include "lab/bench/http_skimmer.h"

#include "base/errors.h"
#include "wire/text.h"

namespace mete::lab {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::int64_t kBodyBytesMax = std::int64_t{1} << 30;
constexpr std::int64_t kTooManyRequests = 429;

Error bad_response(std::string_view line, std::string_view reason) {
  return base::invalid("bad HTTP response " + wire::quote(line, 64) + ": " + std::string(reason));
}

// Of "HTTP/1.1 200 OK".
std::optional<std::int64_t> status_of(std::string_view line) {
  constexpr std::size_t kStatusAt = sizeof "HTTP/1.1 " - 1;
  if (!line.starts_with("HTTP/1.1 ") || line.size() < kStatusAt + 3) return std::nullopt;
  return wire::parse_integer(line.substr(kStatusAt, 3));
}

std::optional<std::int64_t> content_length_of(std::string_view headers) {
  constexpr std::string_view kName = "content-length:";
  while (!headers.empty()) {
    const std::size_t end = std::min(headers.find(kLineEnd), headers.size());
    std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(end + kLineEnd.size(), headers.size()));
    if (line.size() < kName.size() || !wire::equals_ignoring_case(line.substr(0, kName.size()), kName)) continue;
    line.remove_prefix(kName.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    return wire::parse_integer(line);
  }
  return std::nullopt;
}

}  // namespace

Result<std::size_t> HttpSkimmer::take_head(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kHeadBytesMax).find(kHeadEnd);
  if (end == std::string_view::npos) {
    if (bytes.size() >= kHeadBytesMax) return bad_response(bytes, "its head does not end");
    return std::size_t{0};
  }
  const std::string_view head = bytes.substr(0, end);
  const std::string_view line = head.substr(0, head.find(kLineEnd));
  const auto status = status_of(line);
  if (!status) return bad_response(line, "not HTTP/1.1; is it the port of another protocol?");
  const auto length = content_length_of(head.substr(line.size()));
  const bool has_no_body = *status == 204 || *status == 304;
  if (!has_no_body && (!length || *length < 0 || *length > kBodyBytesMax)) {
    return bad_response(line, "it does not tell its Content-Length");
  }
  is_in_body_ = true;
  body_missing_ = has_no_body ? 0 : static_cast<std::size_t>(*length);
  reply_ = {};
  if (*status == kTooManyRequests || *status / 100 == 2) {
    reply_.has_integer = true;
    reply_.integer = *status == kTooManyRequests ? 0 : 1;
  } else {
    reply_.is_error = true;
    reply_.error = line;
  }
  return end + kHeadEnd.size();
}

}  // namespace mete::lab
