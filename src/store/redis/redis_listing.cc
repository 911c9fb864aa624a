// Listings: they walk through Redis's keys by SCAN, node by node, while everything goes on.

#include <algorithm>

#include "base/try.h"
#include "store/redis/names.h"
#include "store/redis/redis_store.h"
#include "store/redis/replies.h"

namespace mete::store::redis {

namespace {

constexpr std::size_t kScanCount = 1000;
constexpr std::size_t kScanCountMin = 100;

}  // namespace

Result<UsagePage> RedisStore::perform(const core::ScanUsage& scan) {
  Book known = book();
  TRY(find_limit(known, scan.limit));
  UsagePage page{.cursor = scan.cursor, .keys = {}};
  // Redis may hold much else: a page is full when enough of this scan.limit's keys were met.
  do {
    auto names = TRY(scan_masters(*link_, meter_pattern(scan.limit), page.cursor,
                                  std::clamp(scan.count, kScanCountMin, kScanCount)));
    page.cursor = names.cursor;
    // SCAN may tell a key twice while Redis resizes its table.
    std::sort(names.names.begin(), names.names.end());
    names.names.erase(std::unique(names.names.begin(), names.names.end()), names.names.end());
    TRY(add_usages(scan.limit, names.names, page.keys));
  } while (page.cursor != 0 && page.keys.size() < scan.count);
  return page;
}

// The keys in use among the meters of these names, looked at together.
Result<void> RedisStore::add_usages(std::string_view limit, std::span<const std::string> names,
                                    std::vector<KeyUsage>& keys) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    auto meter = parse_meter_key(name);
    if (meter && meter->limit == limit) found.push_back(std::move(meter->key));
  }
  if (found.empty()) return {};
  std::vector<Charge> charges;
  charges.reserve(found.size());
  for (const std::string& key : found) charges.push_back({.limit = limit, .key = key, .cost = 0});
  const auto looked = TRY(look_by([&] { return list_each(charges); }));
  for (const auto& image : looked.images) {
    const engine::MeterAccess& meter = image->access();
    if (meter.used() > 0) keys.push_back({std::string(meter.key), meter.usage()});
  }
  return {};
}

Result<std::vector<HoldInfo>> RedisStore::perform(const core::OldestHolds& oldest) {
  std::vector<HoldInfo> holds;
  std::uint64_t cursor = 0;
  do {
    const auto page = TRY(scan_masters(*link_, kIdPattern, cursor, kScanCount));
    for (const std::string& name : page.names) {
      const auto id = parse_id_key(name, is_cluster_);
      if (!id) continue;
      const auto found = TRY(perform(core::FindHold{id->id}));
      if (found && found->state == HoldState::kHeld) holds.push_back(*found);
    }
    cursor = page.cursor;
  } while (cursor != 0);
  const auto is_older = [](const HoldInfo& a, const HoldInfo& b) { return a.age > b.age; };
  std::sort(holds.begin(), holds.end(), is_older);
  const auto is_same = [](const HoldInfo& a, const HoldInfo& b) { return a.id == b.id; };
  holds.erase(std::unique(holds.begin(), holds.end(), is_same), holds.end());
  if (holds.size() > oldest.count_max) holds.resize(oldest.count_max);
  return holds;
}

// A meter's expiry is that of the rule it was written under. When that changes, usage must last longer than that: so
// the expiries go, and come back as each meter is brought to the new rule. Until they do, the margin keeps what is
// about to expire.
Result<void> RedisStore::keep_meters(std::string_view limit) {
  std::uint64_t cursor = 0;
  do {
    const auto page = TRY(scan_masters(*link_, meter_pattern(limit), cursor, kScanCount));
    Batch batch;
    for (const std::string& name : page.names) {
      batch.add(name, {"PERSIST", name});
      batch.add(name, {"PERSIST", held_key(name)});
    }
    Replies replies;
    link_->run(batch, replies);
    for (const Result<wire::RespValue>& reply : replies) {
      if (!reply) return reply.error();
    }
    cursor = page.cursor;
  } while (cursor != 0);
  has_leftovers_.store(true);
  return {};
}

// Meters that no limit can reach any more, or that were cleared, take room until they are deleted, and nothing else: so
// this is done a page at a time, behind everything. Returns where to go on; 0 at the end.
Result<std::uint64_t> RedisStore::sweep_leftovers(std::uint64_t cursor) {
  const auto page = TRY(scan_masters(*link_, kMeterPattern, cursor, kScanCount));
  for (const std::string& name : page.names) {
    const auto meter = parse_meter_key(name);
    if (!meter) continue;
    const auto value = TRY(run_command(name, {"GET", name}));
    // The limit is looked up after the value: one that was written since is not touched.
    TRY(refresh_book_if_changed());
    const Book known = book();
    if (const KnownLimit* limit = known->find(meter->limit)) {
      if (MeterImage::is_of_present_revision(*limit, value.text)) continue;
      TRY(catch_up(*limit, meter->key));
    } else {
      const std::string arguments[] = {value.text, "", "", "", ""};
      TRY(run_script(StoreScript::kReplace, {&name, 1}, arguments));
    }
  }
  return page.cursor;
}

}  // namespace mete::store::redis
