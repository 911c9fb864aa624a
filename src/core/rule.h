// Rule: the numbers of a limit, as decisions need them. Checked before it is made: see validate.h.
#pragma once

#include <mete/limit.h>

#include "base/math.h"
#include "base/span.h"

namespace mete::core {

using base::Span;

struct Rule {
  Kind kind = Kind::kStock;
  Amount amount = 1;
  Amount capacity = 1;  // what a fresh meter has: a bucket's burst, any other kind's amount
  Duration period;      // bucket, window and sliding; zero for the others

  [[nodiscard]] std::uint64_t period_ns() const { return static_cast<std::uint64_t>(period.ns()); }

  bool operator==(const Rule&) const = default;
};

// The same rule with another amount; a bucket's burst keeps its ratio to it, rounded up.
constexpr Rule with_amount(Rule rule, Amount amount) {
  const auto scaled = base::multiply(base::to_unsigned(rule.capacity), base::to_unsigned(amount));
  rule.capacity = base::saturate(base::div_ceil(scaled, base::to_unsigned(rule.amount)), kAmountMax);
  rule.amount = amount;
  return rule;
}

// The kinds whose usage belongs to one window, and is forgotten with it.
constexpr bool has_window(Kind kind) { return kind == Kind::kWindow || kind == Kind::kCalendar; }

// The kinds whose usage is a plain number that only operations change, within a window if there is one.
constexpr bool can_shift(Kind kind) { return kind == Kind::kStock || kind == Kind::kWindow || kind == Kind::kCalendar; }

// The window that holds `at`: windows start at the multiples of the period since the epoch.
constexpr Span fixed_window(Duration period, Instant at) {
  const auto length = base::to_unsigned(period.ns());
  const Instant start = Instant::from_ns(at.ns() - at.ns() % length);
  return {start, start + period};
}

// What decisions know of time. `window` holds `now`; only kinds that have one look at it.
struct Moment {
  Instant now;
  Span window;

  bool operator==(const Moment&) const = default;
};

}  // namespace mete::core
