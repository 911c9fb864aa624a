// Eviction: an operation that finds no memory asks for some, once.
#pragma once

#include <mete/result.h>

namespace mete::engine {

// Tries, and once more if there was no memory and evict() made some. Called with no bucket locked.
template <class Attempt, class Evict>
auto try_with_eviction(Attempt attempt, Evict evict) {
  auto result = attempt();
  const bool is_full = !result && result.error().code == ErrorCode::kOutOfMemory;
  if (is_full && evict()) result = attempt();
  return result;
}

}  // namespace mete::engine
