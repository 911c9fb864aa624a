#include "store/mete/mete_store.h"

#include <algorithm>

#include "store/mete/url.h"

namespace mete::store::servers {

using enum Call::Repeat;

Result<std::unique_ptr<Store>> MeteStore::open(std::string_view url, const Options& options) {
  if (options.clock != nullptr) {
    return tl::make_unexpected(
        Error{ErrorCode::kInvalid, "clock: the Mete server has a clock of its own, which decides"});
  }
  const auto parsed = parse_url(url);
  if (!parsed) return tl::make_unexpected(parsed.error());
  auto group = ServerGroup::open(*parsed);
  if (!group) return tl::make_unexpected(group.error());
  return std::unique_ptr<Store>(new MeteStore(std::move(*group)));
}

std::string MeteStore::new_hold_id(std::span<const Charge> charges) const {
  return group_->new_id(charges.empty() ? std::string_view() : charges[0].key);
}

Result<UsagePage> MeteStore::do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) {
  return next_page<UsagePage>(*group_, cursor, [&](Server& server, std::uint64_t there) {
    return group_->ask<UsagePage>(server, kIfLost, "STORE SCAN", ScanMessage{limit, there, count});
  });
}

Result<void> MeteStore::do_clear() {
  Result<void> done;
  for (const auto& server : group_->servers()) {
    const auto reply = ServerGroup::ask_words(*server, kIfLost, {"FLUSHALL"});
    if (!reply) done = tl::make_unexpected(reply.error());
  }
  return done;
}

StoreStatistics MeteStore::do_statistics() {
  StoreStatistics sum;
  for (const auto& server : group_->servers()) {
    const auto there = group_->ask<StoreStatistics>(*server, kIfLost, "STORE STATS");
    if (!there) continue;                              // what is not known is not counted
    sum.limits = std::max(sum.limits, there->limits);  // each has them all
    sum.rules += there->rules;
    sum.meters += there->meters;
    sum.overrides += there->overrides;
    sum.keys += there->keys;
    sum.expiring_keys += there->expiring_keys;
    sum.ids += there->ids;
    sum.open_holds += there->open_holds;
    sum.expired_holds += there->expired_holds;
    if (there->orphans) sum.orphans = sum.orphans.value_or(0) + *there->orphans;
    sum.unrecorded_admissions += there->unrecorded_admissions;
    sum.memory_bytes += there->memory_bytes;
  }
  sum.unrecorded_admissions += unrecorded_admissions_.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace mete::store::servers
