#include "wire/json.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/check.h"
#include "base/errors.h"
#include "wire/text.h"

namespace mete::wire {

namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }
// Of a string: ASCII that stands for itself.
bool is_plain(char byte) { return static_cast<signed char>(byte) >= 0x20 && byte != '"' && byte != '\\'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<JsonValue> read() {
    JsonValue value;
    skip_space();
    if (!read_value(value, 0)) return failure();
    skip_space();
    if (at_ != text_.size()) {
      fail("expected the end of the text, not " + here());
      return failure();
    }
    return value;
  }

 private:
  [[nodiscard]] Error failure() const {
    return base::invalid("JSON, at offset " + std::to_string(failed_at_) + ": " + reason_);
  }

  // Always false, for `return fail(…)`.
  bool fail(std::string reason) {
    failed_at_ = at_;
    reason_ = std::move(reason);
    return false;
  }

  [[nodiscard]] std::string here() const { return at_ < text_.size() ? quote(text_.substr(at_, 1)) : "the end"; }

  [[nodiscard]] bool next_is(char byte) const { return at_ < text_.size() && text_[at_] == byte; }

  bool skip(char byte) {
    if (!next_is(byte)) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  bool read_value(JsonValue& value, std::size_t depth) {
    if (++values_ > kJsonValuesMax) return fail("more than " + std::to_string(kJsonValuesMax) + " values");
    if (next_is('{') || next_is('[')) {
      if (depth == kJsonDepthMax) return fail("more than " + std::to_string(kJsonDepthMax) + " levels");
      return next_is('{') ? read_object(value.value.emplace<JsonObject>(), depth + 1)
                          : read_array(value.value.emplace<JsonArray>(), depth + 1);
    }
    if (next_is('"')) return read_string(value.value.emplace<std::string>());
    if (next_is('-') || (at_ < text_.size() && is_digit(text_[at_]))) return read_number(value);
    return read_word(value);
  }

  bool read_word(JsonValue& value) {
    const auto skip_word = [this](std::string_view word) {
      if (!text_.substr(at_).starts_with(word)) return false;
      at_ += word.size();
      return true;
    };
    if (skip_word("true")) {
      value.value = true;
    } else if (skip_word("false")) {
      value.value = false;
    } else if (!skip_word("null")) {
      return fail("expected a value, not " + here());
    }
    return true;
  }

  bool read_object(JsonObject& object, std::size_t depth) {
    ++at_;
    skip_space();
    if (skip('}')) return true;
    for (;;) {
      skip_space();
      if (!next_is('"')) return fail("expected a name in double quotes, not " + here());
      const std::size_t name_at = at_;
      JsonMember member;
      if (!read_string(member.name)) return false;
      if (!is_new(object, member.name, name_at)) return false;
      skip_space();
      if (!skip(':')) return fail("expected ':' after a name, not " + here());
      skip_space();
      if (!read_value(member.value, depth)) return false;
      object.push_back(std::move(member));
      skip_space();
      if (skip('}')) return true;
      if (!skip(',')) return fail("expected ',' or '}', not " + here());
    }
  }

  // Comparing with each is quick enough: there are kJsonMembersMax at most.
  bool is_new(const JsonObject& object, const std::string& name, std::size_t name_at) {
    const bool is_known =
        std::any_of(object.begin(), object.end(), [&](const JsonMember& member) { return member.name == name; });
    if (!is_known && object.size() < kJsonMembersMax) return true;
    at_ = name_at;
    if (is_known) return fail("the name " + quote(name) + " stands twice in one object");
    return fail("an object of more than " + std::to_string(kJsonMembersMax) + " members");
  }

  bool read_array(JsonArray& array, std::size_t depth) {
    ++at_;
    skip_space();
    if (skip(']')) return true;
    for (;;) {
      skip_space();
      if (!read_value(array.emplace_back(), depth)) return false;
      skip_space();
      if (skip(']')) return true;
      if (!skip(',')) return fail("expected ',' or ']', not " + here());
    }
  }

  std::size_t skip_digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ - start;
  }

  bool read_number(JsonValue& value) {
    const std::size_t start = at_;
    skip('-');
    const bool starts_with_zero = next_is('0');
    const std::size_t digits = skip_digits();
    if (digits == 0) return fail("expected a digit, not " + here());
    if (starts_with_zero && digits > 1) {
      at_ = start;
      return fail("a number with leading zeros");
    }
    if (skip('.') && skip_digits() == 0) return fail("expected a digit after '.', not " + here());
    if (skip('e') || skip('E')) {
      if (!skip('+')) skip('-');
      if (skip_digits() == 0) return fail("expected a digit of the exponent, not " + here());
    }
    const std::string_view number = text_.substr(start, at_ - start);
    if (const auto integer = parse_integer(number)) {
      value.value = *integer;
    } else {
      value.value = JsonNumber{std::string(number)};
    }
    return true;
  }

  bool read_string(std::string& string) {
    ++at_;
    for (;;) {
      const std::size_t run = at_;
      while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
      string.append(text_, run, at_ - run);
      if (at_ == text_.size()) return fail("a string without its closing quote");
      if (skip('"')) return true;
      if (next_is('\\') ? !read_escape(string) : !read_sequence(string)) return false;
    }
  }

  // What is neither plain ASCII nor an escape: a longer sequence, or a mistake.
  bool read_sequence(std::string& string) {
    if (static_cast<unsigned char>(text_[at_]) < 0x20) {
      return fail("a control character in a string, which must be written as an escape");
    }
    const std::size_t length = utf8_length(text_.substr(at_));
    if (length == 0) return fail("bytes that are not UTF-8");
    string.append(text_, at_, length);
    at_ += length;
    return true;
  }

  bool read_escape(std::string& string) {
    static constexpr std::string_view kEscapes = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (letter == 'u') return read_code_point(string);
    const std::size_t index = kEscapes.find(letter);
    if (index == std::string_view::npos) return fail("an unknown escape in a string");
    string += kMeanings[index];
    at_ += 2;
    return true;
  }

  // The \uXXXX at `at`.
  [[nodiscard]] std::optional<std::uint32_t> code_unit(std::size_t at) const {
    if (text_.size() < at + 6 || text_[at] != '\\' || text_[at + 1] != 'u') return std::nullopt;
    std::uint32_t code = 0;
    const char* start = text_.data() + at + 2;
    const auto [end, error] = std::from_chars(start, start + 4, code, 16);
    return error == std::errc() && end == start + 4 ? std::optional(code) : std::nullopt;
  }

  bool read_code_point(std::string& string) {
    const auto first = code_unit(at_);
    if (!first) return fail("\\u without four hexadecimal digits");
    std::uint32_t code = *first;
    std::size_t length = 6;
    if (code >= 0xD800 && code < 0xE000) {
      const auto second = code < 0xDC00 ? code_unit(at_ + 6) : std::nullopt;
      if (!second || *second < 0xDC00 || *second > 0xDFFF) return fail("a surrogate without its other half");
      code = 0x10000 + ((code - 0xD800) << 10) + (*second - 0xDC00);
      length = 12;
    }
    append_utf8(code, string);
    at_ += length;
    return true;
  }

  static void append_utf8(std::uint32_t code, std::string& string) {
    const auto continuation = [&](unsigned shift) { string += static_cast<char>(0x80U | ((code >> shift) & 0x3FU)); };
    if (code < 0x80) {
      string += static_cast<char>(code);
    } else if (code < 0x800) {
      string += static_cast<char>(0xC0U | code >> 6);
      continuation(0);
    } else if (code < 0x10000) {
      string += static_cast<char>(0xE0U | code >> 12);
      continuation(6);
      continuation(0);
    } else {
      string += static_cast<char>(0xF0U | code >> 18);
      continuation(12);
      continuation(6);
      continuation(0);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  std::size_t failed_at_ = 0;
  std::string reason_;
};

constexpr std::string_view kHex = "0123456789abcdef";

void append_control(unsigned char code, std::string& out) {
  static constexpr std::string_view kControls = "\b\f\n\r\t";
  static constexpr std::string_view kLetters = "bfnrt";
  const std::size_t index = kControls.find(static_cast<char>(code));
  out += '\\';
  if (index != std::string_view::npos) {
    out += kLetters[index];
    return;
  }
  out += "u00";
  out += kHex[code >> 4];
  out += kHex[code & 15U];
}

void append_string(std::string_view bytes, std::string& out) {
  out += '"';
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t plain_end = at;
    while (plain_end < bytes.size() && is_plain(bytes[plain_end])) ++plain_end;
    out.append(bytes, at, plain_end - at);
    at = plain_end;
    if (at == bytes.size()) break;
    const auto code = static_cast<unsigned char>(bytes[at]);
    if (code == '"' || code == '\\') {
      out += '\\';
      out += bytes[at++];
    } else if (code < 0x20) {
      append_control(code, out);
      ++at;
    } else if (const std::size_t length = utf8_length(bytes.substr(at)); length > 0) {
      out.append(bytes, at, length);
      at += length;
    } else {
      out += "\\\\x";
      out += kHex[code >> 4];
      out += kHex[code & 15U];
      ++at;
    }
  }
  out += '"';
}

}  // namespace

