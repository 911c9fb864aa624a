#include "cli/frame/text.h"

#include <array>

#include "wire/text.h"

namespace mete::cli {

namespace {

// Characters that are no letters but orders: control characters, invisible ones, and those that turn the direction of
// what follows. `sequence` is valid UTF-8.
bool is_obeyed(std::string_view sequence) {
  const auto at = [&](std::size_t index) { return static_cast<unsigned char>(sequence[index]); };
  if (sequence.size() == 1) return at(0) < 0x20 || at(0) == 0x7F;
  if (sequence.size() == 2) return at(0) == 0xC2 && at(1) < 0xA0;  // U+0080 to U+009F
  if (sequence.size() != 3 || at(0) != 0xE2) return false;
  if (at(1) == 0x80) return (at(2) >= 0x8B && at(2) <= 0x8F) || (at(2) >= 0xA8 && at(2) <= 0xAE);  // U+200B, U+2028
  return at(1) == 0x81 && at(2) >= 0xA0 && at(2) <= 0xAF;                                          // U+2060 to U+206F
}

bool is_harmless(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = wire::utf8_length(bytes);
    if (length == 0 || is_obeyed(bytes.substr(0, length))) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

// Without the quotes.
std::string inner_quote(std::string_view bytes) {
  const std::string quoted = wire::quote(bytes, bytes.size());
  return quoted.substr(1, quoted.size() - 2);
}

std::string with_unit(std::int64_t number, std::string_view unit) {
  return std::to_string(number) + " " + std::string(unit);
}

// "2 min 5 s"; the smaller part is left out where it is nothing.
std::string two_parts(std::int64_t number, std::int64_t per_large, std::string_view large, std::string_view small) {
  const std::string text = with_unit(number / per_large, large);
  return number % per_large == 0 ? text : text + " " + with_unit(number % per_large, small);
}

std::int64_t round_up(std::int64_t number, std::int64_t unit) { return number / unit + (number % unit > 0 ? 1 : 0); }

// "4.6", and "4" for 40.
std::string tenths_text(std::int64_t tenths) {
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10));
}

}  // namespace

std::string shown(std::string_view word) {
  return is_harmless(word) ? "'" + std::string(word) + "'" : wire::quote(word);
}

std::string printable(std::string_view bytes) {
  const bool has_plain_ends = !bytes.empty() && bytes.front() != ' ' && bytes.back() != ' ' && bytes.front() != '"';
  return has_plain_ends && is_harmless(bytes) ? std::string(bytes) : wire::quote(bytes, bytes.size());
}

std::string escaped(std::string_view message) {
  std::string text;
  while (!message.empty()) {
    const std::size_t length = wire::utf8_length(message);
    const std::string_view sequence = message.substr(0, length == 0 ? 1 : length);
    text += length == 0 || is_obeyed(sequence) ? inner_quote(sequence) : std::string(sequence);
    message.remove_prefix(sequence.size());
  }
  return text;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != &words.front()) text += between;
    text += word;
  }
  return text;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (const char byte : text) columns += (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U ? 0 : 1;
  return columns;
}

std::string cut(std::string_view text, std::size_t columns_max) {
  if (columns_of(text) <= columns_max) return std::string(text);
  if (columns_max == 0) return {};
  std::size_t end = 0;
  for (std::size_t columns = 1; columns < columns_max; ++columns) {
    do {
      ++end;
    } while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string duration_text(std::int64_t milliseconds) {
  if (milliseconds < 1'000) return with_unit(milliseconds, "ms");
  if (milliseconds <= 9'900) return tenths_text(round_up(milliseconds, 100)) + " s";
  const std::int64_t seconds = round_up(milliseconds, 1'000);
  if (seconds < 60) return with_unit(seconds, "s");
  if (seconds < 3'600) return two_parts(seconds, 60, "min", "s");
  const std::int64_t minutes = round_up(seconds, 60);
  if (minutes < 1'440) return two_parts(minutes, 60, "h", "min");
  return two_parts(round_up(minutes, 60), 24, "d", "h");
}

std::string moment_text(std::int64_t milliseconds) {
  if (milliseconds < 0) return "never";
  return milliseconds == 0 ? "now" : "in " + duration_text(milliseconds);
}

std::string number_text(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t start = number < 0 ? 1 : 0;
  for (std::size_t place = text.size(); place > start + 3;) {
    place -= 3;
    text.insert(place, ",");
  }
  return text;
}

std::string count_text(std::uint64_t count) { return number_text(static_cast<std::int64_t>(count)); }

std::string count_text(std::uint64_t count, std::string_view noun) {
  return count_text(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string size_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"kB", "MB", "GB", "TB", "PB"};
  constexpr std::int64_t kStep = 1024;
  if (bytes < kStep) return with_unit(bytes, "B");
  std::size_t unit = 0;
  std::int64_t divisor = kStep;
  for (; bytes / divisor >= kStep && unit + 1 < kUnits.size(); divisor *= kStep) ++unit;
  const std::int64_t tenths = bytes / divisor * 10 + bytes % divisor * 10 / divisor;
  return tenths_text(tenths) + " " + std::string(kUnits[unit]);
}

}  // namespace mete::cli
