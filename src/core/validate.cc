#include "core/validate.h"

#include <algorithm>

#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
#include "core/limit_fields.h"

namespace mete::core {

namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string range_text(Amount min, Amount max) { return std::to_string(min) + " to " + std::to_string(max); }

std::string told(Duration duration) {
  return duration.is_never() ? "more than 292 years" : base::duration_text(duration);
}

Result<void> check_range(std::string_view field, Amount value, Amount min) {
  if (value >= min && value <= kAmountMax) return {};
  return base::invalid(std::string(field) + " must be " + range_text(min, kAmountMax) + ", not " +
                       std::to_string(value));
}

Result<void> check_bytes(std::string_view field, std::string_view bytes, std::size_t size_max) {
  if (!bytes.empty() && bytes.size() <= size_max) return {};
  return base::invalid(std::string(field) + " must have 1 to " + std::to_string(size_max) + " bytes, not " +
                       std::to_string(bytes.size()));
}

Result<void> check_period_range(Duration period) {
  if (period >= kPeriodMin && period <= kPeriodMax) return {};
  return base::invalid("period must be 1 ms to 10 years (3653 days), not " + told(period));
}

Result<void> check_period(const Limit& limit) {
  if (!limit.period())
    return base::invalid("period is missing: a " + std::string(to_string(limit.kind())) + " needs one, such as 1m");
  return check_period_range(*limit.period());
}

// In any case.
bool is_tag(std::string_view name) {
  constexpr std::string_view kTag = "tag";
  return std::equal(name.begin(), name.end(), kTag.begin(), kTag.end(),
                    [](char byte, char letter) { return byte == letter || byte == letter - 'a' + 'A'; });
}

// An option that the kind does not have is a mistake to be told, not to be ignored.
Result<void> check_options(const Limit& limit) {
  for (const LimitField& field : kLimitFields) {
    if (!field.is_of(limit.kind()) && field.get(limit)) {
      return base::invalid(std::string(field.own_name) + ": a " + std::string(to_string(limit.kind())) + " takes none");
    }
  }
  if (limit.anchor().value_or(1) < 1) {
    return base::invalid("anchor must be 1 or more, not " + std::to_string(*limit.anchor()));
  }
  if (limit.kind() == Kind::kCalendar && !limit.unit())
    return base::invalid("period is missing: a calendar needs hour, day, week, month or year");
  return {};
}

}  // namespace

Result<void> validate_name(std::string_view name) {
  TRY(check_bytes("limit name", name, kNameBytesMax));
  const auto is_control = [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; };
  if (std::any_of(name.begin(), name.end(), is_control))
    return base::invalid("limit name must not have control characters");
  return {};
}

Result<void> validate_key(std::string_view key) { return check_bytes("key", key, kKeyBytesMax); }

Result<void> validate_amount(Amount amount) { return check_range("amount", amount, 1); }

Result<void> validate_limit(const Limit& limit) {
  TRY(validate_name(limit.name()));
  if (is_tag(limit.name())) {
    return base::invalid("limit name must not be " + quoted(limit.name()) + ": HOLDS TAG lists the holds with a tag");
  }
  TRY(validate_amount(limit.amount()));
  TRY(check_options(limit));
  if ((kPeriodic & bit_of(limit.kind())) != 0) {
    TRY(check_period(limit));
  }
  if (limit.burst()) return check_range("burst", *limit.burst(), 1);
  return {};
}

Result<void> validate_charges(std::span<const Charge> charges, CostRange costs) {
  if (charges.empty() || charges.size() > kChargesMax) {
    return base::invalid("charges: an operation has " + range_text(1, kChargesMax) + ", not " +
                         std::to_string(charges.size()));
  }
  const Amount cost_min = costs == CostRange::kFromOne ? 1 : 0;
  for (const Charge& charge : charges) {
    if (is_plainly_valid(charge) && charge.cost >= cost_min) continue;
    // Which characters a name has does not matter here: a limit of such a name cannot exist.
    TRY(check_bytes("limit name", charge.limit, kNameBytesMax));
    TRY(validate_key(charge.key));
    if (charge.cost < cost_min || charge.cost > kAmountMax) {
      return check_range("cost of " + quoted(charge.limit), charge.cost, cost_min);
    }
  }
  return {};
}

