// Definitions: limits come, change and go while operations run.
//
// A change is published first; from then on whoever opens a meter of the limit brings it up to date itself. Then every
// bucket is visited once, which does the same for the meters that nobody has opened, and proves that no operation still
// sees what was replaced: operations look limits up under a bucket's lock, and each lock was free in between.

#include <algorithm>

#include "base/try.h"
#include "engine/engine.h"
#include "engine/operation.h"

namespace mete::engine {

// A change of the rule waits for a snapshot that is being written; anything else does not.
Result<void> Engine::define(const Limit& limit, Instant now) {
  auto rule = TRY(rules_.acquire(limit));
  std::unique_lock revisions(revisions_mutex_, std::defer_lock);
  while (!try_define(limit, rule, revisions.owns_lock(), now)) {
    redefiners_waiting_.fetch_add(1, std::memory_order_relaxed);
    revisions.lock();
    redefiners_waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  return {};
}

// Takes over the reference to the rule. False, and nothing has happened: the rule would change, and may not now.
bool Engine::try_define(const Limit& limit, const RuleRecord* rule, bool may_change_rule, Instant now) {
  const std::lock_guard guard(definitions_mutex_);
  const std::uint64_t name_hash = meters_.hash_of_name(limit.name());
  const LimitRecord* old = limits_.find(limit.name(), name_hash);
  if (old != nullptr && old->definition == limit) {
    rules_.release(rule);
    return true;
  }
  if (old != nullptr && old->rule != rule && !may_change_rule) return false;
  auto record = std::make_unique<LimitRecord>(limit, name_hash);
  record->rule = rule;
  if (old == nullptr) {
    record->generation = next_generation_++;
    tell(*record);
    const LimitTable::Retired retired = limits_.publish(std::move(record), nullptr);
    if (!retired.is_empty()) visit_all(nullptr);
    return true;
  }
  const RuleRecord* old_rule = old->rule;
  record->is_even = old->is_even != (old_rule != rule);
  record->previous_rule = old_rule;
  record->generation = old->generation;
  record->changed_at = floor_.at_least(now);
  tell(*record);
  const LimitRecord* published = record.get();
  const LimitTable::Retired retired = limits_.publish(std::move(record), old);
  visit_all(published);
  rules_.release(old_rule);
  return true;
}

// Before it is published: whoever changes a meter under it tells that later. Those who still change one under the rule
// before it may do so too, and mark it as such.
void Engine::tell(const LimitRecord& record) const {
  recorder_.tell(LimitChange{record.generation, record.is_even, record.changed_at, record.definition},
                 Durable::kAlways);
}

bool Engine::drop(std::string_view name) {
  const std::lock_guard guard(definitions_mutex_);
  const LimitRecord* record = limits_.find(name, meters_.hash_of_name(name));
  if (record == nullptr) return false;
  const std::uint32_t number = record->number;
  const RuleRecord* rule = record->rule;
  recorder_.tell(DropChange{record->generation}, Durable::kAlways);
  const LimitTable::Retired retired = limits_.remove(record);
  forget_all(number);
  limits_.reuse_number(number);
  rules_.release(rule);
  return true;
}

// Brings every meter of a redefined limit up to date.
void Engine::visit_all(const LimitRecord* redefined) {
  keyspace_.visit_all([&](const Entry& entry) {
    if (redefined != nullptr && entry.space.has_limit() && entry.space.limit() == redefined->number) {
      meters_.bring_up_to_date(entry, redefined->changed_at);
    }
  });
}

void Engine::forget_all(std::uint32_t limit) {
  keyspace_.visit_all([&](Entry& entry) {
    if (entry.space.has_limit() && entry.space.limit() == limit) meters_.forget(entry);
  });
}

std::optional<Limit> Engine::limit(std::string_view name) {
  const std::uint64_t name_hash = meters_.hash_of_name(name);
  const Keyspace::Guard guard(keyspace_, name_hash);  // any bucket's lock keeps the record alive
  const LimitRecord* record = limits_.find(name, name_hash);
  return record == nullptr ? std::nullopt : std::optional(record->definition);
}

std::vector<std::string> Engine::limits() const {
  const std::lock_guard guard(definitions_mutex_);
  std::vector<std::string> names;
  for (const LimitRecord* record : limits_.all()) names.push_back(record->definition.name());
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> Engine::set_override(const Charge& charge, std::optional<Amount> amount, Instant now) {
  return with_eviction(now, [&] {
    return with_meter(charge, now, [&](MeterAccess& meter) -> Result<void> {
      if (!meters_.set_override(meter, amount)) return memory_.out_of_memory();
      if (!recorder_.is_on()) return {};
      Encoder record;
      write_change(record, OverrideChange{meter.limit->generation, meter.key, amount});
      const auto tell = [&](const MeterChange& change) {
        write_change(record, change);
        recorder_.append(record, Durable::kAlways);
        record.clear();
      };
      if (meter.parts != nullptr) {
        Recorder::with_parts(Recorder::change_of(meter), *meter.parts, tell);
      } else {
        tell(Recorder::change_of(meter));
      }
      return {};
    });
  });
}

Result<std::optional<Amount>> Engine::override_of(const Charge& charge, Instant now) {
  return with_meter(charge, now, [](const MeterAccess& meter) -> Result<std::optional<Amount>> {
    if (meter.override_entry == nullptr) return std::nullopt;
    return meter.override_entry->load<OverrideRecord>().amount;
  });
}

}  // namespace mete::engine
