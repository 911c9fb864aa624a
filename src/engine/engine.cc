#include "engine/engine.h"

#include <algorithm>
#include <array>

#include "base/try.h"
#include "core/refusals.h"
#include "core/take.h"
#include "engine/admission.h"
#include "engine/operation.h"

namespace mete::engine {

namespace {

OperationIds::Parameters parameters_of(const Take& request) {
  return {.kind = OperationKind::kTake, .charges = request.charges, .mode = request.mode};
}

}  // namespace

// Charges the state if that fits, and tells as much of it as is asked for.
template <Engine::Told told>
bool Engine::judge(const core::Rule& rule, core::State& state, const core::Moment& moment, Amount cost,
                   core::Verdict& verdict) {
  if constexpr (told == Told::kWhetherAllowed) {
    verdict.is_allowed = core::charge_if_fits(rule, state, cost, moment);
  } else {
    core::take(rule, state, cost, moment, verdict);
    core::tell_standing(rule, state, moment, verdict);
  }
  return verdict.is_allowed;
}

Engine::Engine(const Config& config)
    : config_(config),
      memory_(config.max_memory),
      remains_(memory_),
      keyspace_(memory_, [this](Entry& entry) { clear_entry(entry); }),
      rules_(memory_),
      meters_({memory_, keyspace_, limits_, rules_, floor_, recorder_}, config.seed),
      ids_(memory_, keyspace_, config.seed, config.ids_max),
      tags_(memory_, keyspace_, config.seed),
      keys_({memory_, keyspace_, rules_, floor_, recorder_, [this](Instant now) { return evict(now); }}, config.seed) {}

Engine::Operation Engine::prepare(std::span<const Charge> charges) const {
  Operation operation;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    MeterAccess* meter = &operation.meters.emplace_back();
    meters_.address(charges[i], *meter);
    keyspace_.prefetch_bucket(meter->hash);  // while the others are hashed
    // Charges on the same meter are added up and judged together.
    MeterAccess* same = std::find_if(operation.meters.data(), meter, [&](const MeterAccess& other) {
      return other.hash == meter->hash && other.limit_name == meter->limit_name && other.key == meter->key;
    });
    if (same != meter) {
      operation.meters.pop_back();
      meter = same;
    } else {
      operation.hashes.push_back(meter->hash);
    }
    meter->cost += charges[i].cost;
    meter->charges |= static_cast<std::uint16_t>(1U << i);
  }
  return operation;
}

Result<void> Engine::open_all(Operation& operation, Instant now) {
  const Instant at = floor_.at_least(now);
  for (MeterAccess& meter : operation.meters) {
    if (!meters_.open(meter, at)) return core::unknown_limit(meter.limit_name);
  }
  return {};
}

// As safe as the most demanding of its limits.
Durable Engine::durability_of(const Operation& operation) {
  Durable durable = Durable::kNever;
  for (const MeterAccess& meter : operation.meters) durable = std::min(durable, meter.limit->definition.durability());
  return durable;
}

// Whether a take may go on though nothing can be recorded: if nobody wants it recorded, or if its limits say so. Then
// there is nothing to wait for.
Result<void> Engine::check_recording(Operation& operation) const {
  if (!recorder_.is_failed()) return {};
  for (const MeterAccess& meter : operation.meters) {
    const Limit& limit = meter.limit->definition;
    const bool may_go_on = limit.durability() == Durable::kNever || limit.on_fail() != OnFail::kClosed;
    if (!may_go_on) return recorder_.failure();
  }
  operation.durable = Durable::kNever;
  return {};
}

bool Engine::is_recorded(const Operation& operation) const {
  return recorder_.is_on() && operation.durable != Durable::kNever;
}

// A take of one charge without an id is told by itself; what concerns several entries becomes one record.
void Engine::note(Operation& operation, const MeterAccess& meter) const {
  if (!is_recorded(operation)) return;
  if (operation.durable == Durable::kEverySecond && operation.hashes.size() == 1) {
    recorder_.tell_soon(*meter.entry, meter.hash, [&] { return Recorder::change_of(meter); });
  } else {
    write_change(operation.record, Recorder::change_of(meter));
  }
}

void Engine::note_operation(Operation& operation, std::string_view id, const OperationRecord& record) const {
  if (is_recorded(operation)) write_operation(operation.record, id, record);
}

