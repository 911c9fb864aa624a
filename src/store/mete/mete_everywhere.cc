// What every server has a part of, or all of: limits, listings, counts.

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/errors.h"
#include "base/try.h"
#include "store/mete/mete_store.h"

namespace mete::store::servers {

namespace {

// One server has not done what the others may have.
Error only_at_the_others(const Error& error, const Server& server, std::string_view name) {
  if (error.code != ErrorCode::kUnavailable) return error;
  return {error.code, error.message + "; limit '" + std::string(name) + "' may be as it was at " +
                          server.address().to_string() + ": repeat this when it answers, which is safe"};
}

// The lists of all servers, one behind the other.
template <class What>
Result<typename What::Answer> join(ServerGroup& group, const What& operation) {
  typename What::Answer all;
  for (const auto& server : group.servers()) {
    auto some = TRY(group.ask(*server, operation));
    all.insert(all.end(), std::move_iterator(some.begin()), std::move_iterator(some.end()));
  }
  return all;
}

// A page of a listing that goes through one server after the other. Its cursor is the cursor there, times the number of
// servers, plus the number of the server.
template <class What>
Result<typename What::Answer> next_page(ServerGroup& group, What scan) {
  const std::size_t count = group.servers().size();
  const std::uint64_t number = scan.cursor % count;
  scan.cursor /= count;
  auto page = TRY(group.ask(*group.servers()[number], scan));
  if (page.cursor == 0) {
    page.cursor = number + 1 < count ? number + 1 : 0;
  } else if (__builtin_mul_overflow(page.cursor, std::uint64_t{count}, &page.cursor) ||
             __builtin_add_overflow(page.cursor, number, &page.cursor)) {
    return base::invalid("too many servers behind each other for a listing");
  }
  return page;
}

}  // namespace

Result<void> MeteStore::perform(const core::Define& define) {
  Result<void> done;
  for (const auto& server : group_->servers()) {
    const auto there = group_->ask(*server, define);
    if (!there && done) done = only_at_the_others(there.error(), *server, define.limit.name());
  }
  return done;
}

Result<bool> MeteStore::perform(const core::Drop& drop) {
  Result<bool> was_there = false;
  for (const auto& server : group_->servers()) {
    const auto there = group_->ask(*server, drop);
    if (!was_there.has_value()) continue;
    if (there.has_value()) {
      was_there = *was_there || *there;
    } else {
      was_there = only_at_the_others(there.error(), *server, drop.name);
    }
  }
  return was_there;
}

// Those that are known to be away come last: each has them all, so nobody waits for these if another one answers.
Result<std::optional<Limit>> MeteStore::perform(const core::FindLimit& find) {
  std::vector<Server*> order;
  for (const auto& server : group_->servers()) order.push_back(server.get());
  std::stable_partition(order.begin(), order.end(), [](const Server* server) { return !server->lines().is_away(); });
  std::optional<Error> absence;
  std::size_t absent = 0;
  for (Server* server : order) {
    auto there = group_->ask(*server, find);
    if (there.has_value() && there->has_value()) return there;
    if (there.has_value()) continue;
    if (!absence) absence = there.error();
    ++absent;
  }
  if (absent == group_->servers().size()) return *absence;
  return std::nullopt;
}

Result<std::vector<std::string>> MeteStore::perform(const core::ListLimits& list) {
  std::vector<std::string> names;
  std::optional<Error> absence;
  std::size_t absent = 0;
  for (const auto& server : group_->servers()) {
    const auto there = group_->ask(*server, list);
    if (there) {
      names.insert(names.end(), there->begin(), there->end());
    } else {
      absence = there.error();
      ++absent;
    }
  }
  if (absent == group_->servers().size()) return *absence;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<std::vector<std::string>> MeteStore::perform(const core::ListTagged& list) { return join(*group_, list); }

Result<std::vector<HoldInfo>> MeteStore::perform(const core::OldestHolds& oldest) {
  std::vector<HoldInfo> all = TRY(join(*group_, oldest));
  std::ranges::stable_sort(all, std::greater(), &HoldInfo::age);
  if (all.size() > oldest.count_max) all.resize(oldest.count_max);
  return all;
}

Result<UsagePage> MeteStore::perform(const core::ScanUsage& scan) { return next_page(*group_, scan); }

Result<core::KeyPage> MeteStore::perform(const core::ScanKeys& scan) { return next_page(*group_, scan); }

Result<std::size_t> MeteStore::perform(const core::CountKeys& count) {
  std::size_t sum = 0;
  for (const auto& server : group_->servers()) sum += TRY(group_->ask(*server, count));
  return sum;
}

Result<void> MeteStore::perform(const core::Clear& clear) {
  Result<void> done;
  for (const auto& server : group_->servers()) {
    if (auto there = group_->ask(*server, clear); !there) done = std::move(there);
  }
  return done;
}

namespace {

using Count = StoreStatistics::Count;

constexpr Count StoreStatistics::*kSummed[] = {&StoreStatistics::rules,         &StoreStatistics::meters,
                                               &StoreStatistics::overrides,     &StoreStatistics::keys,
                                               &StoreStatistics::expiring_keys, &StoreStatistics::ids,
                                               &StoreStatistics::open_holds,    &StoreStatistics::expired_holds,
                                               &StoreStatistics::orphans,       &StoreStatistics::memory_bytes};

void add_count(Count& sum, Count more) {
  if (more) sum = sum.value_or(0) + *more;
}

}  // namespace

Result<StoreStatistics> MeteStore::perform(const core::ReadStatistics& read) {
  StoreStatistics sum;
  bool is_whole = true;
  for (const auto& server : group_->servers()) {
    const auto there = group_->ask(*server, read);
    is_whole = is_whole && there.has_value();
    if (!there) continue;
    for (const auto count : kSummed) add_count(sum.*count, (*there).*count);
    sum.unrecorded_admissions += there->unrecorded_admissions;
    if (there->id_retention)
      sum.id_retention = std::min(sum.id_retention.value_or(*there->id_retention), *there->id_retention);
  }
  if (!is_whole) {
    for (const auto count : kSummed) sum.*count = std::nullopt;
  }
  return sum;
}

}  // namespace mete::store::servers
