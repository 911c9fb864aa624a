#include "escrow/terms.h"

#include <algorithm>
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

// Within so long another node notices that its share is idle, and has given it back.
constexpr Duration kGivenBackWithin = std::chrono::seconds(1);

// How long an empty bucket takes to be full.
Duration time_to_fill(const Terms& terms) {
  const auto ticks = base::multiply(base::to_unsigned(terms.capacity), base::to_unsigned(terms.period.ns()));
  return Duration::from_ns(base::saturate(base::div_ceil(ticks, base::to_unsigned(terms.amount))));
}

}  // namespace

Duration idle_time(const Terms& terms) {
  return std::clamp<Duration>(Duration::from_ns(terms.ttl.ns() / 10), std::chrono::milliseconds(100),
                              std::chrono::seconds(3));
}

Duration denied_for(const Terms& terms, Duration retry_after, bool others_hold) {
  if (others_hold && goes_back(terms)) return std::min(retry_after, idle_time(terms) + kGivenBackWithin);
  // A stock comes back when what is held of it is given back or expires: but nobody waits until a share expires.
  const bool is_share = retry_after.ns() > kHoldTtlMax.ns() - Duration(hours(1)).ns();
  return terms.kind == Kind::kStock && is_share ? Duration::never() : retry_after;
}

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
