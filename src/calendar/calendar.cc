#include "calendar/calendar.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "calendar/zone.h"

namespace mete::civil {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

// Time outside what an Instant can tell is its first or its last one.
Instant to_instant(sys_seconds at) {
  const std::int64_t unix_seconds = at.time_since_epoch().count();
  if (unix_seconds < 0) return {};
  const auto count = static_cast<std::uint64_t>(unix_seconds);
  return count > Instant::max().unix_seconds() ? Instant::max() : Instant::from_unix_seconds(count);
}

}  // namespace

Calendar::Calendar(Recurrence recurrence, std::shared_ptr<const Zone> zone)
    : recurrence_(recurrence), zone_(std::move(zone)) {
  CHECK(zone_ != nullptr);
}

Result<Calendar> Calendar::make(const Spec& spec) {
  const auto recurrence = TRY(Recurrence::make(spec.unit, spec.anchor));
  auto zone = TRY(load_zone(spec.zone));
  return Calendar(recurrence, std::move(zone));
}

base::Span Calendar::span_at(Instant at) const {
  const sys_seconds second(seconds(static_cast<std::int64_t>(at.unix_seconds())));
  const Period period = period_at(*zone_, recurrence_, second);
  return {.start = to_instant(period.start), .end = to_instant(period.end)};
}

}  // namespace mete::civil
