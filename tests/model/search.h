// How long to search in one store: METE_SEED replays one history; METE_TEST_LONG=1 runs many more. For both kinds of
// search, Search and KeySearch, and for the stores that tests name.
#pragma once

#include <cstdlib>

#include "support/long_form.h"

namespace mete::model {

inline constexpr int kSlownessOfMete = 8;
inline constexpr int kBrevityOfEtcd = 3;

template <class AnySearch>
AnySearch search_from_environment() {
  AnySearch search;
  if (const char* seed = std::getenv("METE_SEED")) {
    search.seed = std::strtoull(seed, nullptr, 10);
    search.histories = 1;
  } else if (support::is_long_form()) {
    search.histories = 100'000;
  } else {
    search.histories = static_cast<int>(support::search_size(static_cast<std::uint64_t>(search.histories)));
  }
  return search;
}

template <class AnySearch, class AnyStoreCase>
AnySearch search_for(const AnyStoreCase& store) {
  auto search = search_from_environment<AnySearch>();
  const int share = store.slowness * (support::is_long_form() ? 1 : store.brevity);
  search.histories = (search.histories + share - 1) / share;
  search.times = store.times;
  return search;
}

}  // namespace mete::model
