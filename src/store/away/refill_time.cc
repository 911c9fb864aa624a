#include "store/away/refill_time.h"

#include <variant>

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

Duration bucket_fills_within(const core::ThrottleRequest& bucket) {
  if (bucket.count <= 0) return Duration::never();
  const auto ticks =
      base::multiply(static_cast<std::uint64_t>(bucket.capacity), static_cast<std::uint64_t>(bucket.period.ns()));
  return Duration::from_ns(base::saturate(base::div_ceil(ticks, static_cast<std::uint64_t>(bucket.count))));
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
  return bucket_fills_within(
      {.capacity = limit.burst().value_or(limit.amount()), .count = limit.amount(), .period = *limit.period()});
}

Duration refills_within(const core::KeyStep& step) {
  if (const auto* take = std::get_if<core::TakeQuota>(&step)) return take->rule.window;
  if (const auto* use = std::get_if<core::Throttle>(&step)) return bucket_fills_within(use->request);
  return {};
}

}  // namespace mete::store