core::Ticket Engine::tell(const Operation& operation) const {
  return recorder_.is_on() ? recorder_.append(operation.record, operation.durable) : 0;
}

// Writes what was charged; or nothing, if there is no memory for a new meter.
Result<void> Engine::write_all(Operation& operation) {
  for (MeterAccess& meter : operation.meters) {
    const bool is_unchanged = meter.cost == 0 || meter.is_left_out;
    // A meter that was made for an operation that now fails is fresh: the next sweep takes it away.
    if (!is_unchanged && !meters_.make_entry(meter)) return memory_.out_of_memory();
  }
  for (const MeterAccess& meter : operation.meters) {
    if (meter.entry == nullptr) continue;
    Meters::write(meter);
    if (meter.cost != 0 && !meter.is_left_out) note(operation, meter);
  }
  return {};
}

Result<core::Verdict> Engine::take(const Take& request, Occasion at) {
  const bool is_plain =
      request.charges.size() == 1 && request.id.empty() && request.mode == Mode::kTake && request.usages.empty();
  if (is_plain) return take(request.charges[0], meters_.hash_of(request.charges[0]), at);
  return with_eviction(at.now, [&] { return try_take(request, at); });
}

Result<core::Verdict> Engine::take(const Charge& charge, const MeterHash& hash, Occasion at) {
  Result<core::Verdict> answer;
  if (take_in_use(charge, hash, at, *answer)) return answer;
  answer = with_eviction(at.now, [&] { return try_take({.charges = {&charge, 1}}, at); });
  return answer;
}

Engine::MeterHashes Engine::prefetch(std::span<const Charge> charges) const {
  MeterHashes hashes;
  charges = charges.first(std::min(kTogetherMax, charges.size()));
  std::string_view name;  // the last one: mostly it is the same limit
  std::uint64_t name_hash = meters_.hash_of_name(name);
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!base::equal_bytes(charges[i].limit, name)) {
      name = charges[i].limit;
      name_hash = meters_.hash_of_name(name);
    }
    hashes[i] = {name_hash, meters_.hash_of(name_hash, charges[i].key)};
    keyspace_.prefetch_bucket(hashes[i].of_meter);
  }
  for (std::size_t i = 0; i < charges.size(); ++i) keyspace_.prefetch_entry(hashes[i].of_meter);
  return hashes;
}

// While one take waits for its meter to come from memory, the processor could do nothing else: so all are asked for
// before the first is used.
void Engine::take_each(std::span<const Charge> charges, Occasion at, std::span<Result<core::Verdict>> answers) {
  for (std::size_t first = 0; first < charges.size(); first += kTogetherMax) {
    const std::span<const Charge> together = charges.subspan(first, std::min(kTogetherMax, charges.size() - first));
    const MeterHashes hashes = prefetch(together);
    for (std::size_t i = 0; i < together.size(); ++i) {
      Result<core::Verdict>& answer = answers[first + i];
      answer = core::Verdict();
      if (take_in_use(together[i], hashes[i], at, *answer)) continue;
      answer = with_eviction(at.now, [&] { return try_take({.charges = together.subspan(i, 1)}, at); });
    }
  }
}

// What nearly every operation is: one charge, on a meter that exists and has neither override nor held parts. The same
// steps as the general path, without setting up for what cannot happen here, and in one piece. False: it is not that.
template <Engine::Told told>
bool Engine::take_in_use_telling(const Charge& charge, const MeterHash& hash, Occasion at, core::Verdict& verdict) {
  if (recorder_.is_failed()) return false;
  const Keyspace::Guard guard(keyspace_, hash.of_meter);
  const LimitRecord* limit = limits_.find(charge.limit, hash.of_name);
  if (limit == nullptr || limit->definition.is_shadow()) return false;
  Entry* entry = guard.find({EntryType::kMeter, limit->number}, charge.key);
  if (entry == nullptr || !limit->is_plain(*entry)) return false;
  const Instant now = floor_.at_least(at.now);
  const core::Rule& rule = limit->rule->rule();
  if (rule.kind == Kind::kBucket) {
    // The commonest kind by itself: the compiler then sees one way through every switch. Its two words are written
    // apart, because to read them back as one would wait for both stores.
    core::State state{core::State::Undefined()};
    state.bucket = entry->load<core::BucketState>();
    if (judge<told>(rule, state, {now, {}}, charge.cost, verdict)) {
      base::store(entry->payload(), state.bucket.full_at_low);
      base::store(entry->payload() + sizeof state.bucket.full_at_low, state.bucket.full_at_high);
    }
  } else {
    core::State state = Meters::load_state(*entry);
    const core::Moment moment = limit->rule->moment(state, now);
    core::settle(rule, state, moment);
    if (judge<told>(rule, state, moment, charge.cost, verdict)) Meters::store_state(state, *entry);
  }
  if (verdict.is_allowed && recorder_.is_on() && charge.cost != 0) {
    at.note(recorder_.tell_take(*limit, *entry, hash.of_meter));
  }
  return true;
}

