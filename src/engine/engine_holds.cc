// Holds: charges set aside under an id, and what becomes of them.

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <iterator>
#include <map>
#include <memory>

#include "base/check.h"
#include "base/try.h"
#include "core/refusals.h"
#include "engine/admission.h"
#include "engine/engine.h"
#include "engine/operation.h"

namespace mete::engine {

namespace {

HoldInfo info_of(std::string_view id, const OperationRecord& record, Instant now) {
  const HoldRecord& hold = *record.hold;
  HoldInfo info{.id = std::string(id),
                .state = hold.state_at(now),
                .expires_in = {},
                .age = now - record.made_at,
                .tag = hold.tag,
                .charges = {}};
  if (info.state == HoldState::kHeld) info.expires_in = hold.expires_at - now;
  for (const HoldCharge& charge : hold.charges) info.charges.push_back({charge.limit, charge.key, charge.units});
  return info;
}

using PartKeys = boost::container::static_vector<OpenPart, kChargesMax>;
PartKeys part_keys(const HoldRecord& hold) {
  PartKeys keys;
  for (std::size_t i = 0; i < hold.charges.size(); ++i) keys.push_back(part_key(hold, i));
  return keys;
}

Result<void> check_amount_count(const HoldRecord& hold, std::span<const Amount> amounts) {
  const std::size_t count = hold.charges.size();
  if (amounts.empty() || amounts.size() == count) return {};
  return core::wrong_amount_count(count, amounts.size());
}

bool has_units(const HoldRecord& hold, std::span<const Amount> amounts) {
  return std::ranges::equal(hold.charges, amounts, {}, &HoldCharge::units);
}

}  // namespace

Result<core::Verdict> Engine::hold(const Hold& request, Instant now) {
  return with_eviction(now, [&] { return try_hold(request, now); });
}

Result<core::Verdict> Engine::try_hold(const Hold& request, Instant now) {
  const OperationId id = ids_.named(request.id);
  keyspace_.prefetch_bucket(id.hash);  // while the meters are hashed
  Operation operation = prepare(request.charges);
  operation.hashes.push_back(id.hash);
  if (!request.tag.empty()) operation.hashes.push_back(tags_.hash_of(request.tag));
  const Keyspace::GuardAll guard(keyspace_, operation.hashes);
  const std::uint64_t fingerprint = ids_.fingerprint(
      {.kind = OperationKind::kHold, .charges = request.charges, .ttl = request.ttl, .tag = request.tag});
  auto seen = TRY(OperationIds::replay(find_id(id, now), fingerprint));
  if (seen) return *seen;

  TRY(open_all(operation, now));
  const core::Verdict verdict = admit(operation.meters, Mode::kTake);
  if (verdict.is_allowed || !request.is_id_random) {
    const OperationRecord record{.fingerprint = fingerprint, .made_at = floor_.at_least(now), .verdict = verdict};
    TRY(keep_hold(operation, id, request, record));
  }
  tell_usages(operation.meters, request.usages);
  tell(operation);
  return verdict;
}

// Makes every entry that is needed before it changes anything, so that a lack of memory leaves nothing half done.
// Entries that were made in vain are empty, and swept away.
Result<void> Engine::keep_hold(Operation& operation, const OperationId& id, const Hold& request,
                               OperationRecord record) {
  auto id_entry = TRY(ids_.insert(id, operation.meters.front().limit));
  if (record.verdict.is_allowed) {
    bool has_room = request.tag.empty() || tags_.make_entry(request.tag);
    for (MeterAccess& meter : operation.meters) {
      if (has_room && !meter.is_left_out) has_room = meters_.make_entry(meter) && meters_.make_parts(meter) != nullptr;
    }
    if (!has_room) {
      ids_.forget(*id_entry);
      return memory_.out_of_memory();
    }
    record.hold = open_hold(operation, request, record.made_at).release();
  }
  ids_.fill(*id_entry, record);
  note_operation(operation, request.id, record);
  return {};
}

// Charges the meters and gives each its part. Every entry is there.
std::unique_ptr<HoldRecord> Engine::open_hold(Operation& operation, const Hold& request, Instant now) {
  auto hold = std::make_unique<HoldRecord>();
  hold->serial = next_serial_.fetch_add(1, std::memory_order_relaxed);
  hold->expires_at = now + request.ttl;
  hold->tag = request.tag;
  hold->charges.reserve(request.charges.size());
  boost::container::static_vector<const OpenPart*, kChargesMax> parts;  // by charge; null: nothing is held for it
  for (std::size_t i = 0; i < request.charges.size(); ++i) {
    const Charge& charge = request.charges[i];
    const auto is_on = [i](const MeterAccess& meter) { return (meter.charges >> i & 1U) != 0; };
    const MeterAccess& meter = *std::find_if(operation.meters.begin(), operation.meters.end(), is_on);
    hold->charges.push_back({.limit = std::string(charge.limit),
                             .key = std::string(charge.key),
                             .hash = meter.hash,
                             .generation = meter.limit->generation,
                             .units = charge.cost,
                             .is_backed = !meter.is_left_out});
    parts.push_back(nullptr);
    if (meter.is_left_out) continue;
    OpenPart part = part_key(*hold, i);
    part.units = charge.cost;
    part.made_at = meter.moment.now;
    part.id = request.id;
    parts.back() = &Meters::add_part(meter, part);
  }
  for (const MeterAccess& meter : operation.meters) {
    if (meter.is_left_out) continue;
    Meters::write(meter);
    if (recorder_.is_on()) note_new_parts(operation, meter, parts);
  }
  if (!request.tag.empty()) tags_.put(request.tag, request.id, hold->expires_at);
  open_holds_.fetch_add(1, std::memory_order_relaxed);
  return hold;
}

// A meter with the parts that a new hold has of it: `parts` has one for each charge.
void Engine::note_new_parts(Operation& operation, const MeterAccess& meter, std::span<const OpenPart* const> parts) {
  MeterChange change = Recorder::change_of(meter);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if ((meter.charges >> i & 1U) != 0) change.added.push_back(Recorder::change_of(*parts[i]));
  }
  write_change(operation.record, change);
}

