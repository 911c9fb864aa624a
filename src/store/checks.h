// Checks of arguments: several at once, and before an act.
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

// Calls act() if the arguments are valid.
template <class Act>
auto checked(const Result<void>& ok, Act act) -> decltype(act()) {
  if (!ok) return tl::make_unexpected(ok.error());
  return act();
}

}  // namespace mete::store
