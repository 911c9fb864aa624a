// Messages: what one Mete server asks of another and answers it, field by field, in this order. Pure.
//
// Requests are the words of a command: STORE TAKE, and then the fields. Replies are arrays: the server's time first, in
// nanoseconds since 1970, then the fields of the answer. Views in requests are valid for the call alone.
//
// Both ends must be of the same format: a change here is one of the next version of Mete.
#pragma once

#include <mete/decision.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/requests.h"
#include "core/statistics.h"
#include "core/verdict.h"
#include "store/mete/fields.h"

namespace mete::store::servers {

template <>
struct LastName<Mode> : std::integral_constant<Mode, Mode::kForce> {};
template <>
struct LastName<Kind> : std::integral_constant<Kind, Kind::kStock> {};
template <>
struct LastName<Unit> : std::integral_constant<Unit, Unit::kYear> {};
template <>
struct LastName<Durable> : std::integral_constant<Durable, Durable::kNever> {};
template <>
struct LastName<OnFail> : std::integral_constant<OnFail, OnFail::kOpen> {};
template <>
struct LastName<Scope> : std::integral_constant<Scope, Scope::kEscrow> {};
template <>
struct LastName<HoldState> : std::integral_constant<HoldState, HoldState::kExpired> {};

// --- Requests -------------------------------------------------------------------------------------------------------

struct TakeMessage {
  Mode mode = Mode::kTake;
  bool remembers_denial = true;
  bool wants_usages = false;
  std::string_view id = {};  // empty: none
  std::vector<Charge> charges = {};

  TakeMessage() = default;
  explicit TakeMessage(const core::TakeRequest& request)
      : mode(request.mode),
        remembers_denial(request.remembers_denial),
        wants_usages(!request.usages.empty()),
        id(request.id),
        charges(request.charges.begin(), request.charges.end()) {}
};

struct HoldMessage {
  Duration ttl;
  bool is_id_random = false;
  bool wants_usages = false;
  std::string_view id = {};
  std::string_view tag = {};
  std::vector<Charge> charges = {};

  HoldMessage() = default;
  explicit HoldMessage(const core::HoldRequest& request)
      : ttl(request.ttl),
        is_id_random(request.is_id_random),
        wants_usages(!request.usages.empty()),
        id(request.id),
        tag(request.tag),
        charges(request.charges.begin(), request.charges.end()) {}
};

struct ExtendMessage {
  std::string_view id;
  Duration ttl;
};

struct MeterMessage {
  std::string_view limit;
  std::string_view key;
};

struct HoldsMessage {
  MeterMessage meter;
  std::size_t count_max = 0;
};

struct ShiftMessage {
  MeterMessage meter;
  Instant since;
  Amount change = 0;
};

struct ScanMessage {
  std::string_view limit;
  std::uint64_t cursor = 0;
  std::size_t count = 0;
};

// A limit as it was defined: what was not said is not there. (On the way back too.)
struct LimitMessage {
  Kind kind = Kind::kBucket;
  std::string name = {};
  Amount amount = 0;
  std::optional<Duration> period = {};
  std::optional<Unit> unit = {};
  std::optional<Amount> burst = {};
  std::optional<std::string> zone = {};
  std::optional<int> anchor = {};
  bool is_shadow = false;
  std::optional<Durable> durable = {};
  OnFail on_fail = OnFail::kClosed;
  Scope scope = Scope::kNode;

  LimitMessage() = default;
  explicit LimitMessage(const Limit& limit);
  [[nodiscard]] Limit limit() const;
};

// --- Answers --------------------------------------------------------------------------------------------------------

// To a take or a hold; a usage per charge if they were asked for.
struct VerdictMessage {
  core::Verdict verdict;
  std::vector<Usage> usages = {};
};

// --- The order of their fields --------------------------------------------------------------------------------------

void visit_fields(Is<Charge> auto& value, auto& each) { each(value.limit, value.key, value.cost); }
void visit_fields(Is<TakeMessage> auto& value, auto& each) {
  each(value.mode, value.remembers_denial, value.wants_usages, value.id, value.charges);
}
void visit_fields(Is<HoldMessage> auto& value, auto& each) {
  each(value.ttl, value.is_id_random, value.wants_usages, value.id, value.tag, value.charges);
}
void visit_fields(Is<ExtendMessage> auto& value, auto& each) { each(value.id, value.ttl); }
void visit_fields(Is<MeterMessage> auto& value, auto& each) { each(value.limit, value.key); }
void visit_fields(Is<HoldsMessage> auto& value, auto& each) { each(value.meter, value.count_max); }
void visit_fields(Is<ShiftMessage> auto& value, auto& each) { each(value.meter, value.since, value.change); }
void visit_fields(Is<ScanMessage> auto& value, auto& each) { each(value.limit, value.cursor, value.count); }
void visit_fields(Is<LimitMessage> auto& value, auto& each) {
  each(value.kind, value.name, value.amount, value.period, value.unit, value.burst, value.zone, value.anchor,
       value.is_shadow, value.durable, value.on_fail, value.scope);
}

void visit_fields(Is<core::Verdict> auto& value, auto& each) {
  each(value.is_allowed, value.violated, value.taken, value.remaining, value.limit, value.retry_after,
       value.reset_after);
}
void visit_fields(Is<Usage> auto& value, auto& each) {
  each(value.used, value.held, value.remaining, value.limit, value.reset_after);
}
void visit_fields(Is<VerdictMessage> auto& value, auto& each) { each(value.verdict, value.usages); }
void visit_fields(Is<HeldCharge> auto& value, auto& each) { each(value.limit, value.key, value.amount); }
void visit_fields(Is<HoldInfo> auto& value, auto& each) {
  each(value.id, value.state, value.expires_in, value.age, value.tag, value.charges);
}
void visit_fields(Is<core::Shifted> auto& value, auto& each) { each(value.change, value.is_late); }
void visit_fields(Is<KeyUsage> auto& value, auto& each) { each(value.key, value.usage); }
void visit_fields(Is<UsagePage> auto& value, auto& each) { each(value.cursor, value.keys); }
void visit_fields(Is<core::Statistics> auto& value, auto& each) {
  each(value.limits, value.rules, value.meters, value.overrides, value.keys, value.expiring_keys, value.ids,
       value.open_holds, value.expired_holds, value.orphans, value.unrecorded_admissions, value.memory_bytes);
}

}  // namespace mete::store::servers