Result<JsonValue> read_json(std::string_view text) { return Reader(text).read(); }

JsonWriter& JsonWriter::name(std::string_view name) {
  separate();
  append_string(name, out_);
  out_ += layout_ == Layout::kIndented ? ": " : ":";
  follows_name_ = true;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view bytes) {
  separate();
  append_string(bytes, out_);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
  separate();
  char digits[20];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
  out_.append(digits, end);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(const JsonValue& value) {
  if (const auto* object = value.as<JsonObject>()) {
    begin_object();
    for (const JsonMember& member : *object) name(member.name).value(member.value);
    return end_object();
  }
  if (const auto* array = value.as<JsonArray>()) {
    begin_array();
    for (const JsonValue& element : *array) this->value(element);
    return end_array();
  }
  if (const auto* bytes = value.as<std::string>()) return string(*bytes);
  if (const auto* number = value.as<std::int64_t>()) return integer(*number);
  if (const auto* truth = value.as<bool>()) return boolean(*truth);
  separate();
  const auto* number = value.as<JsonNumber>();
  out_ += number != nullptr ? std::string_view(number->text) : "null";
  return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  ++depth_;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  CHECK(depth_ > 0 && !follows_name_);
  --depth_;
  if (needs_comma_) break_line();  // An empty one stays on its line.
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

// Before each name and each value: a comma where one is due.
void JsonWriter::separate() {
  if (!follows_name_) {
    if (needs_comma_) out_ += ',';
    if (depth_ > 0) break_line();
  }
  follows_name_ = false;
  needs_comma_ = true;
}

void JsonWriter::break_line() {
  if (layout_ == Layout::kCompact) return;
  out_ += '\n';
  out_.append(2 * depth_, ' ');
}

}  // namespace mete::wire
