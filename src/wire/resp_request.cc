#include "wire/resp_request.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/text.h"

namespace mete::wire {

namespace {

// The longest line that can hold a length: a mark, 20 digits, CR LF.
constexpr std::size_t kLengthLineMax = 23;
// More words than this are allocated as they arrive, not when they are announced.
constexpr std::int64_t kWordsReservedMax = 1024;
// Room for so many is kept for the next request.
constexpr std::size_t kWordsKeptMax = 256;

bool is_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

bool is_quote(char byte) { return byte == '"' || byte == '\''; }

int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

char unescape(char letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return letter;
  }
}

// Reads the quoted end of a word at the front of `rest`, whose first byte is the quote. False if it does not end, or if
// something other than a space follows it.
bool read_quoted(std::string_view& rest, std::string& word) {
  const char quote = rest[0];
  std::size_t at = 1;
  for (; at < rest.size() && rest[at] != quote; ++at) {
    if (rest[at] != '\\' || at + 1 >= rest.size()) {
      word += rest[at];
    } else if (quote == '\'') {
      if (rest[at + 1] == '\'') ++at;
      word += rest[at];
    } else if (rest[at + 1] == 'x' && at + 3 < rest.size() && hex_digit(rest[at + 2]) >= 0 &&
               hex_digit(rest[at + 3]) >= 0) {
      word += static_cast<char>(hex_digit(rest[at + 2]) * 16 + hex_digit(rest[at + 3]));
      at += 3;
    } else {
      word += unescape(rest[++at]);
    }
  }
  if (at >= rest.size()) return false;
  rest.remove_prefix(at + 1);
  return rest.empty() || is_space(rest[0]);
}

}  // namespace

bool UsualRequest::read(std::string_view input) {
  const char* at = input.data();
  const char* const end = at + input.size();
  const auto digit = [](char byte) { return static_cast<unsigned>(static_cast<unsigned char>(byte)) - '0'; };
  const auto is_line_end = [](const char* bytes) { return std::memcmp(bytes, "\r\n", 2) == 0; };
  if (end - at < 5 || at[0] != '*') return false;
  unsigned wanted = digit(at[1]);
  if (!is_line_end(at + 2)) [[unlikely]] {
    if (wanted != 1 || digit(at[2]) > 9 || !is_line_end(at + 3)) return false;
    wanted = 10 + digit(at[2]);
    ++at;
  }
  if (wanted - 1 >= kWordsMax) return false;
  at += 4;
  for (unsigned index = 0; index < wanted; ++index) {
    if (end - at < 5 || at[0] != '$') return false;
    unsigned length = digit(at[1]);
    if (length > 9) return false;
    at += 2;
    if (*at != '\r') {
      if (length == 0 || digit(*at) > 9) return false;
      length = length * 10 + digit(*at++);
    }
    // The line's end, the word and its line's end.
    if (end - at < static_cast<std::ptrdiff_t>(length) + 4) return false;
    const char* const word = at + 2;
    at = word + length + 2;
    if (!is_line_end(word - 2) || !is_line_end(at - 2)) return false;
    all_words[index] = {word, length};
  }
  count = wanted;
  consumed = static_cast<std::size_t>(at - input.data());
  return true;
}

RequestParser::Status RequestParser::parse(std::string_view input) {
  if (position_ == 0) {
    if (input.empty()) return Status::kNeedMore;
    words_.clear();
    if (input[0] != '*') return parse_inline(input);
  } else if (missing_ < 0 && input[0] != '*') {
    return parse_inline(input);
  }
  return parse_array(input);
}

RequestParser::Status RequestParser::parse_array(std::string_view input) {
  follow(input);
  if (missing_ < 0) {
    std::int64_t length = 0;
    if (const Status status = parse_length(input, '*', length); status != Status::kRequest) return status;
    if (length < -1 || length > static_cast<std::int64_t>(limits_.arguments_max)) {
      return fail(limits_.arguments_max == kUnauthenticatedLimits.arguments_max ? "unauthenticated multibulk length"
                                                                                : "invalid multibulk length");
    }
    if (length <= 0) return finish(position_);
    missing_ = length;
    if (length > static_cast<std::int64_t>(words_.capacity())) {
      words_.reserve(static_cast<std::size_t>(std::min(length, kWordsReservedMax)));
    }
  }
  while (missing_ > 0) {
    if (const Status status = parse_bulk(input); status != Status::kRequest) return status;
    --missing_;
  }
  return finish(position_);
}

