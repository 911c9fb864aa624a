#include "engine/meters.h"

#include "base/check.h"

namespace mete::engine {

namespace {

bool is_current(const Entry* entry, const LimitRecord& limit) {
  return entry == nullptr || ((entry->flags & kEvenRevision) != 0) == limit.is_even;
}

void mark_current(Entry* entry, const LimitRecord& limit) {
  if (entry == nullptr) return;
  entry->flags = static_cast<std::uint8_t>((entry->flags & ~kEvenRevision) | (limit.is_even ? kEvenRevision : 0));
}

}  // namespace

std::optional<MeterAccess> Meters::open(const Entry& entry, Instant now) {
  const LimitRecord* limit = limits_.at(entry.space.limit());
  if (limit == nullptr) return std::nullopt;
  MeterAccess meter;
  address({.limit = limit->definition.name(), .key = entry.key(), .cost = 0}, meter);
  if (!open(meter, now)) return std::nullopt;
  return meter;
}

void Meters::bring_up_to_date(const Entry& entry, Instant now) {
  const EntryType type = entry.space.type();
  if (type == EntryType::kHeldParts) return;
  if (type == EntryType::kOverride) {
    const LimitRecord* limit = limits_.at(entry.space.limit());
    const std::uint64_t hash = hash_of(limit->name_hash, entry.key());
    if (keyspace_.find(hash, {EntryType::kMeter, limit->number}, entry.key()) != nullptr) return;
  }
  (void)open(entry, now);
}

void Meters::open_special(MeterAccess& meter, Instant now) {
  const std::uint32_t limit = meter.limit->number;
  // A key without a meter may still have an override. What has held parts has a meter.
  const std::uint8_t flags = meter.entry != nullptr ? meter.entry->flags : kHasOverride;
  if ((flags & kHasOverride) != 0) {
    meter.override_entry = keyspace_.find(meter.hash, {EntryType::kOverride, limit}, meter.key);
    if (meter.override_entry != nullptr) meter.rule = meter.override_entry->load<OverrideRecord>().rule;
  }
  if ((flags & kHasHeldParts) != 0) {
    const Entry* parts = keyspace_.find(meter.hash, {EntryType::kHeldParts, limit}, meter.key);
    CHECK(parts != nullptr);
    meter.parts = parts->load<HeldParts*>();
  }
  if (meter.entry != nullptr) meter.state = load_state(*meter.entry);
  if (!is_current(meter.entry, *meter.limit) || !is_current(meter.override_entry, *meter.limit)) catch_up(meter);
  if (meter.parts != nullptr) expire_parts(meter, now);
}

// The limit was redefined since: the meter lives on under the old rule up to that instant, and under the new one from
// it.
void Meters::catch_up(MeterAccess& meter) {
  const LimitRecord& limit = *meter.limit;
  if (meter.override_entry == nullptr) {
    meter.rule = limit.previous_rule;
    rebase(meter, *limit.rule, limit.changed_at);
    tell_rebased(meter);
    return;
  }
  auto record = meter.override_entry->load<OverrideRecord>();
  const RuleRecord* old_rule = record.rule;
  record.rule = rules_.acquire_with_amount(*limit.rule, record.amount);
  meter.override_entry->store(record);
  mark_current(meter.override_entry, limit);
  rebase(meter, *record.rule, limit.changed_at);
  rules_.release(old_rule);
  tell_rebased(meter);
}

// The redefinition tells what becomes of a state; but what is left of a part depends on when its meter was looked at.
void Meters::tell_rebased(const MeterAccess& meter) const {
  if (!recorder_.is_on() || meter.parts == nullptr) return;
  Recorder::with_parts(Recorder::change_of(meter), *meter.parts,
                       [&](const MeterChange& change) { recorder_.tell(change, Durable::kEverySecond); });
}

// Moves the meter from its rule to another one, at one instant.
void Meters::rebase(MeterAccess& meter, const RuleRecord& to, Instant at) {
  if (meter.entry != nullptr) {
    if (meter.parts != nullptr) expire_parts(meter, at);
    meter.rebase(to, at);
    resize_entry(meter, core::state_size(to.rule()));
    mark_current(meter.entry, *meter.limit);
    write(meter);
  }
  meter.rule = &to;
}

// Another kind may remember more or less. What is in use stays in use, so the memory ceiling does not count here.
void Meters::resize_entry(MeterAccess& meter, std::uint8_t payload_size) {
  if (payload_size == meter.entry->payload_size) return;
  meter.entry = resized(meter.hash, meter.entry, payload_size);
  meter.key = meter.entry->key();  // it may have been the old entry's
}

Entry* Meters::resized(std::uint64_t hash, Entry* old, std::uint8_t payload_size) {
  Entry* entry = keyspace_.insert(hash, old->space, old->key(), payload_size, Slab::Ceiling::kIgnore);
  CHECK(entry != nullptr);
  entry->flags = old->flags;
  std::memcpy(entry->payload(), old->payload(), std::min(payload_size, old->payload_size));
  keyspace_.erase(hash, old);
  return entry;
}

// One by one, as long as they are few; then all together where that is possible, and the rest of them is erased later.
void Meters::expire_parts(MeterAccess& meter, Instant until) {
  HeldParts& parts = *meter.parts;
  if (parts.empty() || until < parts.first().expires_at) return;
  const core::Rule& rule = meter.rule->rule();
  std::size_t left = HeldParts::can_end_together(rule.kind) ? kExpiredTogether : SIZE_MAX;
  parts.erase_over(left);
  if (!parts.has_due(until)) return;
  for (; left > 0 && !parts.has_over() && parts.has_due(until); --left) {
    const OpenPart& part = parts.first();
    core::expire(rule, meter.state, part, meter.rule->moment(meter.state, part.expires_at));
    parts.erase(part);
  }
  if (parts.has_due(until)) parts.end_together(rule, meter.state, meter.rule->moment(meter.state, until), until);
  write(meter);
  if (recorder_.is_on()) {
    MeterChange change = Recorder::change_of(meter);
    change.expired_until = until;
    recorder_.tell(change, Durable::kEverySecond);
  }
  floor_.raise(until);  // whoever opens this meter next, with an older time, must see these holds expired too
}

bool Meters::insert_entry(MeterAccess& meter) {
  const std::uint8_t size = core::state_size(meter.rule->rule());
  meter.entry = keyspace_.insert(meter.hash, {EntryType::kMeter, meter.limit->number}, meter.key, size);
  if (meter.entry == nullptr) return false;
  if (meter.override_entry != nullptr) meter.entry->flags = kHasOverride;
  mark_current(meter.entry, *meter.limit);
  return true;
}

bool Meters::set_override(MeterAccess& meter, std::optional<Amount> amount) {
  if (!amount) {
    if (meter.override_entry == nullptr) return true;
    rebase(meter, *meter.limit->rule, meter.moment.now);
    if (meter.entry != nullptr) meter.entry->flags &= static_cast<std::uint8_t>(~kHasOverride);
    forget(*meter.override_entry);
    meter.override_entry = nullptr;
    return true;
  }
  OverrideRecord old;
  if (meter.override_entry != nullptr) {
    old = meter.override_entry->load<OverrideRecord>();
  } else {
    const Space space(EntryType::kOverride, meter.limit->number);
    meter.override_entry = keyspace_.insert(meter.hash, space, meter.key, sizeof(OverrideRecord));
    if (meter.override_entry == nullptr) return false;
    mark_current(meter.override_entry, *meter.limit);
  }
  const OverrideRecord record{*amount, rules_.acquire_with_amount(*meter.limit->rule, *amount)};
  meter.override_entry->store(record);
  if (meter.entry != nullptr) meter.entry->flags |= kHasOverride;
  rebase(meter, *record.rule, meter.moment.now);
  if (old.rule != nullptr) rules_.release(old.rule);
  return true;
}

HeldParts* Meters::make_parts(MeterAccess& meter) {
  if (meter.parts != nullptr) return meter.parts;
  const Space space(EntryType::kHeldParts, meter.limit->number);
  // NOLINTNEXTLINE(bugprone-sizeof-expression): the entry has a pointer
  Entry* entry = keyspace_.insert(meter.hash, space, meter.key, sizeof(HeldParts*));
  if (entry == nullptr) return nullptr;
  meter.parts = new HeldParts(memory_);
  entry->store(meter.parts);
  meter.entry->flags |= kHasHeldParts;
  return meter.parts;
}

const OpenPart& Meters::find_part(const MeterAccess& meter, const OpenPart& key) {
  const OpenPart* const found = meter.parts == nullptr ? nullptr : meter.parts->find(key);
  CHECK(found != nullptr);
  return *found;
}

void Meters::remove_part(const MeterAccess& meter, const OpenPart& key) {
  const bool is_there = meter.parts != nullptr && meter.parts->erase(key);
  CHECK(is_there);
}

const HeldParts& Meters::parts_of(const LimitRecord& limit, std::string_view key) const {
  const Entry* entry = keyspace_.find(hash_of(limit.name_hash, key), {EntryType::kHeldParts, limit.number}, key);
  CHECK(entry != nullptr);
  return *entry->load<HeldParts*>();
}

void Meters::forget_if_empty(Entry& entry) {
  const LimitRecord* limit = limits_.at(entry.space.limit());
  const bool is_dropped = limit == nullptr;  // then whoever drops it forgets the entry too
  if (is_dropped || !entry.load<HeldParts*>()->empty()) return;
  const std::uint64_t hash = hash_of(limit->name_hash, entry.key());
  Entry* meter = keyspace_.find(hash, {EntryType::kMeter, limit->number}, entry.key());
  CHECK(meter != nullptr);
  meter->flags &= static_cast<std::uint8_t>(~kHasHeldParts);
  forget(entry);
}

void Meters::forget(Entry& entry) {
  if (entry.space.type() == EntryType::kOverride) {
    rules_.release(entry.load<OverrideRecord>().rule);
  } else if (entry.space.type() == EntryType::kHeldParts) {
    const std::unique_ptr<HeldParts> parts(entry.load<HeldParts*>());
  }
  keyspace_.erase(entry.hash_low, &entry);
}

}  // namespace mete::engine
