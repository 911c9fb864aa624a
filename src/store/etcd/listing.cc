#include "store/etcd/listing.h"
#include "base/try.h"

#include <iterator>
#include <limits>

namespace mete::store::etcd {

namespace {

constexpr std::size_t kPageMax = 10'000;

void add_entries(std::string_view prefix, const std::vector<KeyValue>& pairs, std::vector<EntryName>& entries) {
  for (const KeyValue& pair : pairs) {
    if (auto entry = entry_in(prefix, pair.key)) entries.push_back(std::move(*entry));
  }
}

}  // namespace

Result<Listed> list_after(Transactor& transactor, const KeyRange& range, const std::string& after,
                          std::size_t count_max, Values values) {
  const std::string begin = after.empty() ? range.begin : after + '\0';
  auto answer = TRY(transactor.run(
      {.reads = {{.key = begin,
                  .end = range.end,
                  .count_max = static_cast<std::int64_t>(std::clamp<std::size_t>(count_max, 1, kPageMax)),
                  .keys_only = values == Values::kNo}}}));
  RangeAnswer& read = answer.reads.front();
  return Listed{.pairs = std::move(read.found), .has_more = read.has_more};
}

Result<ListedEntries> list_by_hash(Transactor& transactor, const KeyRange& range, std::uint64_t cursor,
                                   std::size_t count) {
  const KeyRange rest = {.begin = position_of(range, cursor), .end = range.end};
  const auto page = TRY(list_after(transactor, rest, {}, count, Values::kNo));
  ListedEntries listed;
  add_entries(transactor.prefix(), page.pairs, listed.entries);
  if (!page.has_more) return listed;
  // The cursor says a hash: all keys that have the last one belong to this page.
  const std::uint64_t last = hash_in(range, page.pairs.back().key);
  const bool is_greatest = last == std::numeric_limits<std::uint64_t>::max();
  const KeyRange same = {.begin = {}, .end = is_greatest ? range.end : position_of(range, last + 1)};
  const auto others = TRY(list_after(transactor, same, page.pairs.back().key, kPageMax, Values::kNo));
  add_entries(transactor.prefix(), others.pairs, listed.entries);
  listed.cursor = is_greatest ? 0 : last + 1;
  return listed;
}

}  // namespace mete::store::etcd
