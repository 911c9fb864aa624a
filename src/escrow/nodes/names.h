// What a node of a cluster may be called.
#pragma once

#include <cstddef>
#include <string_view>

namespace mete::escrow {

inline constexpr std::size_t kNodeNameBytesMax = 64;

// 1 to 64 letters, digits, '.', '_' and '-': what can stand in ids, in labels of metrics and in logs as it is.
inline bool is_node_name(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.size() <= kNodeNameBytesMax &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace mete::escrow
