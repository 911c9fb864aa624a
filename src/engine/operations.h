// The engine's operations as values (core/operations.h): run(engine, operation, occasion), for stores that treat them
// alike.
#pragma once

#include "core/all_operations.h"
#include "engine/engine.h"

namespace mete::engine {

inline Charge charge_of(const core::MeterName& meter) { return {.limit = meter.limit, .key = meter.key, .cost = 0}; }

inline Result<core::Verdict> run(Engine& engine, const core::Take& what, Occasion at) { return engine.take(what, at); }
inline Result<void> run(Engine& engine, const core::TakeEach& what, Occasion at) {
  engine.take_each(what.charges, at, what.answers);
  return {};
}
inline auto run(Engine& engine, const core::Recall& what, Occasion at) { return engine.recall(what.take, at); }
inline auto run(Engine& engine, const core::Give& what, Occasion at) {
  return engine.give(what.charges, what.id, at.now);
}

inline auto run(Engine& engine, const core::Hold& what, Occasion at) { return engine.hold(what, at.now); }
inline auto run(Engine& engine, const core::Commit& what, Occasion at) { return engine.commit(what, at.now); }
inline auto run(Engine& engine, const core::Cancel& what, Occasion at) { return engine.cancel(what.id, at.now); }
inline auto run(Engine& engine, const core::Extend& what, Occasion at) {
  return engine.extend(what.id, what.ttl, at.now);
}
inline Result<std::optional<HoldInfo>> run(Engine& engine, const core::FindHold& what, Occasion at) {
  return engine.find_hold(what.id, at.now);
}
inline auto run(Engine& engine, const core::ListHolds& what, Occasion at) {
  return engine.holds(charge_of(what.meter), what.count_max, at.now);
}
inline Result<std::vector<std::string>> run(Engine& engine, const core::ListTagged& what, Occasion at) {
  return engine.holds_tagged(what.tag, at.now);
}
inline Result<std::vector<HoldInfo>> run(Engine& engine, const core::OldestHolds& what, Occasion at) {
  return engine.oldest_holds(what.count_max, at.now);
}

inline auto run(Engine& engine, const core::ReadUsage& what, Occasion at) {
  return engine.usage(charge_of(what.meter), at.now);
}
inline auto run(Engine& engine, const core::Reconcile& what, Occasion at) {
  return engine.reconcile(charge_of(what.meter), what.used, at.now);
}
inline Result<void> run(Engine& engine, const core::ShiftUsage& what, Occasion at) {
  for (std::size_t i = 0; i < what.shifts.size(); ++i) {
    const Charge charge = {.limit = what.limit, .key = what.shifts[i].key, .cost = what.shifts[i].change};
    what.answers[i] = engine.shift(charge, what.since, at.now);
  }
  return {};
}
inline auto run(Engine& engine, const core::ScanUsage& what, Occasion at) {
  return engine.scan(what.limit, what.cursor, what.count, at.now);
}

inline auto run(Engine& engine, const core::Define& what, Occasion at) { return engine.define(what.limit, at.now); }
inline Result<bool> run(Engine& engine, const core::Drop& what, Occasion /*at*/) { return engine.drop(what.name); }
inline Result<std::optional<Limit>> run(Engine& engine, const core::FindLimit& what, Occasion /*at*/) {
  return engine.limit(what.name);
}
inline Result<std::vector<std::string>> run(Engine& engine, const core::ListLimits& /*what*/, Occasion /*at*/) {
  return engine.limits();
}
inline auto run(Engine& engine, const core::Override& what, Occasion at) {
  return engine.set_override(charge_of(what.meter), what.amount, at.now);
}
inline auto run(Engine& engine, const core::FindOverride& what, Occasion at) {
  return engine.override_of(charge_of(what.meter), at.now);
}
inline Result<void> run(Engine& engine, const core::Clear& /*what*/, Occasion /*at*/) {
  engine.clear();
  return {};
}
inline Result<core::Statistics> run(Engine& engine, const core::ReadStatistics& /*what*/, Occasion /*at*/) {
  return engine.statistics();
}

inline auto run(Engine& engine, const core::GetKey& what, Occasion at) { return engine.keys().get(what.key, at.now); }
inline auto run(Engine& engine, const core::SetCounter& what, Occasion at) { return engine.keys().set(what, at); }
inline auto run(Engine& engine, const core::TakeOut& what, Occasion at) {
  return engine.keys().take_out(what.key, at.now);
}
inline auto run(Engine& engine, const core::AddToCounter& what, Occasion at) {
  return engine.keys().add(what.key, what.by, at.now);
}
inline auto run(Engine& engine, const core::AddBounded& what, Occasion at) {
  return engine.keys().add_bounded(what, at.now);
}
inline auto run(Engine& engine, const core::SetQuota& what, Occasion at) {
  return engine.keys().quota_set(what.key, what.rule, at.now);
}
inline auto run(Engine& engine, const core::GetQuota& what, Occasion at) {
  return engine.keys().quota_get(what.key, at.now);
}
inline auto run(Engine& engine, const core::RemoveQuota& what, Occasion at) {
  return engine.keys().quota_remove(what.key, at.now);
}
inline auto run(Engine& engine, const core::TakeQuota& what, Occasion at) {
  return engine.keys().quota_take(what.key, what.rule, what.units, at.now);
}
inline auto run(Engine& engine, const core::Throttle& what, Occasion at) {
  return engine.keys().throttle(what.key, what.request, at.now);
}
inline Result<void> run(Engine& engine, const core::KeysEach& what, Occasion at) {
  engine.keys().each(what, at.now);
  return {};
}
inline Result<core::KeyType> run(Engine& engine, const core::TypeOfKey& what, Occasion at) {
  return engine.keys().type(what.key, at.now);
}
inline Result<bool> run(Engine& engine, const core::RemoveKey& what, Occasion at) {
  return engine.keys().remove(what.key, what.reach, at);
}
inline Result<std::optional<Instant>> run(Engine& engine, const core::FindExpiry& what, Occasion at) {
  return engine.keys().expires_at(what.key, at.now);
}
inline auto run(Engine& engine, const core::ExpireKey& what, Occasion at) {
  return engine.keys().expire(what.key, what.expiry, what.condition, at.now);
}
inline auto run(Engine& engine, const core::PersistKey& what, Occasion at) {
  return engine.keys().persist(what.key, at.now);
}
inline Result<core::KeyPage> run(Engine& engine, const core::ScanKeys& what, Occasion at) {
  return engine.keys().scan(what.cursor, what.count, at.now);
}
inline Result<std::size_t> run(Engine& engine, const core::CountKeys& /*what*/, Occasion /*at*/) {
  return engine.keys().size();
}

}  // namespace mete::engine