// The meters of a hold whose parts were taken away, or put off, and the hold itself. `parts_before`: their keys.
void Engine::note_hold(HoldOperation& operation, std::span<const OpenPart> parts_before) {
  if (!recorder_.is_on()) return;
  const HoldRecord& hold = *operation.hold;
  for (const MeterAccess& meter : operation.meters) {
    MeterChange change = Recorder::change_of(meter);
    for (std::size_t i = 0; i < parts_before.size(); ++i) {
      if (operation.meter_of_charge[i] != &meter) continue;
      change.removed.push_back(Recorder::change_of(parts_before[i]));
      if (hold.state != HoldState::kHeld) continue;
      change.added.push_back(Recorder::change_of(Meters::find_part(meter, part_key(hold, i))));
    }
    write_change(operation.record, change);
  }
  write_operation(operation.record, operation.id.text, operation.entry->load<OperationRecord>());
  tell(operation);
}

// Which buckets an operation on a hold must lock; false if there is none. Wants the lock of the id's bucket.
bool Engine::address_hold(const OperationId& id, const HoldRecord* hold, HoldOperation& operation) const {
  if (hold == nullptr) return false;
  operation.id = id;
  operation.serial = hold->serial;
  operation.hashes.push_back(id.hash);
  if (!hold->tag.empty()) operation.hashes.push_back(tags_.hash_of(hold->tag));
  for (const HoldCharge& charge : hold->charges) operation.hashes.push_back(charge.hash);
  return true;
}

// Calls use() with an open hold, and with its meters opened; or ended() with one that is over, and its state. The locks
// that are needed are known only once the hold has been seen, so it is looked up twice, and again if another hold has
// taken its place in between.
template <class Use, class Ended>
auto Engine::with_open_hold(std::string_view id, Instant now, Use use, Ended ended)
    -> decltype(use(std::declval<HoldOperation&>())) {
  const OperationId named = ids_.named(id);
  for (;;) {
    HoldOperation operation;
    const bool is_there = [&] {
      const Keyspace::Guard guard(keyspace_, named.hash);
      return address_hold(named, OperationIds::hold_of(find_id(named, now)), operation);
    }();
    if (!is_there) return core::no_hold(id);
    const Keyspace::GuardAll guard(keyspace_, operation.hashes);
    operation.entry = ids_.find(named);
    operation.hold = OperationIds::hold_of(operation.entry);
    if (operation.hold == nullptr || operation.hold->serial != operation.serial) continue;
    operation.now = floor_.at_least(now);
    open_charges(operation);
    // A limit that was redefined after `now` has just let parts expire up to that instant, and raised the floor.
    operation.now = floor_.at_least(operation.now);
    const HoldState state = operation.hold->state_at(operation.now);
    if (state != HoldState::kHeld) return ended(*operation.hold, state);
    return use(operation);
  }
}