// Flattened here, because the compiler heeds that for functions and not for templates.
[[gnu::flatten]] bool Engine::take_in_use(const Charge& charge, const MeterHash& hash, Occasion at,
                                          core::Verdict& verdict) {
  return take_in_use_telling<Told::kAll>(charge, hash, at, verdict);
}

[[gnu::flatten]] std::optional<bool> Engine::allow(const Charge& charge, const MeterHash& hash, Occasion at) {
  core::Verdict verdict;
  if (!take_in_use_telling<Told::kWhetherAllowed>(charge, hash, at, verdict)) return std::nullopt;
  return verdict.is_allowed;
}

// Charges the meters if the operation is allowed.
Result<core::Verdict> Engine::admit_and_write(Operation& operation, Mode mode) {
  const std::span<MeterAccess> meters = operation.meters;
  const Durable wanted = operation.durable;
  if (mode != Mode::kPeek) {
    TRY(check_recording(operation));
  }
  if (mode == Mode::kForce) {
    for (const MeterAccess& meter : meters) {
      if (meter.used() + meter.cost > kAmountMax) return core::usage_too_large("cost", meter.limit_name);
    }
  }
  core::Verdict verdict = admit(meters, mode);
  if (verdict.is_allowed && mode != Mode::kPeek) {
    TRY(write_all(operation));
    verdict.is_unrecorded = operation.durable != wanted;
    if (verdict.is_unrecorded) unrecorded_admissions_.fetch_add(1);
  }
  return verdict;
}

// Answers an operation with an id: as before if it was seen before, else by doing it and remembering the answer. Room
// for the id is made first, so that what was done is always remembered.
template <class Do>
Result<core::Verdict> Engine::once(Operation& operation, const OperationId& id,
                                   const OperationIds::Parameters& parameters, Occasion at, Do act,
                                   bool remembers_denial) {
  const std::uint64_t fingerprint = ids_.fingerprint(parameters);
  auto seen = TRY(OperationIds::replay(find_id(id, at.now), fingerprint));
  if (seen) {
    at.note(recorder_.last_awaited());
    return *seen;
  }
  const MeterAccess& first = operation.meters.front();
  auto entry = TRY(ids_.insert(id, limits_.find(first.limit_name, first.name_hash)));
  auto verdict = act();
  if (verdict.has_value() && (verdict->is_allowed || remembers_denial)) {
    const OperationRecord record{.fingerprint = fingerprint, .made_at = floor_.at_least(at.now), .verdict = *verdict};
    ids_.fill(*entry, record);
    note_operation(operation, id.text, record);
  } else {
    ids_.forget(*entry);
  }
  return verdict;
}

Result<std::optional<core::Verdict>> Engine::recall(const Take& request, Occasion at) {
  const OperationId id = ids_.named(request.id);
  const Keyspace::Guard guard(keyspace_, id.hash);
  auto seen = OperationIds::replay(find_id(id, at.now), ids_.fingerprint(parameters_of(request)));
  if (seen.has_value() && *seen) at.note(recorder_.last_awaited());
  return seen;
}

Result<core::Verdict> Engine::try_take(const Take& request, Occasion at) {
  Operation operation = prepare(request.charges);
  const OperationId id = request.id.empty() ? OperationId() : ids_.named(request.id);
  if (!request.id.empty()) operation.hashes.push_back(id.hash);
  const Keyspace::GuardAll guard(keyspace_, operation.hashes);
  const auto act = [&]() -> Result<core::Verdict> {
    TRY(open_all(operation, at.now));
    operation.durable = durability_of(operation);
    auto verdict = admit_and_write(operation, request.mode);
    tell_usages(operation.meters, request.usages);
    return verdict;
  };
  auto verdict =
      request.id.empty() ? act() : once(operation, id, parameters_of(request), at, act, request.remembers_denial);
  at.note(tell(operation));
  return verdict;
}

