// Messages about keys: counters, quotas and throttles. As messages.h has them.
#pragma once

#include <string_view>

#include "core/key_requests.h"
#include "store/mete/fields.h"

namespace mete::store::servers {

template <>
struct LastName<core::KeyType> : std::integral_constant<core::KeyType, core::KeyType::kThrottle> {};
template <>
struct LastName<core::Expiry::Kind> : std::integral_constant<core::Expiry::Kind, core::Expiry::Kind::kAt> {};
template <>
struct LastName<core::ExpiryCondition>
    : std::integral_constant<core::ExpiryCondition, core::ExpiryCondition::kIfAnyAndSooner> {};
template <>
struct LastName<core::SetCondition> : std::integral_constant<core::SetCondition, core::SetCondition::kIfPresent> {};
template <>
struct LastName<core::KeyReach> : std::integral_constant<core::KeyReach, core::KeyReach::kAllButQuotas> {};

struct ThrottleMessage {
  std::string_view key;
  core::ThrottleRequest request;
};

struct RemoveMessage {
  std::string_view key;
  core::KeyReach reach = core::KeyReach::kAnyKey;
};

struct ExpireMessage {
  std::string_view key;
  core::Expiry expiry;
  core::ExpiryCondition condition = core::ExpiryCondition::kAlways;
};

struct KeyScanMessage {
  std::uint64_t cursor = 0;
  std::size_t count = 0;
};

void visit_fields(Is<core::Expiry> auto& value, auto& each) { each(value.kind, value.length, value.instant); }
void visit_fields(Is<core::SetRequest> auto& value, auto& each) {
  each(value.key, value.value, value.expiry, value.condition, value.wants_old, value.reach);
}
void visit_fields(Is<core::BoundedAdd> auto& value, auto& each) {
  each(value.key, value.by, value.lower, value.upper, value.saturate, value.expiry, value.expiry_only_if_none);
}
void visit_fields(Is<core::ThrottleRequest> auto& value, auto& each) {
  each(value.capacity, value.count, value.period, value.quantity);
}
void visit_fields(Is<ThrottleMessage> auto& value, auto& each) { each(value.key, value.request); }
void visit_fields(Is<RemoveMessage> auto& value, auto& each) { each(value.key, value.reach); }
void visit_fields(Is<ExpireMessage> auto& value, auto& each) { each(value.key, value.expiry, value.condition); }
void visit_fields(Is<KeyScanMessage> auto& value, auto& each) { each(value.cursor, value.count); }
void visit_fields(Is<core::SetAnswer> auto& value, auto& each) { each(value.is_set, value.old, value.is_out_of_reach); }
void visit_fields(Is<core::BoundedSum> auto& value, auto& each) { each(value.value, value.applied); }
void visit_fields(Is<core::ListedKey> auto& value, auto& each) { each(value.key, value.type); }
void visit_fields(Is<core::KeyPage> auto& value, auto& each) { each(value.cursor, value.keys); }

}  // namespace mete::store::servers
