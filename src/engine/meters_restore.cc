// Restoring meters: see engine_restore.cc.

#include "base/check.h"
#include "base/errors.h"
#include "engine/meters.h"

namespace mete::engine {

namespace {

Error misfit(const LimitRecord& limit) {
  return base::invalid("a meter of '" + limit.definition.name() + "' does not fit the limit's kind");
}

// Of an amount that the rule does not say, if an override is yet to be restored: then a state has another size.
std::optional<core::State> state_of(const core::Rule& rule, std::string_view bytes) {
  core::State state;
  if (rule.kind == Kind::kSliding) {
    const auto sliding = core::sliding::read_state(bytes);
    if (!sliding) return std::nullopt;
    state.sliding = *sliding;
    return state;
  }
  if (bytes.size() != core::state_size(rule)) return std::nullopt;
  std::memcpy(&state, bytes.data(), bytes.size());
  return state;
}

OpenPart part_of(const PartChange& change) {
  OpenPart part;
  static_cast<core::HeldPart&>(part) = static_cast<const core::HeldPart&>(change);
  part.serial = change.serial;
  part.charge = change.charge;
  part.id = change.id;
  return part;
}

}  // namespace

// The memory ceiling does not count here: what was acknowledged stays.
Result<void> Meters::restore(const LimitRecord& limit, std::uint64_t hash, const MeterChange& change) {
  const Space space(EntryType::kMeter, limit.number);
  const bool is_current = change.is_even == limit.is_even;
  if (!is_current && limit.previous_rule == nullptr) return misfit(limit);
  if (is_current && limit.previous_rule != nullptr) catch_up_before_restoring(limit, hash, change.key);
  Entry* entry = keyspace_.find(hash, space, change.key);
  if (change.state.empty()) {
    if (entry == nullptr) return {};
    Entry* const parts = keyspace_.find(hash, {EntryType::kHeldParts, limit.number}, change.key);
    if (parts != nullptr) forget(*parts);
    forget(*entry);
    return {};
  }
  const core::Rule rule = rule_of(limit, hash, change.key, is_current);
  auto state = state_of(rule, change.state);
  if (!state) return misfit(limit);
  std::uint8_t flags = 0;
  if (entry != nullptr) {
    flags = entry->flags;
  } else if (keyspace_.entry_count(EntryType::kOverride) > 0 &&
             keyspace_.find(hash, {EntryType::kOverride, limit.number}, change.key) != nullptr) {
    flags = kHasOverride;
  }
  const auto size = std::max(core::state_size(rule), static_cast<std::uint8_t>(change.state.size()));
  if (entry != nullptr && entry->payload_size != size) {
    keyspace_.erase(hash, entry);
    entry = nullptr;
  }
  if (entry == nullptr) {
    entry = keyspace_.insert(hash, space, change.key, size, Slab::Ceiling::kIgnore);
    CHECK(entry != nullptr);
  }
  entry->flags = static_cast<std::uint8_t>((flags & ~kEvenRevision) | (change.is_even ? kEvenRevision : 0));
  store_state(*state, *entry);
  if (change.has_part_changes()) restore_parts(*entry, hash, change, rule);
  if (is_current) return {};
  // It was changed while the limit's redefinition had been told, but not been seen by all.
  if ((entry->flags & kHasOverride) != 0) outdate_override(limit, hash, change.key);
  (void)open(*entry, limit.changed_at);
  return {};
}

const core::Rule& Meters::rule_of(const LimitRecord& limit, std::uint64_t hash, std::string_view key,
                                  bool is_current) const {
  const Entry* own = keyspace_.entry_count(EntryType::kOverride) == 0
                         ? nullptr
                         : keyspace_.find(hash, {EntryType::kOverride, limit.number}, key);
  if (own != nullptr && is_current) return own->load<OverrideRecord>().rule->rule();
  return is_current ? limit.rule->rule() : limit.previous_rule->rule();
}

// The limit was redefined by an earlier record. The state will be replaced; but the override and the parts, as far as
// they stay, must come under the new rule too.
void Meters::catch_up_before_restoring(const LimitRecord& limit, std::uint64_t hash, std::string_view key) {
  for (const EntryType type : {EntryType::kMeter, EntryType::kOverride}) {
    if (keyspace_.entry_count(type) == 0) continue;
    const Entry* entry = keyspace_.find(hash, {type, limit.number}, key);
    if (entry != nullptr && ((entry->flags & kEvenRevision) != 0) != limit.is_even)
      (void)open(*entry, limit.changed_at);
  }
}

void Meters::restore_parts(Entry& meter, std::uint64_t hash, const MeterChange& change, const core::Rule& rule) {
  const Space space(EntryType::kHeldParts, meter.space.limit());
  Entry* entry = keyspace_.find(hash, space, change.key);
  if (entry == nullptr) {
    if (change.added.empty()) return;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): the entry has a pointer
    entry = keyspace_.insert(hash, space, change.key, sizeof(HeldParts*), Slab::Ceiling::kIgnore);
    CHECK(entry != nullptr);
    entry->store(new HeldParts(memory_));
  }
  meter.flags |= kHasHeldParts;
  HeldParts& parts = *entry->load<HeldParts*>();
  while (!parts.empty() && parts.first().expires_at <= change.expired_until) parts.erase(parts.first());
  for (const PartChange& removed : change.removed) parts.erase(part_of(removed));
  const core::State state = load_state(meter);
  for (const PartChange& added : change.added) {
    const OpenPart part = part_of(added);
    parts.erase(part);
    parts.insert(part, rule, state);
  }
}

// Puts an override back under the limit's rule before this one, so that its meter can be moved on from there.
void Meters::outdate_override(const LimitRecord& limit, std::uint64_t hash, std::string_view key) {
  Entry* entry = keyspace_.find(hash, {EntryType::kOverride, limit.number}, key);
  CHECK(entry != nullptr);
  auto record = entry->load<OverrideRecord>();
  const RuleRecord* present = record.rule;
  record.rule = rules_.acquire_with_amount(*limit.previous_rule, record.amount);
  entry->store(record);
  entry->flags = static_cast<std::uint8_t>((entry->flags & ~kEvenRevision) | (limit.is_even ? 0 : kEvenRevision));
  rules_.release(present);
}

void Meters::restore(const LimitRecord& limit, std::uint64_t hash, const OverrideChange& change) {
  Entry* meter = keyspace_.find(hash, {EntryType::kMeter, limit.number}, change.key);
  const Space space(EntryType::kOverride, limit.number);
  if (Entry* old = keyspace_.find(hash, space, change.key)) forget(*old);
  if (meter != nullptr) meter->flags &= static_cast<std::uint8_t>(~kHasOverride);
  if (!change.amount) return;
  Entry* entry = keyspace_.insert(hash, space, change.key, sizeof(OverrideRecord), Slab::Ceiling::kIgnore);
  CHECK(entry != nullptr);
  entry->store(OverrideRecord{*change.amount, rules_.acquire_with_amount(*limit.rule, *change.amount)});
  entry->flags = limit.is_even ? kEvenRevision : 0;
  if (meter == nullptr) return;
  meter->flags |= kHasOverride;
  const std::uint8_t size = core::state_size(rule_of(limit, hash, change.key, true));
  if (meter->payload_size < size) resized(hash, meter, size);
}

}  // namespace mete::engine
