// Auditing: see audit.h. What has expired by the time of the audit counts for nothing: a hold whose parts were taken
// out at their time may still say that it is held, and a part that nobody has looked at since may outlive its hold.

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/operation.h"

namespace mete::engine {

namespace {

void add(Amount& total, Amount units) {
  if (__builtin_add_overflow(total, units, &total)) total = std::numeric_limits<Amount>::max();
}

std::string hold_name(std::string_view id) { return "hold '" + std::string(id) + "'"; }

std::string meter_name(std::string_view limit, std::string_view key) {
  return "meter '" + std::string(key) + "' of '" + std::string(limit) + "'";
}

// For finding the part: its id is the meter's own.
OpenPart key_of(OpenPart part) {
  part.id = {};
  return part;
}

}  // namespace

class Engine::Auditor {
 public:
  Auditor(Engine& engine, Instant now);

  void look_at(Entry& entry);
  [[nodiscard]] Audit finish();

 private:
  void look_at_meter(const Entry& entry);
  void look_at_parts(const MeterAccess& meter, LimitTally& tally);
  void look_at_operation(const Entry& entry);
  void look_at_tag(const Entry& entry);
  void look_at_key(const Entry& entry);
  [[nodiscard]] std::string part_problem(const MeterAccess& meter, const OpenPart& part) const;
  [[nodiscard]] LimitTally* tally_of(const Entry& entry);
  // Null if there is none, or its time is over.
  [[nodiscard]] const HoldRecord* open_hold(std::string_view id) const;
  [[nodiscard]] bool is_open(const HoldRecord& hold) const { return hold.state_at(now_) == HoldState::kHeld; }

