// Patterns as KEYS and SCAN have them: * ? [abc] [a-z] [^a] and \ in front of a character that is meant as it is.
#pragma once

#include <string_view>

namespace mete::wire {

// Takes time in proportion to pattern × text at worst, whatever the pattern.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace mete::wire
