// Going through the keys of a space, a page at a time, while everything goes on.
#pragma once

#include <mete/result.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/etcd/transactor.h"

namespace mete::store::etcd {

// Keys of a space, in their order, behind `after` (empty: from the start); fewer than `count_max`: these were the last.
struct Listed {
  std::vector<KeyValue> pairs;
  bool has_more = false;
};
enum class Values : bool { kNo, kYes };
Result<Listed> list_after(Transactor& transactor, const KeyRange& range, const std::string& after,
                          std::size_t count_max, Values values);

// About `count` keys by their hash, from the cursor on, as Store::scan() and Keys::scan() page. No value.
struct ListedEntries {
  std::vector<EntryName> entries;
  std::uint64_t cursor = 0;  // 0: these were the last
};
Result<ListedEntries> list_by_hash(Transactor& transactor, const KeyRange& range, std::uint64_t cursor,
                                   std::size_t count);

// Parts of a list, each no longer than that.
template <class T>
std::vector<std::span<const T>> in_portions(const std::vector<T>& all, std::size_t size) {
  std::vector<std::span<const T>> portions;
  for (std::size_t first = 0; first < all.size(); first += size) {
    portions.push_back(std::span(all).subspan(first, std::min(size, all.size() - first)));
  }
  return portions;
}

}  // namespace mete::store::etcd
