#include "escrow/terms.h"

#include <chrono>

#include "base/errors.h"
#include "base/math.h"

namespace mete::escrow {

namespace {

using std::chrono::hours;

// A zone may set its clocks by some hours within a period.
constexpr hours kClocksSet{3};

Duration longest(Unit unit) {
  switch (unit) {
    case Unit::kHour:
      return hours(1) + kClocksSet;
    case Unit::kDay:
      return hours(24) + kClocksSet;
    case Unit::kWeek:
      return hours(24) * 7 + kClocksSet;
    case Unit::kMonth:
      return hours(24) * 31 + kClocksSet;
    case Unit::kYear:
      return kHoldTtlMax;
  }
  __builtin_unreachable();
}

// How long an empty bucket takes to be full.
Duration time_to_fill(const Terms& terms) {
  const auto ticks = base::multiply(base::to_unsigned(terms.capacity), base::to_unsigned(terms.period.ns()));
  return Duration::from_ns(base::saturate(base::div_ceil(ticks, base::to_unsigned(terms.amount))));
}

}  // namespace

Result<Terms> terms_of(const Limit& limit, Amount generation) {
  Terms terms{.kind = limit.kind(),
              .amount = limit.amount(),
              .capacity = limit.amount(),
              .period = {},
              .ttl = {},
              .generation = generation};
  if (limit.kind() == Kind::kStock) {
    terms.ttl = kHoldTtlMax;
    terms.is_kept = true;
    terms.is_exactly_kept = limit.durability() == Durable::kAlways;
    return terms;
  }
  if (limit.kind() == Kind::kBucket) terms.capacity = limit.burst().value_or(limit.amount());
  terms.period = limit.kind() == Kind::kCalendar ? longest(limit.unit().value_or(Unit::kYear))
                                                 : limit.period().value_or(kPeriodMax);
  terms.ttl = limit.kind() == Kind::kBucket ? time_to_fill(terms) : terms.period;
  terms.is_kept = limit.kind() != Kind::kBucket && terms.period >= kLongWindow;
  terms.is_exactly_kept = terms.is_kept && limit.durability() == Durable::kAlways;
  if (terms.ttl > kHoldTtlMax) {
    return base::invalid(
        "scope: escrow needs a limit that comes back within 366 days: "
        "use shared, or a shorter period");
  }
  return terms;
}

}  // namespace mete::escrow