  Engine& engine_;
  const Instant now_;
  std::unordered_map<std::uint32_t, LimitTally> tallies_;  // by the limits' numbers
  Audit audit_;
};

Audit Engine::audit(Instant now) {
  const std::scoped_lock definitions(revisions_mutex_, definitions_mutex_);
  Keyspace::GuardEveryOne guard(keyspace_);
  Auditor auditor(*this, floor_.at_least(now));
  guard.visit([&](Entry& entry) { auditor.look_at(entry); });
  return auditor.finish();
}

Engine::Auditor::Auditor(Engine& engine, Instant now) : engine_(engine), now_(now) {
  for (const LimitRecord* limit : engine.limits_.all()) {
    tallies_.emplace(limit->number, LimitTally{.limit = limit->definition});
  }
}

Audit Engine::Auditor::finish() {
  std::vector<LimitTally*> tallies;
  for (auto& [number, tally] : tallies_) tallies.push_back(&tally);
  std::sort(tallies.begin(), tallies.end(),
            [](const LimitTally* a, const LimitTally* b) { return a->limit.name() < b->limit.name(); });
  for (LimitTally* const tally : tallies) audit_.limits.push_back(std::move(*tally));
  return std::move(audit_);
}

void Engine::Auditor::look_at(Entry& entry) {
  switch (entry.space.type()) {
    case EntryType::kMeter:
      return look_at_meter(entry);
    case EntryType::kOverride:
      if (LimitTally* tally = tally_of(entry)) ++tally->overrides;
      return;
    case EntryType::kHeldParts:  // with their meter
      return;
    case EntryType::kOperation:
      return look_at_operation(entry);
    case EntryType::kTag:
      return look_at_tag(entry);
    case EntryType::kKey:
      return look_at_key(entry);
  }
}

LimitTally* Engine::Auditor::tally_of(const Entry& entry) {
  const auto found = tallies_.find(entry.space.limit());
  return found == tallies_.end() ? nullptr : &found->second;
}

void Engine::Auditor::look_at_meter(const Entry& entry) {
  LimitTally* const tally = tally_of(entry);
  const auto meter = engine_.meters_.open(entry, now_);
  if (tally == nullptr || !meter) return;  // just being dropped
  const Usage usage = meter->usage();
  ++tally->meters;
  add(tally->used, usage.used);
  add(tally->held, usage.held);
  if (meter->used() > meter->capacity()) ++tally->above_capacity;
  if (meter->parts != nullptr) look_at_parts(*meter, *tally);
}

void Engine::Auditor::look_at_parts(const MeterAccess& meter, LimitTally& tally) {
  Amount held = 0;
  Amount summed = 0;
  for (const OpenPart& part : *meter.parts) {
    std::string problem = part_problem(meter, part);
    const Amount charged = core::still_charged(meter.rule->rule(), meter.state, part, meter.moment);
    add(summed, charged);
    if (problem.empty()) {
      held += charged;
      continue;
    }
    audit_.problems.push_back({.kind = AuditProblem::Kind::kPartWithoutHold,
                               .text = meter_name(meter.limit_name, meter.key) + " has " + std::to_string(part.units) +
                                       " held by '" + std::string(part.id) + "', but " + std::move(problem),
                               .id = std::string(part.id),
                               .limit = std::string(meter.limit_name),
                               .key = std::string(meter.key),
                               .part = key_of(part)});
  }
  const Amount kept = meter.parts->held(meter.rule->rule(), meter.state, meter.moment);
  if (meter.parts->counts_as_of(meter.moment.now) && kept != std::min(summed, kAmountMax)) {
    audit_.problems.push_back({.kind = AuditProblem::Kind::kHeldSum,
                               .text = meter_name(meter.limit_name, meter.key) + " counts " + std::to_string(kept) +
                                       " as held, but its holds have " + std::to_string(summed),
                               .limit = std::string(meter.limit_name),
                               .key = std::string(meter.key)});
  }
  // What is left of a bucket's parts is rounded up one by one: their sum may be above what is used.
  if (tally.limit.kind() == Kind::kBucket || held <= meter.used()) return;
  audit_.problems.push_back({.kind = AuditProblem::Kind::kHeldAboveUsed,
                             .text = meter_name(meter.limit_name, meter.key) + " has " + std::to_string(held) +
                                     " held, but only " + std::to_string(meter.used()) + " in use",
                             .limit = std::string(meter.limit_name),
                             .key = std::string(meter.key),
                             .held = held});
}

// Why the part does not belong to an open hold; empty if it does. A redefinition of the limit may leave less of it than
// the hold has, and never more.
std::string Engine::Auditor::part_problem(const MeterAccess& meter, const OpenPart& part) const {
  const HoldRecord* const hold = open_hold(part.id);
  if (hold == nullptr) return "there is no such open hold";
  if (hold->serial != part.serial) return "the hold of that name is another one";
  if (hold->expires_at != part.expires_at) return "the hold expires at another time";
  if (part.charge >= hold->charges.size()) return "the hold has fewer charges";
  const HoldCharge& charge = hold->charges[part.charge];
  const bool is_same_meter = charge.limit == meter.limit_name && charge.key == meter.key &&
                             charge.generation == meter.limit->generation && charge.is_backed;
  if (!is_same_meter) return "the hold's charge is on another meter";
  return part.units <= charge.units ? "" : "the hold has only " + std::to_string(charge.units);
}

const HoldRecord* Engine::Auditor::open_hold(std::string_view id) const {
  const HoldRecord* const hold = engine_.ids_.find_hold(engine_.ids_.named(id));
  return hold != nullptr && is_open(*hold) ? hold : nullptr;
}

void Engine::Auditor::look_at_operation(const Entry& entry) {
  ++audit_.ids;
  const HoldRecord* const hold = entry.load<OperationRecord>().hold;
  if (hold == nullptr || !is_open(*hold)) return;
  ++audit_.open_holds;
  const std::string id(entry.key());
  for (std::size_t i = 0; i < hold->charges.size(); ++i) {
    const HoldCharge& charge = hold->charges[i];
    const LimitRecord* const limit = engine_.limits_.find(charge.limit, engine_.meters_.hash_of_name(charge.limit));
    const bool has_limit = limit != nullptr && limit->generation == charge.generation;
    if (!charge.is_backed || !has_limit) continue;
    const HeldParts* const parts = engine_.parts_of(charge);
    if (parts != nullptr && parts->find(part_key(*hold, i)) != nullptr) continue;
    audit_.problems.push_back({.kind = AuditProblem::Kind::kHoldWithoutPart,
                               .text = hold_name(id) + " has " + std::to_string(charge.units) + " of " +
                                       meter_name(charge.limit, charge.key) + ", which does not know of it",
                               .id = id,
                               .limit = charge.limit,
                               .key = charge.key});
    return;
  }
  if (hold->tag.empty()) return;
  if (engine_.tags_.has(hold->tag, id)) return;
  audit_.problems.push_back({.kind = AuditProblem::Kind::kTag,
                             .text = "tag '" + hold->tag + "' does not name its open " + hold_name(id),
                             .id = id});
}

void Engine::Auditor::look_at_tag(const Entry& entry) {
  const std::string tag(entry.key());
  for (const auto& [id, expires_at] : entry.load<TaggedHolds*>()->expiries) {
    if (expires_at <= now_) continue;
    const HoldRecord* const hold = open_hold(id);
    if (hold != nullptr && hold->tag == tag && hold->expires_at == expires_at) continue;
    audit_.problems.push_back({.kind = AuditProblem::Kind::kTag,
                               .text = "tag '" + tag + "' names " + hold_name(id) + ", which is not open",
                               .id = id});
  }
}

void Engine::Auditor::look_at_key(const Entry& entry) {
  const KeyChange key = Keys::change_of(entry);
  if (key.type == KeyType::kCounter && key.expires_at > now_) ++audit_.counters;
  if (key.type == KeyType::kQuota) ++audit_.quotas;
  if (key.type == KeyType::kThrottle) ++audit_.throttles;
}

// Wants the lock of the charge's meter. Null if the limit is gone, or nothing of the meter is held.
HeldParts* Engine::parts_of(const HoldCharge& charge) const {
  const LimitRecord* const limit = limits_.find(charge.limit, meters_.hash_of_name(charge.limit));
  if (limit == nullptr || limit->generation != charge.generation) return nullptr;
  const Entry* const entry = keyspace_.find(charge.hash, {EntryType::kHeldParts, limit->number}, charge.key);
  return entry == nullptr ? nullptr : entry->load<HeldParts*>();
}

std::string Engine::mend(const AuditProblem& problem) {
  CHECK(!recorder_.is_on());
  switch (problem.kind) {
    case AuditProblem::Kind::kHoldWithoutPart:
      return drop_hold(problem.id);
    case AuditProblem::Kind::kPartWithoutHold: {
      const MeterHash hash = meters_.hash_of({.limit = problem.limit, .key = problem.key, .cost = 0});
      const Keyspace::Guard guard(keyspace_, hash.of_meter);
      const LimitRecord* const limit = limits_.find(problem.limit, hash.of_name);
      CHECK(limit != nullptr);
      const Entry* const entry = guard.find({EntryType::kHeldParts, limit->number}, problem.key);
      CHECK(entry != nullptr);
      entry->load<HeldParts*>()->erase(problem.part);  // or it has gone with its hold
      return std::to_string(problem.part.units) + " of " + meter_name(problem.limit, problem.key) +
             " are used for good, and not held by '" + problem.id + "' any more";
    }
    case AuditProblem::Kind::kHeldAboveUsed: {
      const Charge charge{.limit = problem.limit, .key = problem.key, .cost = 0};
      const auto set = with_meter(charge, Instant(), [&](MeterAccess& meter) -> Result<void> {
        core::set_used(meter.rule->rule(), meter.state, problem.held, meter.moment);
        Meters::write(meter);
        return {};
      });
      CHECK(set);
      return meter_name(problem.limit, problem.key) + " has " + std::to_string(problem.held) + " in use now";
    }
    case AuditProblem::Kind::kHeldSum: {
      const Charge charge{.limit = problem.limit, .key = problem.key, .cost = 0};
      const auto counted = with_meter(charge, Instant(), [&](MeterAccess& meter) -> Result<void> {
        if (meter.parts != nullptr) meter.parts->recount();
        return {};
      });
      CHECK(counted);
      return meter_name(problem.limit, problem.key) + " has counted its holds anew";
    }
    case AuditProblem::Kind::kTag:
      break;
  }
  // Restoring makes the tags of the holds that are there.
  CHECK(problem.kind != AuditProblem::Kind::kTag);
  __builtin_unreachable();
}

std::string Engine::drop_hold(std::string_view id) {
  const OperationId named = ids_.named(id);
  HoldOperation operation;
  {
    const Keyspace::Guard guard(keyspace_, named.hash);
    CHECK(address_hold(named, ids_.find_hold(named), operation));
  }
  const Keyspace::GuardAll guard(keyspace_, operation.hashes);
  const HoldRecord& hold = *ids_.find_hold(named);
  for (std::size_t i = 0; i < hold.charges.size(); ++i) {
    if (HeldParts* parts = parts_of(hold.charges[i])) parts->erase(part_key(hold, i));
  }
  if (!hold.tag.empty()) tags_.remove(hold.tag, id);
  open_holds_.fetch_sub(1, std::memory_order_relaxed);
  ids_.forget(*ids_.find(named));
  return hold_name(id) + " is forgotten; what its meters have of it is used for good";
}

}  // namespace mete::engine
