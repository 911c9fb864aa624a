#include "wire/http_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/check.h"
#include "wire/text.h"

namespace mete::wire {

namespace {

// What a byte may be part of; bits.
enum ByteClass : std::uint8_t {
  kToken = 1,   // methods and header names
  kTarget = 2,  // visible ASCII; '#' never reaches a server
  kField = 4,   // header values: no control character but the tab
};

constexpr std::array<std::uint8_t, 256> kByteClasses = [] {
  constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";
  std::array<std::uint8_t, 256> classes{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool is_letter = (byte | 32U) >= 'a' && (byte | 32U) <= 'z';
    const bool is_digit = byte >= '0' && byte <= '9';
    const bool is_mark = byte < 0x80 && kTokenMarks.find(static_cast<char>(byte)) != std::string_view::npos;
    unsigned bits = 0;
    if (is_letter || is_digit || is_mark) bits |= kToken;
    if (byte > 0x20 && byte < 0x7F && byte != '#') bits |= kTarget;
    if ((byte >= 0x20 && byte != 0x7F) || byte == '\t') bits |= kField;
    classes[byte] = static_cast<std::uint8_t>(bits);
  }
  return classes;
}();

bool is_of(char byte, ByteClass wanted) { return (kByteClasses[static_cast<unsigned char>(byte)] & wanted) != 0; }

bool all_of(std::string_view bytes, ByteClass wanted) {
  return std::all_of(bytes.begin(), bytes.end(), [wanted](char byte) { return is_of(byte, wanted); });
}

std::string_view trim(std::string_view text) {
  const auto is_space = [](char byte) { return byte == ' ' || byte == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (equals_ignoring_case(header.name, name)) return header.value;
  }
  return std::nullopt;
}

HttpRequestParser::Outcome HttpRequestParser::parse(std::string_view input) {
  for (bool goes_on = true; goes_on;) {
    switch (step_) {
      case Step::kStart:
        goes_on = start(input);
        break;
      case Step::kRequestLine:
        goes_on = read_request_line(input);
        break;
      case Step::kHeaders:
        goes_on = read_header(input);
        break;
      case Step::kBody:
        goes_on = read_body(input);
        break;
      case Step::kChunkSize:
        goes_on = read_chunk_size(input);
        break;
      case Step::kChunkData:
        goes_on = read_chunk_data(input);
        break;
      case Step::kChunkEnd:
        goes_on = read_chunk_end(input);
        break;
      case Step::kTrailers:
        goes_on = read_trailer(input);
        break;
      case Step::kComplete:
        complete(input);
        return Outcome::kComplete;
      case Step::kFailed:
        return Outcome::kFailed;
    }
  }
  if (step_ == Step::kFailed) return Outcome::kFailed;
  const bool is_in_body = step_ == Step::kBody || step_ == Step::kChunkSize;
  wants_continue_ = expects_continue_ && is_in_body && input.size() == section_at_;
  return Outcome::kNeedsMore;
}

bool HttpRequestParser::has_head() const {
  return step_ != Step::kStart && step_ != Step::kRequestLine && step_ != Step::kHeaders && step_ != Step::kFailed;
}

const HttpRequest& HttpRequestParser::read_head(std::string_view input) {
  const auto view = [input](const Piece& piece) { return input.substr(piece.offset, piece.size); };
  request_.method = view(method_);
  request_.target = view(target_);
  request_.headers.clear();
  for (const HeaderPieces& header : headers_) request_.headers.push_back({view(header.name), view(header.value)});
  return request_;
}

void HttpRequestParser::reset() {
  HttpRequestParser next(limits_);
  // What is warm stays: the next request will need as much.
  next.headers_ = std::move(headers_);
  next.headers_.clear();
  next.request_.headers = std::move(request_.headers);
  next.request_.headers.clear();
  *this = std::move(next);
}

// A first byte that cannot start a request, such as that of a TLS handshake, is told at once: no line end may ever
// come.
bool HttpRequestParser::start(std::string_view input) {
  // Some clients send an empty line after a body: a few are passed over (RFC 9112, section 2.2).
  for (at_ = 0; at_ < 2 * kEmptyLinesMax && input.substr(at_).starts_with("\r\n");) at_ += 2;
  if (input.size() == at_ || (at_ < 2 * kEmptyLinesMax && input.substr(at_) == "\r")) return false;
  if (!is_of(input[at_], kToken)) {
    return fail(400, "a request starts with a method, such as GET, not with " + quote(input.substr(at_, 1)));
  }
  searched_ = section_at_ = at_;
  step_ = Step::kRequestLine;
  return true;
}

std::optional<std::string_view> HttpRequestParser::next_line(std::string_view input, const LineLimit& limit) {
  const std::size_t end = std::min(input.size(), limit.end_max);
  const void* found = searched_ < end ? std::memchr(input.data() + searched_, '\n', end - searched_) : nullptr;
  if (found == nullptr) {
    searched_ = end;
    if (input.size() >= limit.end_max) fail(limit.status, std::string(limit.reason));
    return std::nullopt;
  }
  const auto line_end = static_cast<std::size_t>(static_cast<const char*>(found) - input.data());
  if (line_end == at_ || input[line_end - 1] != '\r') {
    fail(400, "a line that does not end in CR LF");
    return std::nullopt;
  }
  const std::string_view line = input.substr(at_, line_end - 1 - at_);
  at_ = searched_ = line_end + 1;
  return line;
}

bool HttpRequestParser::read_request_line(std::string_view input) {
  // The method, the version, two spaces and the end of the line.
  constexpr std::size_t kRestBytesMax = kMethodBytesMax + 12;
  const auto line = next_line(input, {section_at_ + kTargetBytesMax + kRestBytesMax, 414,
                                      "the request line is too long: a target has at most 8 KiB"});
  if (!line) return false;
  const std::size_t first = line->find(' ');
  const std::size_t last = line->rfind(' ');
  if (first == last) return fail(400, "a request line has a method, a target and a version, separated by one space");
  const std::string_view method = line->substr(0, first);
  const std::string_view target = line->substr(first + 1, last - first - 1);
  if (!all_of(method, kToken)) return fail(400, "the method " + quote(method) + " is not a token");
  if (method.size() > kMethodBytesMax) return fail(400, "the method is longer than 32 bytes");
  if (target.size() > kTargetBytesMax) return fail(414, "the target is longer than 8 KiB");
  if (target.empty() || !all_of(target, kTarget)) {
    return fail(400, "the target has bytes that must be escaped as %XX, or is empty");
  }
  if (!check_version(line->substr(last + 1))) return false;
  method_ = {section_at_, first};
  target_ = {section_at_ + first + 1, target.size()};
  section_at_ = at_;
  step_ = Step::kHeaders;
  return true;
}

bool HttpRequestParser::check_version(std::string_view version) {
  const auto is_digit = [](char byte) { return byte >= '0' && byte <= '9'; };
  if (version.size() != 8 || !version.starts_with("HTTP/") || !is_digit(version[5]) || version[6] != '.' ||
      !is_digit(version[7])) {
    return fail(400, quote(version) + " is not a version: use HTTP/1.1");
  }
  if (version[5] != '1' || version[7] > '1') return fail(505, "this server speaks HTTP/1.1 and HTTP/1.0");
  request_.minor_version = version[7] - '0';
  return true;
}

bool HttpRequestParser::read_header(std::string_view input) {
  const std::size_t line_at = at_;
  const auto line = next_line(input, {section_at_ + limits_.header_bytes_max, 431, "the header section is too large"});
  if (!line) return false;
  if (line->empty()) return finish_headers();
  const auto header = split_header(*line);
  if (!header) return false;
  if (headers_.size() == kHeadersMax) return fail(431, "more than " + std::to_string(kHeadersMax) + " headers");
  const auto value_at = static_cast<std::size_t>(header->value.data() - input.data());
  headers_.push_back({{line_at, header->name.size()}, {value_at, header->value.size()}});
  return note_header(*header);
}

std::optional<HttpHeader> HttpRequestParser::split_header(std::string_view line) {
  const auto refuse = [this](std::string reason) {
    fail(400, std::move(reason));
    return std::nullopt;
  };
  if (line.front() == ' ' || line.front() == '\t') return refuse("a header that goes on in the next line");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return refuse("a header without ':'");
  const std::string_view name = line.substr(0, colon);
  if (name.empty() || !all_of(name, kToken)) return refuse("the header name " + quote(name) + " is not a token");
  const std::string_view value = line.substr(colon + 1);
  if (!all_of(value, kField)) return refuse("the header " + quote(name) + " has a control character");
  return HttpHeader{name, trim(value)};
}

// Headers that say where the request ends and what becomes of the connection.
bool HttpRequestParser::note_header(const HttpHeader& header) {
  switch (header.name.size()) {
    case 4:
      return !equals_ignoring_case(header.name, "host") || note_host(header.value);
    case 6:
      return !equals_ignoring_case(header.name, "expect") || note_expectation(header.value);
    case 10:
      if (equals_ignoring_case(header.name, "connection")) note_connection(header.value);
      return true;
    case 14:
      return !equals_ignoring_case(header.name, "content-length") || note_length(header.value);
    case 17:
      return !equals_ignoring_case(header.name, "transfer-encoding") || note_transfer_encoding(header.value);
    default:
      return true;
  }
}

bool HttpRequestParser::note_length(std::string_view value) {
  if (transfer_ == Transfer::kLength) return fail(400, "two Content-Length headers");
  if (transfer_ == Transfer::kChunked) return fail(400, "both Content-Length and Transfer-Encoding");
  const auto length = parse_integer(value);
  if (!length || *length < 0) return fail(400, "Content-Length " + quote(value) + " is not a number of bytes");
  transfer_ = Transfer::kLength;
  length_ = static_cast<std::size_t>(*length);
  return true;
}

bool HttpRequestParser::note_transfer_encoding(std::string_view value) {
  if (transfer_ == Transfer::kLength) return fail(400, "both Content-Length and Transfer-Encoding");
  if (transfer_ == Transfer::kChunked) return fail(400, "two Transfer-Encoding headers");
  if (request_.minor_version == 0) return fail(400, "Transfer-Encoding in HTTP/1.0");
  if (value.empty()) return fail(400, "an empty Transfer-Encoding");
  if (!equals_ignoring_case(value, "chunked")) {
    return fail(501, "Transfer-Encoding " + quote(value) + " is not known here: send the body as it is, or chunked");
  }
  transfer_ = Transfer::kChunked;
  return true;
}

bool HttpRequestParser::note_host(std::string_view value) {
  if (has_host_) return fail(400, "two Host headers");
  if (value.find_first_of(" \t,/\\?#@\"<>") != std::string_view::npos) {
    return fail(400, "Host " + quote(value) + " is not a host name with an optional port");
  }
  has_host_ = true;
  return true;
}

void HttpRequestParser::note_connection(std::string_view value) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string_view option = trim(value.substr(0, comma));
    if (equals_ignoring_case(option, "close")) says_close_ = true;
    if (equals_ignoring_case(option, "keep-alive")) says_keep_alive_ = true;
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
}

bool HttpRequestParser::note_expectation(std::string_view value) {
  if (request_.minor_version == 0) return true;  // HTTP/1.0 has no such thing: it is ignored.
  if (!equals_ignoring_case(value, "100-continue")) {
    return fail(417, "Expect " + quote(value) + " is not known here: only 100-continue is");
  }
  expects_continue_ = true;
  return true;
}

bool HttpRequestParser::finish_headers() {
  if (request_.minor_version == 1 && !has_host_) return fail(400, "HTTP/1.1 needs a Host header");
  request_.keeps_alive = !says_close_ && (request_.minor_version == 1 || says_keep_alive_);
  section_at_ = at_;
  switch (transfer_) {
    case Transfer::kNone:
      step_ = Step::kComplete;
      return true;
    case Transfer::kLength:
      if (length_ > limits_.body_bytes_max) {
        return fail(413, "the body has at most " + std::to_string(limits_.body_bytes_max) + " bytes");
      }
      step_ = Step::kBody;
      return true;
    case Transfer::kChunked:
      step_ = Step::kChunkSize;
      return true;
  }
  __builtin_unreachable();
}

bool HttpRequestParser::read_body(std::string_view input) {
  if (input.size() - section_at_ < length_) return false;
  at_ = section_at_ + length_;
  step_ = Step::kComplete;
  return true;
}

bool HttpRequestParser::read_chunk_size(std::string_view input) {
  const auto line =
      next_line(input, {at_ + kChunkLineBytesMax, 400, "a chunk's size and extensions are longer than 256 bytes"});
  if (!line) return false;
  const std::string_view digits = line->substr(0, line->find(';'));
  std::uint64_t size = 0;
  const char* digits_end = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), digits_end, size, 16);
  if (digits.empty() || error != std::errc() || end != digits_end) {
    return fail(400, "the chunk size " + quote(digits) + " is not a hexadecimal number of bytes");
  }
  if (!all_of(line->substr(digits.size()), kField)) return fail(400, "a chunk extension with a control character");
  // Tiny chunks with long extensions must not make a small body a large request.
  const std::size_t framing_bytes = at_ - section_at_ - chunks_.size();
  if (size > limits_.body_bytes_max - chunks_.size() || framing_bytes > limits_.body_bytes_max + kHeaderBytesMax) {
    return fail(413, "the body has at most " + std::to_string(limits_.body_bytes_max) + " bytes");
  }
  length_ = size;
  step_ = size == 0 ? Step::kTrailers : Step::kChunkData;
  if (size == 0) section_at_ = at_;
  return true;
}

