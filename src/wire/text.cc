#include "wire/text.h"
#include "base/errors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace mete::wire {

namespace {

struct DurationUnit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<DurationUnit, 5> kDurationUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

char to_lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

Error bad_duration(std::string_view text, std::string_view reason) {
  return base::invalid(quote(text) + " is not a duration: " + std::string(reason) +
                       "; write it as 250ms, 1s, 5m, 1h or 30d");
}

// Matches one character against the element of the pattern at `at`, which is not '*', and moves `at` behind it.
bool matches_one(std::string_view pattern, std::size_t& at, char byte) {
  const auto code = [](char letter) { return static_cast<unsigned char>(letter); };
  const char element = pattern[at++];
  if (element == '?') return true;
  if (element == '\\' && at < pattern.size()) return pattern[at++] == byte;
  if (element != '[') return element == byte;
  const bool is_negated = at < pattern.size() && pattern[at] == '^';
  if (is_negated) ++at;
  bool is_found = false;
  while (at < pattern.size() && pattern[at] != ']') {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
    char low = pattern[at++];
    char high = low;
    if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
      high = pattern[at + 1];
      at += 2;
      if (code(low) > code(high)) std::swap(low, high);
    }
    is_found = is_found || (code(low) <= code(byte) && code(byte) <= code(high));
  }
  if (at < pattern.size()) ++at;
  return is_found != is_negated;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  // What a request says is nearly always a few digits and nothing else.
  constexpr std::size_t kDigitsUsual = 18;  // which never overflow
  if (text.size() - 1 < kDigitsUsual && text[0] >= '1' && text[0] <= '9') {
    std::int64_t value = 0;
    for (const char byte : text) {
      const std::uint32_t digit = static_cast<unsigned char>(byte) - std::uint32_t{'0'};
      if (digit > 9) return std::nullopt;
      value = value * 10 + digit;
    }
    return value;
  }
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  if (digits[0] == '0' && text.size() > 1) return std::nullopt;
  std::int64_t value = 0;
  if (text.size() < std::numeric_limits<std::int64_t>::digits10) {  // no overflow to look for, as nearly always
    for (const char digit : digits) {
      if (digit < '0' || digit > '9') return std::nullopt;
      value = value * 10 + (digit - '0');
    }
    return digits.size() == text.size() ? value : -value;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Duration> parse_duration(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit_name = text.substr(digits);
  const auto number = parse_integer(text.substr(0, digits));
  if (digits == 0) return bad_duration(text, "it does not start with a number");
  if (!number) return bad_duration(text, "its number is out of range or has leading zeros");
  std::int64_t unit_ms = unit_name.empty() ? 1'000 : 0;
  for (const DurationUnit& unit : kDurationUnits) {
    if (unit.name == unit_name) unit_ms = unit.ms;
  }
  if (unit_name.starts_with('.')) {
    return bad_duration(text, "its number must be whole: use a smaller unit");
  }
  if (unit_ms == 0) return bad_duration(text, "unknown unit");
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(*number, unit_ms * 1'000'000, &ns)) {
    return bad_duration(text, "it is longer than 292 years");
  }
  return Duration(std::chrono::nanoseconds(ns));
}

bool equals_ignoring_case(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return to_lower(a) == to_lower(b); });
}

std::string quote(std::string_view bytes, std::size_t bytes_max) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\"";
  for (const char byte : bytes.substr(0, bytes_max)) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      text += '\\';
      text += byte;
    } else if (code >= 0x20 && code < 0x7F) {
      text += byte;
    } else if (byte == '\n') {
      text += "\\n";
    } else if (byte == '\r') {
      text += "\\r";
    } else if (byte == '\t') {
      text += "\\t";
    } else {
      text += "\\x";
      text += kHex[code >> 4];
      text += kHex[code & 15U];
    }
  }
  if (bytes.size() > bytes_max) text += "…";
  return text += '"';
}

std::string unescape(std::string_view text) {
  const auto hex_byte = [](std::string_view digits) -> std::optional<char> {
    unsigned code = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    return static_cast<char>(code);
  };
  constexpr std::string_view kNames = "\"\\nrt";
  constexpr std::string_view kBytes = "\"\\\n\r\t";
  std::string bytes;
  while (!text.empty()) {
    const char letter = text.size() > 1 && text[0] == '\\' ? text[1] : '\0';
    const std::size_t known = letter == '\0' ? std::string_view::npos : kNames.find(letter);
    const auto code = letter == 'x' ? hex_byte(text.substr(2, 2)) : std::nullopt;
    if (code) {
      bytes += *code;
      text.remove_prefix(4);
    } else if (known != std::string_view::npos) {
      bytes += kBytes[known];
      text.remove_prefix(2);
    } else {
      bytes += text[0];
      text.remove_prefix(1);
    }
  }
  return bytes;
}

std::string single_quote(std::string_view bytes) {
  std::string text = quote(bytes);
  text.front() = text.back() = '\'';
  return text;
}

std::size_t utf8_length(std::string_view bytes) {
  const auto at = [&](std::size_t index) {
    return index < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[index])) : 0U;
  };
  const auto continues = [&](std::size_t from, std::size_t to) {
    for (std::size_t index = from; index < to; ++index) {
      if ((at(index) & 0xC0U) != 0x80U) return false;
    }
    return true;
  };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return continues(1, 2) ? 2 : 0;
  if (lead < 0xF0) {
    if ((lead == 0xE0 && at(1) < 0xA0) || (lead == 0xED && at(1) > 0x9F)) return 0;
    return continues(1, 3) ? 3 : 0;
  }
  if (lead > 0xF4 || (lead == 0xF0 && at(1) < 0x90) || (lead == 0xF4 && at(1) > 0x8F)) return 0;
  return continues(1, 4) ? 4 : 0;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

// When something behind a '*' does not match, only the last '*' can take more: earlier ones need not be tried again.
bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t read = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_read = 0;
  while (read < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      star_read = read;
      continue;
    }
    std::size_t next = at;
    if (at < pattern.size() && matches_one(pattern, next, text[read])) {
      at = next;
      ++read;
      continue;
    }
    if (star == std::string_view::npos) return false;
    at = star;
    read = ++star_read;
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace mete::wire
