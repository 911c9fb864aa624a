#include "sync/plan.h"

#include "base/errors.h"
#include "base/math.h"
#include "base/names.h"
#include "base/time_text.h"
#include "core/refusals.h"
#include "core/rule.h"
#include "core/validate.h"
#include "store/postgres/url.h"
#include "sync/cron.h"
#include "wire/text.h"

namespace mete::sync {

Result<MaxChange> MaxChange::parse(std::string_view text) {
  const bool is_percent = text.ends_with('%');
  const auto number = wire::parse_integer(is_percent ? text.substr(0, text.size() - 1) : text);
  const std::int64_t max = is_percent ? kPercentMax : kAmountMax;
  if (!number || *number < 0 || *number > max) {
    return base::invalid("max_change: " + wire::quote(text) + " is neither a whole percentage such as \"20%\" (up to " +
                         std::to_string(kPercentMax) + "%) nor a number of units");
  }
  return MaxChange(*number, is_percent);
}

bool MaxChange::is_passed(std::int64_t change, std::int64_t used) const {
  if (!is_percent_) return change > number_;
  const base::Uint128 allowed = base::multiply(base::to_unsigned(used), base::to_unsigned(number_));
  return used != 0 && base::multiply(base::to_unsigned(change), 100) > allowed;
}

std::string MaxChange::text() const { return std::to_string(number_) + (is_percent_ ? "%" : ""); }

std::string_view to_string(Missing missing) { return base::name_of(kMissingNames, missing); }

Result<void> check_plan(const Plan& plan) {
  if (auto ok = core::validate_name(plan.limit); !ok) return base::invalid("limit: " + ok.error().message);
  if (!store::postgres::is_postgres_url(plan.source)) {
    return base::invalid("source: only a PostgreSQL can be one: postgres://USER@HOST:PORT/DATABASE");
  }
  if (auto url = store::postgres::parse_url(plan.source); !url) return base::invalid("source: " + url.error().message);
  if (plan.query.find_first_not_of(" \t\r\n;") == std::string::npos) {
    return base::invalid("query: it is empty; use a SELECT that returns a key and an amount");
  }
  if (plan.query.find('\0') != std::string::npos) return base::invalid("query: it holds a NUL");
  if (plan.timeout < kTimeoutMin || plan.timeout > kTimeoutMax) {
    return base::invalid("timeout: it must be " + base::duration_text(kTimeoutMin) + " to " +
                         base::duration_text(kTimeoutMax) + ", not " + base::duration_text(plan.timeout));
  }
  if (plan.schedule.empty()) return {};
  return Cron::make(plan.schedule, plan.zone).map([](const Cron&) {});
}

Result<void> check_kind(const Limit& limit) {
  if (core::can_shift(limit.kind())) return {};
  return core::cannot_shift(limit.name(), limit.kind());
}

}  // namespace mete::sync
