// Text for people at a terminal: bytes that came from elsewhere made harmless, and numbers as people write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mete::cli {

// In single quotes if that shows it as it is, and escaped otherwise.
std::string shown(std::string_view word);
// As it is if no terminal can mistake it and its ends can be seen, and otherwise escaped, in double quotes. For
// columns.
std::string printable(std::string_view bytes);
// A message: what a terminal would obey is written as \xNN.
std::string escaped(std::string_view message);

std::string joined(const std::vector<std::string>& words, std::string_view between);

// How many columns the text takes; wide characters are counted as one.
std::size_t columns_of(std::string_view text);
// At most so many columns of it; what was cut ends with "…".
std::string cut(std::string_view text, std::size_t columns_max);

// "250 ms", "4.6 s", "2 min 5 s", "3 h", "12 d 4 h"; rounded up.
std::string duration_text(std::int64_t milliseconds);
// "in 6 s", "now", and "never" for -1.
std::string moment_text(std::int64_t milliseconds);
// "12,345"
std::string number_text(std::int64_t number);
std::string count_text(std::uint64_t count);
// "1 hold", "2 holds"
std::string count_text(std::uint64_t count, std::string_view noun);
// "512 B", "12.4 MB"
std::string size_text(std::int64_t bytes);

}  // namespace mete::cli
