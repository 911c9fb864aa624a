#include "wire/glob.h"

#include <cstddef>
#include <utility>

namespace mete::wire {

namespace {

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
