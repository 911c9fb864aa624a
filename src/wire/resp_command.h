// A command as clients send it: an array of bulk strings.
//
//     *3\r\n $4\r\nTAKE\r\n $3\r\napi\r\n $5\r\nalice\r\n        (without the spaces)
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mete::wire {

inline void append_command(std::string& output, std::span<const std::string_view> words) {
  output += '*';
  output += std::to_string(words.size());
  output += "\r\n";
  for (const std::string_view word : words) {
    output += '$';
    output += std::to_string(word.size());
    output += "\r\n";
    output += word;
    output += "\r\n";
  }
}

inline std::string encode_command(std::span<const std::string_view> words) {
  std::string output;
  append_command(output, words);
  return output;
}

}  // namespace mete::wire