Result<void> validate_takes_count(std::size_t count) {
  if (count <= kTakesMax) return {};
  return base::invalid("takes: a call has at most " + std::to_string(kTakesMax) + ", not " + std::to_string(count));
}

Result<void> validate_mode(std::span<const Charge> charges, Mode mode, std::string_view id) {
  if (mode == Mode::kUpTo && charges.size() > 1) {
    return base::invalid("mode: up_to takes one charge, not " + std::to_string(charges.size()));
  }
  if (mode == Mode::kPeek && !id.empty()) return base::invalid("id: a peek takes none, since it changes nothing");
  return validate_id(id);
}

Result<void> validate_id(std::string_view id) {
  if (id.empty()) return {};
  return validate_hold_id(id);
}

Result<void> validate_hold_id(std::string_view id) { return check_bytes("id", id, kIdBytesMax); }

Result<void> validate_tag(std::string_view tag) {
  if (tag.empty()) return {};
  return check_bytes("tag", tag, kTagBytesMax);
}

Result<void> validate_ttl(Duration ttl) {
  if (ttl > Duration() && ttl <= kHoldTtlMax) return {};
  return base::invalid("ttl must be above 0 and at most 1 year (366 days), not " + told(ttl));
}

Result<void> validate_used(Amount used) { return check_range("amount", used, 0); }

Result<void> validate_change(Amount change) {
  if (change >= -kAmountMax && change <= kAmountMax) return {};
  return base::invalid("change must be " + std::to_string(-kAmountMax) + " to " + std::to_string(kAmountMax) +
                       ", not " + std::to_string(change));
}

Result<void> validate_quota(const QuotaRule& rule) {
  TRY(check_range("limit", rule.amount, 1));
  constexpr std::int64_t kSecond = 1'000'000'000;
  const bool is_whole = rule.window.ns() % kSecond == 0;
  if (is_whole && rule.window.ns() >= kSecond && rule.window <= kPeriodMax) return {};
  return base::invalid("window must be whole seconds, 1 to " + std::to_string(kPeriodMax.seconds()) +
                       " (10 years), not " + told(rule.window));
}

Result<void> validate_consumption(Amount units) {
  if (units >= 1 && units <= kAmountMax) return {};
  return base::invalid("a quota is consumed by " + range_text(1, kAmountMax) + " at once, not by " +
                       std::to_string(units));
}

Result<void> validate_throttle(const ThrottleRequest& request) {
  const auto is_within = [](Amount value, Amount min) { return value >= min && value <= kAmountMax; };
  const bool is_valid = is_within(request.capacity, 1) && is_within(request.count, 1) && request.period >= kPeriodMin &&
                        request.period <= kPeriodMax && is_within(request.quantity, 0);
  if (is_valid) return {};
  TRY(check_range("capacity", request.capacity, 1));
  TRY(check_range("count", request.count, 1));
  TRY(check_period_range(request.period));
  return check_range("quantity", request.quantity, 0);
}

Result<void> validate_expiry(const Expiry& expiry, ExpiryRange range) {
  const bool is_too_far = expiry.length.is_never() || expiry.instant == Instant::max();
  if (is_too_far) return base::invalid("expiry is too far away: it must be before the year 2554, and within 292 years");
  if (expiry.kind == Expiry::Kind::kIn && expiry.length <= Duration() && range == ExpiryRange::kAboveZero) {
    return base::invalid("expiry must be above 0, not " + told(expiry.length));
  }
  return {};
}

Result<void> validate_bounds(const AddBounded& request) {
  if (!request.lower || !request.upper || *request.lower <= *request.upper) return {};
  return base::invalid("lower bound " + std::to_string(*request.lower) + " is above the upper bound " +
                       std::to_string(*request.upper));
}

}  // namespace mete::core
