// Text as it stands in commands, requests and files: integers, durations, patterns, and bytes made fit to print.
//
// Everything here is strict: what is not exactly right is refused, and nothing is corrected in silence.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mete::wire {

// A decimal integer as Redis has them: no sign '+', no spaces, no leading zeros, no "-0".
std::optional<std::int64_t> parse_integer(std::string_view text);

// "250ms", "1s", "5m", "1h", "30d"; a bare integer is seconds. The error says what is wrong with it.
Result<Duration> parse_duration(std::string_view text);

// Lower-case letters compared to lower-case letters, for ASCII alone.
bool equals_ignoring_case(std::string_view left, std::string_view right);

// In double quotes, as redis-cli prints: what is not printable ASCII becomes \n, \t, \xNN; at most `bytes_max` bytes of
// it are shown, then "…". For logs and messages: whatever a client sends, the line stays a line.
std::string quote(std::string_view bytes, std::size_t bytes_max = 128);
// The same in single quotes, as Redis has words in its errors.
std::string single_quote(std::string_view bytes);
// The bytes that quote() has made fit to print, without their quotes; what it would not have written stays as it is.
std::string unescape(std::string_view text);

// The length of the UTF-8 sequence at the front of `bytes`, which has one byte at least; 0 if there is none: overlong
// forms, surrogates and what lies above U+10FFFF included.
std::size_t utf8_length(std::string_view bytes);
bool is_utf8(std::string_view bytes);

// Patterns as KEYS and SCAN have them: * ? [abc] [a-z] [^a] and \ in front of a character that is meant as it is.
// Takes time in proportion to pattern × text at worst, whatever the pattern.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace mete::wire
