#include "store/mete/mete_store.h"

#include <algorithm>

#include "store/mete/url.h"

namespace mete::store::peers {

using enum Call::Repeat;

Result<std::unique_ptr<Store>> PeerStore::open(std::string_view url, const Options& options) {
  if (options.clock != nullptr) {
    return tl::make_unexpected(
        Error{ErrorCode::kInvalid, "clock: the Mete server has a clock of its own, which decides"});
  }
  const auto parsed = parse_url(url);
  if (!parsed) return tl::make_unexpected(parsed.error());
  auto group = PeerGroup::open(*parsed);
  if (!group) return tl::make_unexpected(group.error());
  return std::unique_ptr<Store>(new PeerStore(std::move(*group)));
}

std::string PeerStore::new_hold_id(std::span<const Charge> charges) const {
  return group_->new_id(charges.empty() ? std::string_view() : charges[0].key);
}

Result<UsagePage> PeerStore::do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) {
  return next_page<UsagePage>(*group_, cursor, [&](Peer& peer, std::uint64_t there) {
    return group_->ask<UsagePage>(peer, kIfLost, "STORE SCAN", ScanMessage{limit, there, count});
  });
}

Result<void> PeerStore::do_clear() {
  Result<void> done;
  for (const auto& peer : group_->peers()) {
    const auto reply = PeerGroup::ask_words(*peer, kIfLost, {"FLUSHALL"});
    if (!reply) done = tl::make_unexpected(reply.error());
  }
  return done;
}

StoreStatistics PeerStore::do_statistics() {
  StoreStatistics sum;
  for (const auto& peer : group_->peers()) {
    const auto there = group_->ask<StoreStatistics>(*peer, kIfLost, "STORE STATS");
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

}  // namespace mete::store::peers
