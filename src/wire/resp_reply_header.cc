#include "wire/resp_reply_header.h"

#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "base/errors.h"
#include "wire/text.h"

namespace mete::wire {

namespace {

using Form = ReplyHeader::Form;

constexpr std::size_t kShownBytesMax = 64;

Error bad_reply(std::string_view line, std::string_view reason) {
  return base::invalid("bad reply " + quote(line, kShownBytesMax) + ": " + std::string(reason));
}

Result<ReplyHeader> parse_length(std::string_view line, ReplyHeader header, std::size_t count_max) {
  const auto count = parse_integer(line.substr(1));
  const bool may_be_null = line[0] == '$' || line[0] == '*';
  if (count == -1 && may_be_null) return ReplyHeader{};
  if (!count || *count < 0) return bad_reply(line, "its length is not a number");
  const bool is_pairs = header.type == RespType::kMap;
  if (static_cast<std::size_t>(*count) > count_max / (is_pairs ? 2 : 1)) {
    return bad_reply(line, "it is longer than the " + std::to_string(count_max) +
                               (header.form == Form::kBytes ? " bytes" : " elements") + " that are accepted");
  }
  header.count = static_cast<std::size_t>(*count) * (is_pairs ? 2 : 1);
  return header;
}

std::optional<double> parse_double(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan" || text == "-nan") return std::numeric_limits<double>::quiet_NaN();
  // from_chars also knows words like "infinity", which RESP does not.
  if (text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_big_number(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Result<ReplyHeader> parse_reply_header(std::string_view line, const ReplyLimits& limits) {
  if (line.empty()) return bad_reply(line, "an empty line");
  const std::string_view rest = line.substr(1);
  switch (line[0]) {
    case '+':
      return ReplyHeader{.type = RespType::kSimple, .text = rest};
    case '-':
      return ReplyHeader{.type = RespType::kError, .text = rest};
    case ':': {
      const auto integer = parse_integer(rest);
      if (!integer) return bad_reply(line, "not an integer");
      return ReplyHeader{.type = RespType::kInteger, .integer = *integer};
    }
    case '#':
      if (rest != "t" && rest != "f") return bad_reply(line, "not a boolean");
      return ReplyHeader{.type = RespType::kBoolean, .integer = rest == "t" ? 1 : 0};
    case ',': {
      const auto number = parse_double(rest);
      if (!number) return bad_reply(line, "not a double");
      return ReplyHeader{.type = RespType::kDouble, .number = *number};
    }
    case '(':
      if (!is_big_number(rest)) return bad_reply(line, "not a big number");
      return ReplyHeader{.type = RespType::kBigNumber, .text = rest};
    case '_':
      if (!rest.empty()) return bad_reply(line, "not a null");
      return ReplyHeader{};
    case '$':
      return parse_length(line, {.type = RespType::kBulk, .form = Form::kBytes}, limits.bulk_bytes_max);
    case '!':
      return parse_length(line, {.type = RespType::kError, .form = Form::kBytes}, limits.bulk_bytes_max);
    case '=':
      return parse_length(line, {.type = RespType::kVerbatim, .form = Form::kBytes}, limits.bulk_bytes_max);
    case '*':
      return parse_length(line, {.type = RespType::kArray, .form = Form::kParts}, limits.elements_max);
    case '~':
      return parse_length(line, {.type = RespType::kSet, .form = Form::kParts}, limits.elements_max);
    case '>':
      return parse_length(line, {.type = RespType::kPush, .form = Form::kParts}, limits.elements_max);
    case '%':
      return parse_length(line, {.type = RespType::kMap, .form = Form::kParts}, limits.elements_max);
    case '|':
      return parse_length(line, {.type = RespType::kMap, .form = Form::kAttribute}, limits.elements_max);
    default:
      return bad_reply(line, "no type of RESP begins like this; is it the port of another protocol?");
  }
}

Error endless_reply_line(std::string_view start) { return bad_reply(start, "its line does not end"); }

}  // namespace mete::wire