RequestParser::Status RequestParser::parse_bulk(std::string_view input) {
  if (bulk_length_ < 0) {
    std::int64_t length = 0;
    if (const Status status = parse_length(input, '$', length); status != Status::kRequest) return status;
    if (length < 0 || length > static_cast<std::int64_t>(limits_.bulk_bytes_max)) {
      return fail(limits_.bulk_bytes_max == kUnauthenticatedLimits.bulk_bytes_max ? "unauthenticated bulk length"
                                                                                  : "invalid bulk length");
    }
    bulk_length_ = length;
  }
  const auto length = static_cast<std::size_t>(bulk_length_);
  if (input.size() - position_ < length + 2) return Status::kNeedMore;
  if (input[position_ + length] != '\r' || input[position_ + length + 1] != '\n') {
    return fail("expected CRLF after a bulk string");
  }
  words_.push_back(input.substr(position_, length));
  position_ += length + 2;
  bulk_length_ = -1;
  return Status::kRequest;
}

RequestParser::Status RequestParser::parse_length(std::string_view input, char mark, std::int64_t& length) {
  const std::string_view line = input.substr(position_, kLengthLineMax);
  if (line.empty()) {
    return Status::kNeedMore;
  }
  if (line[0] != mark) return fail("expected '" + std::string(1, mark) + "', got " + single_quote(line.substr(0, 1)));
  const std::size_t end = line.find_first_of("\r\n");
  const char* const what = mark == '*' ? "invalid multibulk length" : "invalid bulk length";
  if (end == std::string_view::npos) return line.size() < kLengthLineMax ? Status::kNeedMore : fail(what);
  if (line[end] == '\n') return fail("expected CRLF after a length");
  if (end + 1 == line.size()) return line.size() < kLengthLineMax ? Status::kNeedMore : fail(what);
  if (line[end + 1] != '\n') return fail("expected CRLF after a length");
  const auto number = parse_integer(line.substr(1, end - 1));
  if (!number) return fail(what);
  length = *number;
  position_ += end + 2;
  return Status::kRequest;
}

RequestParser::Status RequestParser::parse_inline(std::string_view input) {
  const std::size_t end = input.find('\n', position_);
  if (std::min(end, input.size()) > limits_.inline_bytes_max) return fail("too big inline request");
  if (end == std::string_view::npos) {
    position_ = input.size();
    return Status::kNeedMore;
  }
  const bool ends_in_crlf = end > 0 && input[end - 1] == '\r';
  if (const Status status = split_words(input.substr(0, end - (ends_in_crlf ? 1 : 0))); status != Status::kRequest) {
    return status;
  }
  return finish(end + 1);
}

RequestParser::Status RequestParser::split_words(std::string_view rest) {
  unquoted_.clear();
  while (true) {
    while (!rest.empty() && is_space(rest[0])) rest.remove_prefix(1);
    if (rest.empty()) return Status::kRequest;
    if (words_.size() >= limits_.arguments_max) return fail("too many words in an inline request");
    std::size_t length = 0;
    while (length < rest.size() && !is_space(rest[length]) && !is_quote(rest[length])) ++length;
    const std::string_view plain = rest.substr(0, length);
    rest.remove_prefix(length);
    if (rest.empty() || is_space(rest[0])) {
      words_.push_back(plain);
      continue;
    }
    std::string& word = unquoted_.emplace_back(plain);
    if (!read_quoted(rest, word)) return fail("unbalanced quotes in request");
    words_.push_back(word);
  }
}

// The words found so far are views into where the input was at the last call.
void RequestParser::follow(std::string_view input) {
  if (base_ != input.data()) {
    for (std::string_view& word : words_) word = {input.data() + (word.data() - base_), word.size()};
    base_ = input.data();
  }
}

void RequestParser::release_words() {
  words_.clear();
  unquoted_.clear();
  if (words_.capacity() > kWordsKeptMax) words_ = std::vector<std::string_view>();
}

RequestParser::Status RequestParser::fail(std::string reason) {
  error_ = std::move(reason);
  return Status::kError;
}

RequestParser::Status RequestParser::finish(std::size_t consumed) {
  consumed_ = consumed;
  position_ = 0;
  missing_ = -1;
  bulk_length_ = -1;
  return Status::kRequest;
}

}  // namespace mete::wire
