// Hash tags: keys that have the same text in braces lie together, wherever keys are spread over several servers.
#pragma once

#include <string_view>

namespace mete::store {

// What stands between the first '{' and the next '}', if there is anything; else the whole key.
inline std::string_view hashed_part(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace mete::store
