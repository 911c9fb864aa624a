// Restoring: entries are made what recorded changes say that they became, one record after the other, before the first
// operation.
//
// A snapshot is made while operations go on, so it shows some entries as they were later than others. The records
// behind it go over all that was changed since it began, in order, and so bring everything to where the last of them
// stood; meanwhile there may be a hold without its parts, or parts without their hold. Nothing is refused for that.

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "engine/engine.h"
#include "engine/operation.h"

namespace mete::engine {

class Engine::Restorer final : public ChangeVisitor {
 public:
  explicit Restorer(Engine& engine) : engine_(engine) {}

  Result<void> visit(MeterChange& change) override;
  Result<void> visit(OperationChange& change) override;
  Result<void> visit(OverrideChange& change) override;
  Result<void> visit(KeyChange& change) override {
    engine_.keys_.restore(change);
    return {};
  }
  Result<void> visit(LimitChange& change) override;
  Result<void> visit(DropChange& change) override {
    if (const LimitRecord* limit = limit_of(change.generation)) drop(*limit);
    return {};
  }
  Result<void> visit(ClearChange& /*change*/) override {
    engine_.clear();
    return {};
  }
  Result<void> visit(NumbersChange& change) override {
    engine_.next_generation_ = std::max(engine_.next_generation_, change.next_generation);
    engine_.next_serial_.store(std::max(engine_.next_serial_.load(), change.next_serial));
    return {};
  }

 private:
  // Null if it has been dropped.
  [[nodiscard]] const LimitRecord* limit_of(std::uint64_t generation) const;
  void drop(const LimitRecord& limit);