void Engine::open_charges(HoldOperation& operation) {
  for (const HoldCharge& charge : operation.hold->charges) {
    MeterAccess* found = nullptr;
    for (MeterAccess& meter : operation.meters) {
      if (meter.limit_name == charge.limit && meter.key == charge.key) found = &meter;
    }
    if (found == nullptr && charge.is_backed) {
      MeterAccess& meter = operation.meters.emplace_back();
      meters_.address({.limit = charge.limit, .key = charge.key, .cost = 0}, meter);
      const bool is_there = meters_.open(meter, operation.now) && meter.limit->generation == charge.generation;
      if (is_there) {
        found = &meter;
      } else {
        operation.meters.pop_back();
      }
    }
    operation.meter_of_charge.push_back(charge.is_backed ? found : nullptr);
  }
}

Result<Settlement> Engine::commit(const Commit& request, Instant now) {
  const auto settle = [&](HoldOperation& operation) { return settle_commit(operation, request); };
  return with_open_hold(request.id, now, settle, [&](const HoldRecord& hold, HoldState state) -> Result<Settlement> {
    if (state != HoldState::kCommitted || !hold.end.is_known) return core::not_open(request.id, state);
    TRY(check_amount_count(hold, request.amounts));
    const bool is_same = request.amounts.empty() ? hold.end.is_of_all : has_units(hold, request.amounts);
    if (!is_same) return core::committed_otherwise(request.id);
    return hold.end.answer;
  });
}

Result<Settlement> Engine::settle_commit(HoldOperation& operation, const Commit& request) {
  HoldRecord& hold = *operation.hold;
  const std::size_t count = hold.charges.size();
  TRY(check_amount_count(hold, request.amounts));
  Amount committed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Amount held = hold.charges[i].units;
    const Amount amount = request.amounts.empty() ? held : request.amounts[i];
    if (amount > held && !request.allow_overage) return core::exceeds_hold(hold.charges[i].limit, amount, held);
    committed += amount;
    MeterAccess* meter = operation.meter_of_charge[i];
    if (meter == nullptr) continue;
    if (amount > held) meter->cost += amount - held;
    const core::HeldPart& part = Meters::find_part(*meter, part_key(hold, i));
    meter->release({part.units - std::min(part.units, amount), part.made_at, part.expires_at});
  }
  for (MeterAccess& meter : operation.meters) {
    if (meter.cost == 0) continue;
    if (meter.fits(meter.cost)) {
      meter.charge(meter.cost);
    } else if (!meter.is_shadow()) {
      return core::overage_does_not_fit(meter.limit_name, meter.cost);
    }
  }
  const Settlement answer = settlement_of(committed, operation.meters);
  const bool is_of_all = request.amounts.empty() || has_units(hold, request.amounts);
  for (std::size_t i = 0; i < request.amounts.size(); ++i) hold.charges[i].units = request.amounts[i];
  finish(operation, HoldState::kCommitted, {.answer = answer, .is_known = true, .is_of_all = is_of_all});
  return answer;
}

Result<Settlement> Engine::cancel(std::string_view id, Instant now) {
  const auto settle = [&](HoldOperation& operation) -> Result<Settlement> {
    const HoldRecord& hold = *operation.hold;
    Amount returned = 0;
    for (std::size_t i = 0; i < operation.meter_of_charge.size(); ++i) {
      MeterAccess* meter = operation.meter_of_charge[i];
      if (meter == nullptr) continue;
      const Amount before = meter->used();
      meter->release(Meters::find_part(*meter, part_key(hold, i)));
      returned += before - meter->used();
    }
    const Settlement answer = settlement_of(returned, operation.meters);
    finish(operation, HoldState::kCancelled, {.answer = answer, .is_known = true});
    return answer;
  };
  return with_open_hold(id, now, settle, [&](const HoldRecord& hold, HoldState state) -> Result<Settlement> {
    if (state != HoldState::kCancelled || !hold.end.is_known) return core::not_open(id, state);
    return hold.end.answer;
  });
}

