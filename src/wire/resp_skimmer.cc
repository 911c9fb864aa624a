#include "wire/resp_skimmer.h"

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"
#include "wire/text.h"

namespace mete::wire {

namespace {

constexpr std::size_t kLineEndBytes = 2;
constexpr std::size_t kDigitsMax = 18;  // so many always fit into 64 bits

// The \r at the end of the line; nullptr if the line is not all there. Lines are short: a library's search costs more.
const char* find_line_end(const char* at, const char* end) {
  while (at < end && *at != '\r') ++at;
  return end - at >= static_cast<std::ptrdiff_t>(kLineEndBytes) ? at : nullptr;
}

// Plain digits as a number; nullopt for whatever needs a closer look.
std::optional<std::int64_t> read_digits(std::string_view digits) {
  if (digits.empty() || digits.size() > kDigitsMax) return std::nullopt;
  std::int64_t number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  return number;
}

}  // namespace

std::size_t ReplySkimmer::skim_reply(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  if (is_whole_) begin_next();
  while (at < end && !is_whole_ && !failure_) {
    if (skip_ > 0) {
      const std::size_t skipped = std::min(skip_, static_cast<std::size_t>(end - at));
      at += skipped;
      skip_ -= skipped;
    } else {
      const char* const line_end = find_line_end(at, end);
      const auto length = static_cast<std::size_t>((line_end == nullptr ? end : line_end) - at);
      if (length > limits_.line_bytes_max) failure_ = endless_reply_line({at, length});
      if (line_end == nullptr) break;
      take_line({at, length});
      at = line_end + kLineEndBytes;
    }
    is_whole_ = missing_ == 0 && skip_ == 0;
  }
  return static_cast<std::size_t>(at - bytes.data());
}

void ReplySkimmer::take_line(std::string_view line) {
  const char type = line.empty() ? '\0' : line[0];
  switch (type) {
    case ':':
      if (may_be_integer_ && attribute_missing_ == 0) take_integer(line.substr(1));
      break;
    case '-':
      if (is_first_ && attribute_missing_ == 0) {
        reply_.is_error = true;
        reply_.error = line.substr(1);
      }
      break;
    case '+':
      break;
    default:
      take_header(line);
      return;
  }
  std::size_t& missing = attribute_missing_ > 0 ? attribute_missing_ : missing_;
  CHECK(missing > 0);
  --missing;
  if (&missing == &missing_) is_first_ = may_be_integer_ = false;
}

void ReplySkimmer::take_header(std::string_view line) {
  const auto header = parse_reply_header(line, limits_);
  if (!header) {
    failure_ = header.error();
    return;
  }
  using Form = ReplyHeader::Form;
  const bool has_parts = header->form == Form::kParts || header->form == Form::kAttribute;
  if (has_parts && (elements_ += header->count) > limits_.elements_max) {
    failure_ = base::invalid("bad reply: more than " + std::to_string(limits_.elements_max) + " elements");
    return;
  }
  if (header->form == Form::kAttribute) {
    attribute_missing_ += header->count;  // What it is about is still to come.
    return;
  }
  if (header->form == Form::kBytes) skip_ = header->count + kLineEndBytes;
  const std::size_t parts = header->form == Form::kParts ? header->count : 0;
  if (attribute_missing_ > 0) {
    attribute_missing_ += parts - 1;
    return;
  }
  if (is_first_ && header->type == RespType::kError) reply_.is_error = true;
  may_be_integer_ = is_first_ && header->type == RespType::kArray;
  is_first_ = false;
  missing_ += parts - 1;
}

void ReplySkimmer::take_integer(std::string_view digits) {
  auto integer = read_digits(digits);
  if (!integer) integer = parse_integer(digits);
  if (!integer) return;
  reply_.has_integer = true;
  reply_.integer = *integer;
}

void ReplySkimmer::begin_next() {
  missing_ = 1;
  elements_ = 0;
  is_first_ = may_be_integer_ = true;
  is_whole_ = false;
  reply_ = {};
}

}  // namespace mete::wire
