// What the model accepts, in its own words.
#pragma once

#include <mete/decision.h>
#include <mete/result.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace mete::model {

inline Error refuse(ErrorCode code) { return Error{code, "refused by the model"}; }

inline bool is_from_to(Amount value, Amount min) { return value >= min && value <= kAmountMax; }

inline bool is_valid_name(std::string_view name) {
  const auto is_control = [](char byte) { return (byte >= 0 && byte < ' ') || byte == '\x7f'; };
  return !name.empty() && name.size() <= kNameBytesMax && std::none_of(name.begin(), name.end(), is_control);
}
inline bool is_valid_key(std::string_view key) { return !key.empty() && key.size() <= kKeyBytesMax; }
inline bool is_valid_id(std::string_view id) { return id.size() <= kIdBytesMax; }
inline bool is_valid_tag(std::string_view tag) { return tag.size() <= kTagBytesMax; }

inline bool are_valid_amounts(std::span<const Amount> amounts) {
  return std::all_of(amounts.begin(), amounts.end(), [](Amount amount) { return is_from_to(amount, 0); });
}

// A limit whose name has control characters cannot exist, so a charge on it is not refused but unknown.
inline bool are_valid_charges(std::span<const Charge> charges, Amount cost_min) {
  const auto is_valid = [&](const Charge& charge) {
    const bool is_name_fine = !charge.limit.empty() && charge.limit.size() <= kNameBytesMax;
    return is_name_fine && is_valid_key(charge.key) && is_from_to(charge.cost, cost_min);
  };
  return !charges.empty() && charges.size() <= kChargesMax && std::all_of(charges.begin(), charges.end(), is_valid);
}

inline bool is_valid_limit(const Limit& limit) {
  if (!is_valid_name(limit.name()) || !is_from_to(limit.amount(), 1)) return false;
  const bool is_calendar = limit.kind() == Kind::kCalendar;
  const bool wants_period = !is_calendar && limit.kind() != Kind::kStock;
  if (limit.period().has_value() != wants_period || limit.unit().has_value() != is_calendar) return false;
  if (wants_period && (*limit.period() < kPeriodMin || *limit.period() > kPeriodMax)) return false;
  if (limit.burst() && (limit.kind() != Kind::kBucket || !is_from_to(*limit.burst(), 1))) return false;
  return is_calendar || (!limit.zone() && !limit.anchor());
}

}  // namespace mete::model