bool HttpRequestParser::read_chunk_data(std::string_view input) {
  const std::string_view data = input.substr(at_, length_);
  chunks_.append(data);
  at_ += data.size();
  length_ -= data.size();
  if (length_ > 0) return false;
  step_ = Step::kChunkEnd;
  return true;
}

bool HttpRequestParser::read_chunk_end(std::string_view input) {
  constexpr std::string_view kEnd = "\r\n";
  const std::string_view end = input.substr(at_, kEnd.size());
  if (end != kEnd.substr(0, end.size())) return fail(400, "a chunk that is longer than its size says");
  if (end.size() < kEnd.size()) return false;
  at_ += kEnd.size();
  searched_ = at_;
  step_ = Step::kChunkSize;
  return true;
}

// Trailers must be well-formed, and are of no use here.
bool HttpRequestParser::read_trailer(std::string_view input) {
  const auto line = next_line(input, {section_at_ + limits_.header_bytes_max, 431, "the trailer section is too large"});
  if (!line) return false;
  if (line->empty()) {
    step_ = Step::kComplete;
    return true;
  }
  if (++trailers_ > kHeadersMax) return fail(431, "more than " + std::to_string(kHeadersMax) + " trailers");
  return split_header(*line).has_value();
}

void HttpRequestParser::complete(std::string_view input) {
  CHECK(at_ <= input.size());
  read_head(input);
  const auto view = [input](const Piece& piece) { return input.substr(piece.offset, piece.size); };
  request_.body = transfer_ == Transfer::kChunked ? std::string_view(chunks_) : view({section_at_, length_});
  wants_continue_ = false;
}

bool HttpRequestParser::fail(int status, std::string reason) {
  step_ = Step::kFailed;
  failure_ = {status, std::move(reason)};
  return false;
}

}  // namespace mete::wire
