// Checks of several arguments at once.
#pragma once

#include <mete/result.h>

#include <utility>

namespace mete::store {

// The first of several checks that fails.
template <class... Checks>
Result<void> all_of(Result<void> first, Checks... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return first;
  } else {
    return first ? all_of(std::move(rest)...) : first;
  }
}

}  // namespace mete::store
