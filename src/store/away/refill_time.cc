#include "store/away/refill_time.h"

#include "base/math.h"

namespace mete::store {

namespace {

Duration longest(Unit unit) {
  constexpr Duration kHour = std::chrono::hours(1);  // what a change of the zone's offset may add
  switch (unit) {
    case Unit::kHour:
      return kHour + kHour;
    case Unit::kDay:
      return std::chrono::hours(25);
    case Unit::kWeek:
      return std::chrono::hours(7 * 24 + 1);
    case Unit::kMonth:
      return std::chrono::hours(31 * 24 + 1);
    case Unit::kYear:
      return std::chrono::hours(366 * 24 + 1);
  }
  __builtin_unreachable();
}

}  // namespace

Duration refills_within(const Limit& limit) {
  switch (limit.kind()) {
    case Kind::kStock:
      return Duration::never();
    case Kind::kCalendar:
      return longest(*limit.unit());
    case Kind::kWindow:
    case Kind::kSliding:
      return *limit.period();
    case Kind::kBucket:
      break;
  }
  if (limit.amount() <= 0) return Duration::never();
  const auto capacity = static_cast<std::uint64_t>(limit.burst().value_or(limit.amount()));
  const auto ticks = base::multiply(capacity, static_cast<std::uint64_t>(limit.period()->ns()));
  return Duration::from_ns(base::saturate(base::div_ceil(ticks, static_cast<std::uint64_t>(limit.amount()))));
}

}  // namespace mete::store