  Engine& engine_;
};

Result<void> Engine::restore(std::string_view record) {
  CHECK(!recorder_.is_on());
  Restorer restorer(*this);
  return read_changes(record, restorer);
}

void Engine::finish_restoring(Instant latest) {
  bring_all_up_to_date();
  for (const RuleRecord* rule : outdated_rules_) rules_.release(rule);
  outdated_rules_ = decltype(outdated_rules_)();
  restored_limits_ = decltype(restored_limits_)();
  floor_.raise(latest);
  restore_tags();
}

// What limits that were redefined or dropped have left. A journal may have many of these, and each walk over everything
// takes its time; so they are gathered until a walk is needed.
void Engine::bring_all_up_to_date() {
  if (outdated_limits_.empty() && dropped_numbers_.empty()) return;
  keyspace_.visit_all([&](Entry& entry) {
    if (!entry.space.has_limit()) return;
    const LimitRecord* limit = limits_.at(entry.space.limit());
    if (limit == nullptr) {
      meters_.forget(entry);
    } else if (outdated_limits_.contains(limit->number)) {
      meters_.bring_up_to_date(entry, limit->changed_at);
    }
  });
  outdated_limits_.clear();
  for (const std::uint32_t number : dropped_numbers_) limits_.reuse_number(number);
  dropped_numbers_.clear();
}

void Engine::Restorer::drop(const LimitRecord& limit) {
  engine_.outdated_limits_.erase(limit.number);
  engine_.dropped_numbers_.push_back(limit.number);
  engine_.outdated_rules_.push_back(limit.rule);
  const LimitTable::Retired retired = engine_.limits_.remove(&limit);
}

const LimitRecord* Engine::Restorer::limit_of(std::uint64_t generation) const {
  const auto found = engine_.restored_limits_.find(generation);
  if (found == engine_.restored_limits_.end()) return nullptr;
  const LimitRecord* limit = engine_.limits_.at(found->second);
  return limit != nullptr && limit->generation == generation ? limit : nullptr;
}

Result<void> Engine::Restorer::visit(MeterChange& change) {
  const LimitRecord* limit = limit_of(change.generation);
  if (limit == nullptr) return {};  // dropped since
  const std::uint64_t hash = engine_.meters_.hash_of(limit->name_hash, change.key);
  const Keyspace::Guard guard(engine_.keyspace_, hash);
  return engine_.meters_.restore(*limit, hash, change);
}

Result<void> Engine::Restorer::visit(OverrideChange& change) {
  const LimitRecord* limit = limit_of(change.generation);
  if (limit == nullptr) return {};
  const std::uint64_t hash = engine_.meters_.hash_of(limit->name_hash, change.key);
  const Keyspace::Guard guard(engine_.keyspace_, hash);
  engine_.meters_.restore(*limit, hash, change);
  return {};
}

Result<void> Engine::Restorer::visit(OperationChange& change) {
  const OperationId id = engine_.ids_.named(change.id);
  const Keyspace::Guard guard(engine_.keyspace_, id.hash);
  if (Entry* old = engine_.ids_.find(id)) {
    const HoldRecord* hold = old->load<OperationRecord>().hold;
    if (hold != nullptr && hold->state == HoldState::kHeld) engine_.open_holds_.fetch_sub(1);
    engine_.ids_.forget(*old);
  }
  if (change.hold) {
    auto hold = std::make_unique<HoldRecord>(std::move(*change.hold));
    for (HoldCharge& charge : hold->charges) {
      charge.hash = engine_.meters_.hash_of({.limit = charge.limit, .key = charge.key, .cost = 0}).of_meter;
    }
    engine_.next_serial_.store(std::max(engine_.next_serial_.load(), hold->serial + 1));
    if (hold->state == HoldState::kHeld) engine_.open_holds_.fetch_add(1);
    change.record.hold = hold.release();
  }
  engine_.ids_.restore(change.id, change.record);
  return {};
}

// Tags lie in other buckets than the ids that they name: they come when all holds are there, a page at a time.
void Engine::restore_tags() {
  struct TaggedHold {
    std::string tag;
    std::string id;
    Instant expires_at;
  };
  constexpr std::size_t kPageHolds = 10'000;
  std::vector<TaggedHold> page;
  std::uint64_t cursor = 0;
  do {
    page.clear();
    const auto is_full = [&] { return page.size() >= kPageHolds; };
    cursor = keyspace_.visit_page(cursor, is_full, [&](const Entry& entry) {
      if (entry.space.type() != EntryType::kOperation) return;
      const HoldRecord* hold = entry.load<OperationRecord>().hold;
      if (hold == nullptr || hold->state != HoldState::kHeld || hold->tag.empty()) return;
      page.push_back({hold->tag, std::string(entry.key()), hold->expires_at});
    });
    for (const TaggedHold& hold : page) {
      const Keyspace::Guard guard(keyspace_, tags_.hash_of(hold.tag));
      CHECK(tags_.make_entry(hold.tag, Slab::Ceiling::kIgnore));
      tags_.put(hold.tag, hold.id, hold.expires_at);
    }
  } while (cursor != 0);
}

Result<void> Engine::Restorer::visit(LimitChange& change) {
  engine_.next_generation_ = std::max(engine_.next_generation_, change.generation + 1);
  const LimitRecord* old = limit_of(change.generation);
  if (old != nullptr && old->definition.name() != change.limit.name()) {
    return base::invalid("a limit changes its name: '" + change.limit.name() + "'");
  }
  const std::uint64_t name_hash = engine_.meters_.hash_of_name(change.limit.name());
  if (old == nullptr) {
    const LimitRecord* namesake = engine_.limits_.find(change.limit.name(), name_hash);
    if (namesake != nullptr) drop(*namesake);  // it was dropped and defined anew
  }
  auto rule = TRY(engine_.rules_.acquire(change.limit));
  auto record = std::make_unique<LimitRecord>(change.limit, name_hash);
  record->rule = rule;
  record->generation = change.generation;
  record->is_even = change.is_even;
  record->changed_at = change.changed_at;
  if (old == nullptr) {
    const LimitRecord* const published = record.get();
    const LimitTable::Retired retired = engine_.limits_.publish(std::move(record), nullptr);
    engine_.restored_limits_[change.generation] = published->number;
    return {};
  }
  engine_.outdated_rules_.push_back(old->rule);
  if (old->is_even == change.is_even) {  // the same rule: what is not up to date yet is still of the one before it
    record->previous_rule = old->previous_rule;
    record->changed_at = old->changed_at;
  } else {
    // A meter tells by one bit whether it is up to date, so nothing may be two revisions behind.
    if (engine_.outdated_limits_.contains(old->number)) engine_.bring_all_up_to_date();
    record->previous_rule = old->rule;
    engine_.outdated_limits_.insert(old->number);
  }
  const LimitTable::Retired retired = engine_.limits_.publish(std::move(record), old);
  return {};
}

}  // namespace mete::engine