Result<Settlement> Engine::give(std::span<const Charge> charges, std::string_view id, Instant now) {
  return with_eviction(now, [&] { return try_give(charges, id, now); });
}

Result<Settlement> Engine::try_give(std::span<const Charge> charges, std::string_view id, Instant now) {
  Operation operation = prepare(charges);
  const OperationId named = id.empty() ? OperationId() : ids_.named(id);
  if (!id.empty()) operation.hashes.push_back(named.hash);
  const Keyspace::GuardAll guard(keyspace_, operation.hashes);
  const auto give_all = [&]() -> Result<core::Verdict> {
    TRY(open_all(operation, now));
    Amount given = 0;
    for (MeterAccess& meter : operation.meters) {
      given += core::give_back(meter.rule->rule(), meter.state, meter.cost, meter.held(), meter.moment);
      if (meter.entry == nullptr) continue;
      Meters::write(meter);
      note(operation, meter);
    }
    const Settlement settlement = settlement_of(given, operation.meters);
    return core::Verdict{
        .is_allowed = true, .taken = settlement.amount, .remaining = settlement.remaining, .limit = settlement.limit};
  };
  const OperationIds::Parameters parameters{.kind = OperationKind::kGive, .charges = charges};
  const auto answer = id.empty() ? give_all() : once(operation, named, parameters, now, give_all);
  tell(operation);
  if (!answer.has_value()) return answer.error();
  return Settlement{.amount = answer->taken, .remaining = answer->remaining, .limit = answer->limit};
}

Result<Usage> Engine::usage(const Charge& charge, Instant now) {
  return with_meter(charge, now, [](const MeterAccess& meter) -> Result<Usage> { return meter.usage(); });
}

Result<Reconciliation> Engine::reconcile(const Charge& charge, Amount used, Instant now) {
  return with_eviction(now, [&] {
    return with_meter(charge, now, [&](MeterAccess& meter) -> Result<Reconciliation> {
      const Usage before = meter.usage();
      TRY(set_used(meter, used, before.held));
      return Reconciliation{.used_before = before.used, .used_now = used};
    });
  });
}

Result<core::Shifted> Engine::shift(const Charge& charge, Instant since, Instant now) {
  return with_eviction(now, [&] {
    return with_meter(charge, now, [&](MeterAccess& meter) -> Result<core::Shifted> {
      const Kind kind = meter.rule->rule().kind;
      if (!core::can_shift(kind)) return core::cannot_shift(meter.limit_name, kind);
      if (core::has_window(kind) && since < meter.moment.window.start) return core::Shifted{.is_late = true};
      const Usage before = meter.usage();
      const Amount after = std::max<Amount>(0, before.used + charge.cost);
      if (after == before.used) return core::Shifted();
      TRY(set_used(meter, after, before.held));
      return core::Shifted{.change = after - before.used};
    });
  });
}

// What is held stays held, on top of it.
Result<void> Engine::set_used(MeterAccess& meter, Amount used, Amount held) {
  if (used + held > kAmountMax) return core::usage_too_large("amount", meter.limit_name);
  if (!meters_.make_entry(meter)) return memory_.out_of_memory();
  core::set_used(meter.rule->rule(), meter.state, used + held, meter.moment);
  Meters::write(meter);
  recorder_.tell(Recorder::change_of(meter), Durable::kAlways);
  return {};
}

Statistics Engine::statistics() const {
  return {.rules = rules_.size(),
          .meters = keyspace_.entry_count(EntryType::kMeter),
          .overrides = keyspace_.entry_count(EntryType::kOverride),
          .keys = keys_.size(),
          .expiring_keys = keys_.expiring(),
          .ids = keyspace_.entry_count(EntryType::kOperation),
          .open_holds = open_holds_.load(std::memory_order_relaxed),
          .expired_holds = expired_holds_.load(std::memory_order_relaxed),
          .unrecorded_admissions = unrecorded_admissions_.load(std::memory_order_relaxed),
          .memory_bytes = memory_.bytes(),
          .id_retention = config_.id_retention};
}

}  // namespace mete::engine
