// Reading changes. Checksums have shown that the bytes are as they were written; that they were written by this program
// is not taken for granted, so nothing of them is used before it is within its bounds.

#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "core/limit_fields.h"
#include "core/state.h"
#include "core/validate.h"
#include "engine/records/change.h"
#include "engine/records/change_codec.h"
#include "engine/records/change_tags.h"

namespace mete::engine {

namespace {

Error unreadable(std::string_view what) {
  return base::invalid("a change of " + std::string(what) + " cannot be read");
}

bool is_amount(std::uint64_t value) { return value <= static_cast<std::uint64_t>(kAmountMax); }

bool is_key(std::string_view key) { return !key.empty() && key.size() <= kKeyBytesMax; }

bool is_id(std::string_view id) { return !id.empty() && id.size() <= kIdBytesMax; }

// An enumerator, if the byte is one of the first `count`.
template <class Enum>
bool read_enum(Decoder& bytes, Enum last, Enum& value) {
  const std::uint8_t number = bytes.byte();
  value = static_cast<Enum>(number);
  return number <= static_cast<std::uint8_t>(last);
}

bool read_amount(Decoder& bytes, Amount& amount) {
  const std::uint64_t value = bytes.varint();
  amount = static_cast<Amount>(value);
  return is_amount(value);
}

// The least bytes that a part or a charge of a hold takes: no list is longer than its bytes allow.
constexpr std::size_t kPartBytesMin = 20;

bool read_parts(Decoder& bytes, PartChanges& parts) {
  const std::uint64_t count = bytes.varint();
  if (count > bytes.left() / kPartBytesMin) return false;
  parts.resize(count);
  for (PartChange& part : parts) {
    part.serial = bytes.varint();
    part.charge = bytes.varint();
    part.expires_at = bytes.instant();
    if (!read_amount(bytes, part.units)) return false;
    part.made_at = bytes.instant();
    part.id = bytes.text();
    if (part.charge >= kChargesMax || part.id.size() > kIdBytesMax) return false;
  }
  return true;
}

Result<void> read_meter(Decoder& bytes, unsigned flags, ChangeVisitor& visitor) {
  MeterChange change;
  change.is_even = (flags & kIsEvenFlag) != 0;
  change.generation = bytes.varint();
  change.key = bytes.text();
  change.state = bytes.text();
  bool is_good = is_key(change.key) && change.state.size() <= sizeof(core::State) && change.state.size() % 8 == 0;
  if ((flags & kHasPartChangesFlag) != 0) {
    change.expired_until = bytes.instant();
    is_good = is_good && read_parts(bytes, change.removed) && read_parts(bytes, change.added);
  }
  if (!is_good || !bytes.is_whole()) return unreadable("a meter");
  return visitor.visit(change);
}

void read_verdict(Decoder& bytes, core::Verdict& verdict) {
  verdict.is_allowed = bytes.byte() != 0;
  verdict.violated = static_cast<std::uint16_t>(bytes.varint());
  verdict.taken = static_cast<Amount>(bytes.varint());  // of several charges: above the most that one may be
  verdict.remaining = bytes.signed_number();
  verdict.limit = bytes.signed_number();
  verdict.retry_after = Duration::from_ns(bytes.signed_number());
  verdict.reset_after = Duration::from_ns(bytes.signed_number());
}

bool read_hold(Decoder& bytes, HoldRecord& hold) {
  hold.serial = bytes.varint();
  const std::uint8_t state = bytes.byte();
  hold.state = static_cast<HoldState>(state & kHoldStateMask);
  hold.end.is_known = (state & kEndIsKnownFlag) != 0;
  hold.end.is_of_all = (state & kEndIsOfAllFlag) != 0;
  if ((state & ~(kHoldStateMask | kEndIsKnownFlag | kEndIsOfAllFlag)) != 0 || hold.state > HoldState::kExpired)
    return false;
  hold.expires_at = bytes.instant();
  hold.final_at = bytes.instant();
  hold.tag = bytes.text();
  const std::uint64_t count = bytes.varint();
  if (count > kChargesMax || hold.tag.size() > kTagBytesMax) return false;
  hold.charges.resize(count);
  for (HoldCharge& charge : hold.charges) {
    charge.limit = bytes.text();
    charge.key = bytes.text();
    charge.generation = bytes.varint();
    if (!read_amount(bytes, charge.units)) return false;
    charge.is_backed = bytes.byte() != 0;
    if (!core::validate_name(charge.limit) || !is_key(charge.key)) return false;
  }
  if (!hold.end.is_known) return true;
  hold.end.answer.amount = static_cast<Amount>(bytes.varint());  // of several charges: above the most that one may be
  hold.end.answer.remaining = bytes.signed_number();
  hold.end.answer.limit = bytes.signed_number();
  return true;
}

Result<void> read_operation(Decoder& bytes, unsigned flags, ChangeVisitor& visitor) {
  OperationChange change;
  change.id = bytes.text();
  change.record.fingerprint = bytes.number();
  change.record.made_at = bytes.instant();
  read_verdict(bytes, change.record.verdict);
  bool is_good = is_id(change.id);
  if ((flags & kHasHoldFlag) != 0) is_good = is_good && read_hold(bytes, change.hold.emplace());
  if (!is_good || !bytes.is_whole()) return unreadable("an operation");
  return visitor.visit(change);
}

Result<void> read_override(Decoder& bytes, unsigned flags, ChangeVisitor& visitor) {
  OverrideChange change;
  change.generation = bytes.varint();
  change.key = bytes.text();
  bool is_good = is_key(change.key);
  if ((flags & kHasAmountFlag) != 0) {
    is_good = is_good && read_amount(bytes, change.amount.emplace()) && *change.amount > 0;
  }
  if (!is_good || !bytes.is_whole()) return unreadable("an override");
  return visitor.visit(change);
}

// Only what an operation could have been given.
bool is_rule(core::KeyType type, const core::Rule& rule) {
  if (type == core::KeyType::kQuota) {
    return core::validate_quota({.amount = rule.amount, .window = rule.period}).has_value();
  }
  return core::validate_throttle({.capacity = rule.capacity, .count = rule.amount, .period = rule.period}).has_value();
}

Result<void> read_key(Decoder& bytes, ChangeVisitor& visitor) {
  KeyChange change;
  change.key = bytes.text();
  bool is_good = read_enum(bytes, core::KeyType::kThrottle, change.type) && is_key(change.key);
  if (change.type == core::KeyType::kCounter) {
    change.value = bytes.signed_number();
    change.expires_at = bytes.instant();
  } else if (is_good && change.type != core::KeyType::kNone) {
    change.rule.kind = change.type == core::KeyType::kQuota ? Kind::kWindow : Kind::kBucket;
    is_good = read_amount(bytes, change.rule.amount) && read_amount(bytes, change.rule.capacity);
    change.rule.period = Duration::from_ns(static_cast<std::int64_t>(bytes.varint()));
    change.state = bytes.text();
    is_good = is_good && is_rule(change.type, change.rule) && change.state.size() == core::state_size(change.rule);
  }
  if (!is_good || !bytes.is_whole()) return unreadable("a key");
  return visitor.visit(change);
}

core::FieldValue read_value(Decoder& bytes, core::FieldType type) {
  if (type == core::FieldType::kName) return {bytes.byte()};
  if (type == core::FieldType::kAmount) return {static_cast<Amount>(bytes.varint())};
  if (type == core::FieldType::kText) return {.text = bytes.text()};
  return {type == core::FieldType::kFlag ? 1 : bytes.signed_number()};
}

Result<void> read_limit(Decoder& bytes, unsigned flags, ChangeVisitor& visitor) {
  const std::uint64_t generation = bytes.varint();
  const Instant changed_at = bytes.instant();
  LimitFields fields{.name = std::string(bytes.text())};
  bool is_good = true;
  unsigned given = 0;
  for (const core::LimitField& field : core::kLimitFields) {
    if (&field == &core::kLimitFields[core::kLimitFieldsRequired]) given = bytes.byte();
    if (field.journal_flag != 0 && (given & field.journal_flag) == 0) continue;
    const core::FieldValue value = read_value(bytes, field.type);
    is_good = is_good && (field.names.empty() || !base::name_of(field.names, value.number).empty());
    field.set(fields, value);
  }
  Limit limit(std::move(fields));
  if (!is_good || !bytes.is_whole() || generation == 0 || !core::validate_limit(limit)) return unreadable("a limit");
  LimitChange change{generation, (flags & kIsEvenFlag) != 0, changed_at, std::move(limit)};
  return visitor.visit(change);
}

Result<void> read_drop(Decoder& bytes, ChangeVisitor& visitor) {
  DropChange change{bytes.varint()};
  if (!bytes.is_whole()) return unreadable("a dropped limit");
  return visitor.visit(change);
}

Result<void> read_numbers(Decoder& bytes, ChangeVisitor& visitor) {
  NumbersChange change;
  change.next_generation = bytes.varint();
  change.next_serial = bytes.varint();
  if (!bytes.is_whole()) return unreadable("numbers");
  return visitor.visit(change);
}

Result<void> read_change(Decoder& bytes, ChangeVisitor& visitor) {
  const std::uint8_t first = bytes.byte();
  const auto flags = static_cast<unsigned>(first & ~kChangeTagMask);
  switch (static_cast<ChangeTag>(first & kChangeTagMask)) {
    case ChangeTag::kMeter:
      return read_meter(bytes, flags, visitor);
    case ChangeTag::kOperation:
      return read_operation(bytes, flags, visitor);
    case ChangeTag::kOverride:
      return read_override(bytes, flags, visitor);
    case ChangeTag::kKey:
      return read_key(bytes, visitor);
    case ChangeTag::kLimit:
      return read_limit(bytes, flags, visitor);
    case ChangeTag::kDrop:
      return read_drop(bytes, visitor);
    case ChangeTag::kClear: {
      ClearChange change;
      return visitor.visit(change);
    }
    case ChangeTag::kNumbers:
      return read_numbers(bytes, visitor);
  }
  return unreadable("an unknown kind (" + std::to_string(first & kChangeTagMask) + ")");
}

}  // namespace

Result<void> read_changes(std::string_view record, ChangeVisitor& visitor) {
  Decoder bytes(record);
  while (bytes.left() > 0) {
    TRY(read_change(bytes, visitor));
  }
  return {};
}

}  // namespace mete::engine
