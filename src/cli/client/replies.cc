#include "cli/client/replies.h"

#include <algorithm>

#include "base/errors.h"
#include "cli/frame/text.h"

namespace mete::cli {

using wire::RespType;
using wire::RespValue;

namespace {

bool is_text(const RespValue& value) {
  return value.type == RespType::kBulk || value.type == RespType::kSimple || value.type == RespType::kVerbatim ||
         value.type == RespType::kNull;
}

struct Advice {
  std::string_view code;
  std::string_view next;  // what to do; goes behind what the server says
};

// What is not among them speaks for itself.
constexpr Advice kAdvice[] = {
    {"NOAUTH", " Give the password with --password or in METE_PASSWORD."},
    {"NOPERM", "; it goes into --password or METE_PASSWORD"},
    {"UNAVAILABLE", "; the server's log says more"},
    {"OOM", "; the ceiling is --max-memory of: mete serve"},
};

// "unknown limit 'api'" → "api".
std::string_view quoted_part(std::string_view text) {
  const std::size_t first = text.find('\'');
  const std::size_t last = text.rfind('\'');
  return first == last ? std::string_view() : text.substr(first + 1, last - first - 1);
}

}  // namespace

ReplyReader::ReplyReader(const RespValue& reply)
    : parts_(is_aggregate(reply) ? reply.elements.data() : &reply),
      count_(is_aggregate(reply) ? reply.elements.size() : 1) {}

const RespValue& ReplyReader::any() {
  static const RespValue kNothing;
  if (has_more()) return parts_[next_++];
  is_bad_ = true;
  return kNothing;
}

std::int64_t ReplyReader::integer() {
  const RespValue& value = any();
  is_bad_ = is_bad_ || value.type != RespType::kInteger;
  return value.integer;
}

std::string ReplyReader::text() {
  const RespValue& value = any();
  is_bad_ = is_bad_ || !is_text(value);
  return value.text;
}

std::vector<std::string> ReplyReader::texts() {
  const RespValue& value = any();
  is_bad_ = is_bad_ || !is_aggregate(value);
  std::vector<std::string> texts;
  for (const RespValue& each : value.elements) {
    is_bad_ = is_bad_ || !is_text(each);
    texts.push_back(each.text);
  }
  return texts;
}

void ReplyReader::read(Duration& length) {
  const std::int64_t milliseconds = integer();
  length = milliseconds < 0 ? Duration::never() : Duration(std::chrono::milliseconds(milliseconds));
}

Result<void> ReplyReader::finish() const {
  if (is_bad_ || has_more()) return unexpected_reply();
  return {};
}

bool is_aggregate(const RespValue& value) {
  return value.type == RespType::kArray || value.type == RespType::kMap || value.type == RespType::kSet;
}

Error unexpected_reply() {
  return base::invalid("the server answered what this program does not understand; is it a Mete of this version?");
}

Error error_of(std::string_view reply) {
  const std::size_t space = std::min(reply.find(' '), reply.size());
  const std::string_view code = reply.substr(0, space);
  Error error = {ErrorCode::kInvalid, std::string(reply.substr(std::min(space + 1, reply.size())))};
  for (int number = 0; number <= static_cast<int>(ErrorCode::kUnavailable); ++number) {
    if (const auto known = static_cast<ErrorCode>(number); to_string(known) == code) error.code = known;
  }
  if (code == "ERR" && error.message.starts_with("unknown command")) {
    error.message += "; is the server a Mete, and not older than this program?";
  }
  for (const Advice& advice : kAdvice) {
    if (advice.code == code) error.message += advice.next;
  }
  return error;
}

Error explain(const Error& error) {
  const auto& [code, text] = error;
  if (code == ErrorCode::kNoLimit) return no_limit(quoted_part(text));
  if (code == ErrorCode::kNoHold && text.starts_with("no hold")) return no_hold(quoted_part(text));
  const bool has_remedy = code == ErrorCode::kExceeds && text.ends_with("allow overage");
  return {code, escaped(text) + (has_remedy ? " with --overage" : "")};
}

std::string word_for_shell(std::string_view name) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@%+=";
  const bool is_plain = !name.empty() && name.find_first_not_of(kPlain) == std::string_view::npos;
  return is_plain ? std::string(name) : "NAME";
}

Error no_limit(std::string_view name) {
  return {ErrorCode::kNoLimit, "no limit " + shown(name) + ": define it with: mete limit set " + word_for_shell(name) +
                                   " bucket 100 --per 1m, or see: mete limit list"};
}

Error no_hold(std::string_view id) {
  return {ErrorCode::kNoHold, "no hold " + shown(id) +
                                  ": it is unknown, or was forgotten; the open holds of a key are listed by: mete "
                                  "holds LIMIT KEY"};
}

}  // namespace mete::cli
