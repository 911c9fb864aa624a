// The fields of what operations (operations.h, key_operations.h) are made of and answered with, in the order in which
// Mete servers tell them to each other. Pure.
//
// Requests are the words of a command: STORE TAKE, and then the fields. Replies are arrays: the server's time first, in
// nanoseconds since 1970, then the fields of the answer, and of an operation with room for usages those.
//
// Both ends must be of the same format: a change here is one of the next version of Mete.
#pragma once

#include <type_traits>

#include "core/all_operations.h"
#include "core/fields.h"

namespace mete::core {

template <>
struct LastName<Mode> : std::integral_constant<Mode, Mode::kForce> {};
template <>
struct LastName<Kind> : std::integral_constant<Kind, Kind::kStock> {};
template <>
struct LastName<Unit> : std::integral_constant<Unit, Unit::kYear> {};
template <>
struct LastName<Durable> : std::integral_constant<Durable, Durable::kNever> {};
template <>
struct LastName<OnFail> : std::integral_constant<OnFail, OnFail::kLocal> {};
template <>
struct LastName<Scope> : std::integral_constant<Scope, Scope::kEscrow> {};
template <>
struct LastName<HoldState> : std::integral_constant<HoldState, HoldState::kExpired> {};
template <>
struct LastName<KeyType> : std::integral_constant<KeyType, KeyType::kThrottle> {};
template <>
struct LastName<Expiry::Kind> : std::integral_constant<Expiry::Kind, Expiry::Kind::kAt> {};
template <>
struct LastName<ExpiryCondition> : std::integral_constant<ExpiryCondition, ExpiryCondition::kIfAnyAndSooner> {};
template <>
struct LastName<SetCondition> : std::integral_constant<SetCondition, SetCondition::kIfPresent> {};
template <>
struct LastName<KeyReach> : std::integral_constant<KeyReach, KeyReach::kAllButQuotas> {};

// A limit as it was defined: what was not said is not there.
template <>
struct ToldAs<Limit> {
  using Type = LimitFields;
  static const LimitFields& of(const Limit& limit) { return limit.fields(); }
};

// --- Parameters ------------------------------------------------------------------------------------------------------

void visit_fields(Is<Charge> auto& value, auto& each) { each(value.limit, value.key, value.cost); }
void visit_fields(Is<MeterName> auto& value, auto& each) { each(value.limit, value.key); }

// One shift of a ShiftUsage, whose keys may be at different places.
struct OneShift {
  using Answer = Shifted;
  static constexpr Traits kTraits = {"SHIFT", Effect::kSettles, Home::kMeter, Repeat::kNever};
  static void visit(auto& value, auto& each) { each(value.meter, value.since, value.change); }

  MeterName meter;
  Instant since;
  Amount change = 0;
};

void visit_fields(Is<Expiry> auto& value, auto& each) { each(value.kind, value.length, value.instant); }
void visit_fields(Is<QuotaRule> auto& value, auto& each) { each(value.amount, value.window); }
void visit_fields(Is<ThrottleRequest> auto& value, auto& each) {
  each(value.capacity, value.count, value.period, value.quantity);
}

// --- Answers ---------------------------------------------------------------------------------------------------------

void visit_fields(Is<Verdict> auto& value, auto& each) {
  each(value.is_allowed, value.is_unrecorded, value.violated, value.taken, value.remaining, value.limit,
       value.retry_after, value.reset_after);
}
void visit_fields(Is<Usage> auto& value, auto& each) {
  each(value.used, value.held, value.remaining, value.limit, value.reset_after);
}
void visit_fields(Is<Settlement> auto& value, auto& each) { each(value.amount, value.remaining, value.limit); }
void visit_fields(Is<Reconciliation> auto& value, auto& each) { each(value.used_before, value.used_now); }
void visit_fields(Is<Shifted> auto& value, auto& each) { each(value.change, value.is_late); }
void visit_fields(Is<HeldCharge> auto& value, auto& each) { each(value.limit, value.key, value.amount); }
void visit_fields(Is<HoldInfo> auto& value, auto& each) {
  each(value.id, value.state, value.expires_in, value.age, value.tag, value.charges);
}
void visit_fields(Is<KeyUsage> auto& value, auto& each) { each(value.key, value.usage); }
void visit_fields(Is<UsagePage> auto& value, auto& each) { each(value.cursor, value.keys); }
void visit_fields(Is<Statistics> auto& value, auto& each) {
  each(value.rules, value.meters, value.overrides, value.keys, value.expiring_keys, value.ids, value.open_holds,
       value.expired_holds, value.orphans, value.unrecorded_admissions, value.memory_bytes, value.id_retention);
}
void visit_fields(Is<LimitFields> auto& value, auto& each) {
  each(value.kind, value.name, value.amount, value.period, value.unit, value.burst, value.zone, value.anchor,
       value.is_shadow, value.durable, value.on_fail, value.scope);
}
void visit_fields(Is<SetAnswer> auto& value, auto& each) { each(value.is_set, value.old, value.is_out_of_reach); }
void visit_fields(Is<BoundedSum> auto& value, auto& each) { each(value.value, value.applied); }
void visit_fields(Is<QuotaStanding> auto& value, auto& each) { each(value.rule, value.remaining); }
void visit_fields(Is<ListedKey> auto& value, auto& each) { each(value.key, value.type); }
void visit_fields(Is<KeyPage> auto& value, auto& each) { each(value.cursor, value.keys); }

}  // namespace mete::core
