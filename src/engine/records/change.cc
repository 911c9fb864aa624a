#include "engine/records/change.h"

#include "core/limit_fields.h"
#include "engine/records/change_codec.h"
#include "engine/records/change_tags.h"

namespace mete::engine {

namespace {

void write_tag(Encoder& record, ChangeTag tag, unsigned flags = 0) {
  record.byte(static_cast<std::uint8_t>(static_cast<unsigned>(tag) | flags));
}

void write_parts(Encoder& record, const PartChanges& parts) {
  record.varint(parts.size());
  for (const PartChange& part : parts) {
    record.varint(part.serial);
    record.varint(part.charge);
    record.instant(part.expires_at);
    record.varint(static_cast<std::uint64_t>(part.units));
    record.instant(part.made_at);
    record.text(part.id);
  }
}

void write_verdict(Encoder& record, const core::Verdict& verdict) {
  record.byte(verdict.is_allowed ? 1 : 0);
  record.varint(verdict.violated);
  record.varint(static_cast<std::uint64_t>(verdict.taken));
  record.number(verdict.remaining);
  record.number(verdict.limit);
  record.number(verdict.retry_after.ns());
  record.number(verdict.reset_after.ns());
}

void write_hold(Encoder& record, const HoldRecord& hold) {
  record.varint(hold.serial);
  record.byte(static_cast<std::uint8_t>(static_cast<unsigned>(hold.state) | (hold.end.is_known ? kEndIsKnownFlag : 0U) |
                                        (hold.end.is_of_all ? kEndIsOfAllFlag : 0U)));
  record.instant(hold.expires_at);
  record.instant(hold.final_at);
  record.text(hold.tag);
  record.varint(hold.charges.size());
  for (const HoldCharge& charge : hold.charges) {
    record.text(charge.limit);
    record.text(charge.key);
    record.varint(charge.generation);
    record.varint(static_cast<std::uint64_t>(charge.units));
    record.byte(charge.is_backed ? 1 : 0);
  }
  if (!hold.end.is_known) return;
  record.varint(static_cast<std::uint64_t>(hold.end.answer.amount));
  record.number(hold.end.answer.remaining);
  record.number(hold.end.answer.limit);
}

void write_value(Encoder& record, core::FieldType type, const core::FieldValue& value) {
  if (type == core::FieldType::kName) return record.byte(static_cast<std::uint8_t>(value.number));
  if (type == core::FieldType::kAmount) return record.varint(static_cast<std::uint64_t>(value.number));
  if (type == core::FieldType::kText) return record.text(value.text);
  if (type != core::FieldType::kFlag) record.number(value.number);  // a flag is among the flags
}

}  // namespace

void write_change(Encoder& record, const MeterChange& change) {
  const bool has_part_changes = change.has_part_changes();
  write_tag(record, ChangeTag::kMeter,
            (change.is_even ? kIsEvenFlag : 0U) | (has_part_changes ? kHasPartChangesFlag : 0U));
  record.varint(change.generation);
  record.text(change.key);
  record.text(change.state);
  if (!has_part_changes) return;
  record.instant(change.expired_until);
  write_parts(record, change.removed);
  write_parts(record, change.added);
}

void write_operation(Encoder& record, std::string_view id, const OperationRecord& operation) {
  write_tag(record, ChangeTag::kOperation, operation.hold != nullptr ? kHasHoldFlag : 0U);
  record.text(id);
  record.number(operation.fingerprint);
  record.instant(operation.made_at);
  write_verdict(record, operation.verdict);
  if (operation.hold != nullptr) write_hold(record, *operation.hold);
}

void write_change(Encoder& record, const OverrideChange& change) {
  write_tag(record, ChangeTag::kOverride, change.amount ? kHasAmountFlag : 0U);
  record.varint(change.generation);
  record.text(change.key);
  if (change.amount) record.varint(static_cast<std::uint64_t>(*change.amount));
}

void write_change(Encoder& record, const KeyChange& change) {
  write_tag(record, ChangeTag::kKey);
  record.text(change.key);
  record.byte(static_cast<std::uint8_t>(change.type));
  switch (change.type) {
    case core::KeyType::kNone:
      return;
    case core::KeyType::kCounter:
      record.number(change.value);
      record.instant(change.expires_at);
      return;
    case core::KeyType::kQuota:
    case core::KeyType::kThrottle:
      record.varint(static_cast<std::uint64_t>(change.rule.amount));
      record.varint(static_cast<std::uint64_t>(change.rule.capacity));
      record.varint(change.rule.period_ns());
      record.text(change.state);
      return;
  }
}

void write_change(Encoder& record, const LimitChange& change) {
  const Limit& limit = change.limit;
  write_tag(record, ChangeTag::kLimit, change.is_even ? kIsEvenFlag : 0U);
  record.varint(change.generation);
  record.instant(change.changed_at);
  record.text(limit.name());
  unsigned flags = 0;
  for (const core::LimitField& field : core::kLimitFields) flags |= field.told(limit) ? field.journal_flag : 0;
  for (const core::LimitField& field : core::kLimitFields) {
    if (&field == &core::kLimitFields[core::kLimitFieldsRequired]) record.byte(static_cast<std::uint8_t>(flags));
    if (const auto value = field.get(limit)) write_value(record, field.type, *value);
  }
}

void write_change(Encoder& record, const DropChange& change) {
  write_tag(record, ChangeTag::kDrop);
  record.varint(change.generation);
}

void write_change(Encoder& record, const ClearChange& /*change*/) { write_tag(record, ChangeTag::kClear); }

void write_change(Encoder& record, const NumbersChange& change) {
  write_tag(record, ChangeTag::kNumbers);
  record.varint(change.next_generation);
  record.varint(change.next_serial);
}

}  // namespace mete::engine
