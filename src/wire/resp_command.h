// A command as clients send it: an array of bulk strings.
//
//     *3\r\n $4\r\nTAKE\r\n $3\r\napi\r\n $5\r\nalice\r\n        (without the spaces)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/decimal.h"

namespace mete::wire {

// "*3\r\n": what a command of so many words begins with.
inline void append_word_count(std::string& output, std::size_t count) {
  std::array<char, base::kDecimalBytesMax + 3> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): written here
  text[0] = '*';
  char* end = base::write_decimal(&text[1], static_cast<std::int64_t>(count));
  *end++ = '\r';
  *end++ = '\n';
  output.append(text.data(), end);
}

inline void append_word(std::string& output, std::string_view word) {
  std::array<char, base::kDecimalBytesMax + 3> text;  // NOLINT(cppcoreguidelines-pro-type-member-init): written here
  text[0] = '$';
  char* end = base::write_decimal(&text[1], static_cast<std::int64_t>(word.size()));
  *end++ = '\r';
  *end++ = '\n';
  output.append(text.data(), end);
  output += word;
  output += "\r\n";
}

inline void append_command(std::string& output, std::span<const std::string_view> words) {
  append_word_count(output, words.size());
  for (const std::string_view word : words) append_word(output, word);
}

inline std::string encode_command(std::span<const std::string_view> words) {
  std::string output;
  append_command(output, words);
  return output;
}

}  // namespace mete::wire
