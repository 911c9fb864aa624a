#include "wire/resp_reply.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "wire/text.h"

namespace mete::wire {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kReservedElementsMax =
    256;  // an announced length is not to be believed before its parts are here
constexpr std::size_t kConsumedBytesMax = 1 << 16;  // kept in front of the buffer, so that it is seldom moved

Error too_much(const std::string& what) { return base::invalid("bad reply: " + what); }

}  // namespace

void ReplyParser::append(std::string_view bytes) {
  drop_consumed();
  buffer_ += bytes;
}

Result<std::optional<RespValue>> ReplyParser::next() {
  while (!failure_) {
    RespValue value;
    const Result<Step> step = read_part(value);
    if (!step) {
      failure_ = step.error();
    } else if (*step == Step::kNeedsBytes) {
      return std::nullopt;
    } else if (*step == Step::kWhole && close(value)) {
      elements_ = 0;
      return value;
    }
  }
  return *failure_;
}

Result<ReplyParser::Step> ReplyParser::read_part(RespValue& value) {
  if (bytes_) return read_bytes(value);
  const auto line = take_line();
  if (!line) {
    if (buffer_.size() - consumed_ > limits_.line_bytes_max) {
      return endless_reply_line(std::string_view(buffer_).substr(consumed_));
    }
    return Step::kNeedsBytes;
  }
  return parse_reply_header(*line, limits_).and_then([&](const ReplyHeader& header) { return begin(header, value); });
}

Result<ReplyParser::Step> ReplyParser::begin(const ReplyHeader& header, RespValue& value) {
  if (++elements_ > limits_.elements_max) {
    return too_much("more than " + std::to_string(limits_.elements_max) + " elements");
  }
  value.type = header.type;
  value.integer = header.integer;
  value.number = header.number;
  value.text = header.text;
  const bool is_attribute = header.form == ReplyHeader::Form::kAttribute;
  if (header.form == ReplyHeader::Form::kBytes) {
    bytes_ = header;
    return read_bytes(value);
  }
  if (header.form == ReplyHeader::Form::kLine || (header.count == 0 && !is_attribute)) return Step::kWhole;
  if (header.count == 0) return Step::kOpened;  // An empty attribute: the value is next.
  if (open_.size() == limits_.depth_max) {
    return too_much("nested more than " + std::to_string(limits_.depth_max) + " deep");
  }
  value.elements.reserve(std::min(header.count, kReservedElementsMax));
  open_.push_back({std::move(value), header.count, is_attribute});
  return Step::kOpened;
}

Result<ReplyParser::Step> ReplyParser::read_bytes(RespValue& value) {
  const std::string_view rest = std::string_view(buffer_).substr(consumed_);
  if (rest.size() < bytes_->count + kLineEnd.size()) return Step::kNeedsBytes;
  std::string_view bytes = rest.substr(0, bytes_->count);
  if (rest.substr(bytes_->count, kLineEnd.size()) != kLineEnd) {
    return too_much("a string of " + std::to_string(bytes_->count) + " bytes goes on after its end");
  }
  if (bytes_->type == RespType::kVerbatim) {
    if (bytes.size() < 4 || bytes[3] != ':') return too_much("a verbatim string does not begin with its format");
    bytes.remove_prefix(4);
  }
  value.type = bytes_->type;
  value.text = bytes;
  consumed_ += bytes_->count + kLineEnd.size();
  scanned_ = consumed_;
  bytes_.reset();
  return Step::kWhole;
}

bool ReplyParser::close(RespValue& value) {
  while (!open_.empty()) {
    Open& parent = open_.back();
    parent.value.elements.push_back(std::move(value));
    if (--parent.missing > 0) return false;
    value = std::move(parent.value);
    const bool is_attribute = parent.is_attribute;
    open_.pop_back();
    if (is_attribute) return false;
  }
  return true;
}

std::optional<std::string_view> ReplyParser::take_line() {
  const std::size_t end = buffer_.find(kLineEnd, scanned_);
  if (end == std::string::npos) {
    // A \r at the very end may be half of a line's end.
    scanned_ = std::max(consumed_, buffer_.size() - std::min<std::size_t>(buffer_.size(), 1));
    return std::nullopt;
  }
  const std::string_view line = std::string_view(buffer_).substr(consumed_, end - consumed_);
  consumed_ = scanned_ = end + kLineEnd.size();
  return line;
}

void ReplyParser::drop_consumed() {
  if (consumed_ < buffer_.size() && consumed_ < kConsumedBytesMax) return;
  buffer_.erase(0, consumed_);
  scanned_ -= consumed_;
  consumed_ = 0;
}

}  // namespace mete::wire