// Takes the hold's parts out of their meters, and makes it final.
void Engine::finish(HoldOperation& operation, HoldState state, const HoldEnd& end) {
  HoldRecord& hold = *operation.hold;
  const PartKeys parts = part_keys(hold);
  for (std::size_t i = 0; i < operation.meter_of_charge.size(); ++i) {
    if (const MeterAccess* meter = operation.meter_of_charge[i]) Meters::remove_part(*meter, parts[i]);
  }
  for (MeterAccess& meter : operation.meters) Meters::write(meter);
  if (!hold.tag.empty()) tags_.remove(hold.tag, operation.id.text);
  hold.state = state;
  hold.end = end;
  hold.final_at = operation.now;
  open_holds_.fetch_sub(1, std::memory_order_relaxed);
  note_hold(operation, parts);
}

Result<Duration> Engine::extend(std::string_view id, Duration ttl, Instant now) {
  const auto put_off = [&](HoldOperation& operation) -> Result<Duration> {
    HoldRecord& hold = *operation.hold;
    const Instant expires_at = operation.now + ttl;
    const PartKeys parts = part_keys(hold);
    for (std::size_t i = 0; i < operation.meter_of_charge.size(); ++i) {
      MeterAccess* meter = operation.meter_of_charge[i];
      if (meter == nullptr) continue;
      OpenPart part = Meters::find_part(*meter, parts[i]);
      Meters::remove_part(*meter, part);
      part.expires_at = expires_at;
      part.id = id;
      Meters::add_part(*meter, part);
    }
    hold.expires_at = expires_at;
    if (!hold.tag.empty()) tags_.put(hold.tag, id, expires_at);
    note_hold(operation, parts);
    return ttl;
  };
  return with_open_hold(id, now, put_off, [&](const HoldRecord& /*hold*/, HoldState state) -> Result<Duration> {
    return core::not_open(id, state);
  });
}

std::optional<HoldInfo> Engine::find_hold(std::string_view id, Instant now) {
  const OperationId named = ids_.named(id);
  const Keyspace::Guard guard(keyspace_, named.hash);
  const Entry* entry = find_id(named, now);
  if (entry == nullptr) return std::nullopt;
  const auto record = entry->load<OperationRecord>();
  if (record.hold == nullptr) return std::nullopt;
  return info_of(id, record, floor_.at_least(now));
}

std::vector<HoldInfo> Engine::oldest_holds(std::size_t count_max, Instant now) {
  const Instant at = floor_.at_least(now);
  std::map<std::uint64_t, HoldInfo> oldest;  // serial numbers tell which was made first
  keyspace_.visit_all([&](const Entry& entry) {
    if (entry.space.type() != EntryType::kOperation) return;
    const auto record = entry.load<OperationRecord>();
    if (record.hold == nullptr || record.hold->state_at(at) != HoldState::kHeld) return;
    const bool is_full = oldest.size() >= count_max;
    if (is_full && (oldest.empty() || oldest.rbegin()->first < record.hold->serial)) return;
    oldest.emplace(record.hold->serial, info_of(entry.key(), record, at));
    if (is_full) oldest.erase(std::prev(oldest.end()));
  });
  std::vector<HoldInfo> infos;
  infos.reserve(oldest.size());
  for (auto& [serial, info] : oldest) infos.push_back(std::move(info));
  return infos;
}

Result<std::vector<std::string>> Engine::holds(const Charge& charge, std::size_t count_max, Instant now) {
  return with_meter(charge, now,
                    [&](MeterAccess& meter) -> Result<std::vector<std::string>> { return meter.hold_ids(count_max); });
}

// A page at a time: a tag of many holds must not keep everybody from those who share its lock.
std::vector<std::string> Engine::holds_tagged(std::string_view tag, Instant now) {
  const Instant at = floor_.at_least(now);
  std::vector<std::string> ids;
  std::string from;
  do {
    HoldTags::Page page = [&] {
      const Keyspace::Guard guard(keyspace_, tags_.hash_of(tag));
      return tags_.open_holds(tag, from, at);
    }();
    ids.insert(ids.end(), std::make_move_iterator(page.ids.begin()), std::make_move_iterator(page.ids.end()));
    from = std::move(page.next);
  } while (!from.empty());
  return ids;
}

}  // namespace mete::engine
