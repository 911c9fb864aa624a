// Admission: the verdict on an operation's charges, all or nothing.
//
// In a header, since this is the hottest path: a decision is a few dozen instructions once it is inlined.
#pragma once

#include <algorithm>
#include <span>

#include "core/take.h"
#include "engine/meter_access.h"

namespace mete::engine {

namespace admission {

// Judges each meter; leaves out the shadow limits that do not fit.
inline void find_violations(std::span<MeterAccess> meters, Mode mode, core::Verdict& verdict) {
  verdict.is_allowed = true;
  if (mode == Mode::kForce) return;
  for (MeterAccess& meter : meters) {
    if (meter.fits(meter.cost)) continue;
    verdict.violated |= meter.charges;
    meter.is_left_out = meter.is_shadow();
    if (!meter.is_shadow()) verdict.is_allowed = false;
  }
}

// As much of a single charge as fits, and one unit at least: denied only if not even that does.
inline void reduce_to_fit(MeterAccess& meter) {
  if (meter.is_shadow() || meter.cost == 0) return;
  meter.cost = std::clamp<Amount>(meter.remaining(), 1, meter.cost);
}

// Only a limit that denies can make one wait.
inline Duration longest_wait(std::span<const MeterAccess> meters) {
  Duration longest;
  for (const MeterAccess& meter : meters) {
    if (!meter.is_shadow()) longest = std::max(longest, meter.wait_for(meter.cost));
  }
  return longest;
}

// The meter with the least remaining, the first such: it stands for the operation in answers. Shadow limits count only
// where there are no others. Null if there are no meters.
inline const MeterAccess* tightest(std::span<const MeterAccess> meters) {
  if (meters.size() == 1) return meters.data();
  const MeterAccess* least = nullptr;
  for (const MeterAccess& meter : meters) {
    const bool is_first = least == nullptr || (least->is_shadow() && !meter.is_shadow());
    const bool is_alike = !is_first && least->is_shadow() == meter.is_shadow();
    if (is_first || (is_alike && meter.remaining() < least->remaining())) least = &meter;
  }
  return least;
}

}  // namespace admission

// Judges, and if the operation is allowed charges the copies of the states. Nothing is written. For kUpTo the meter's
// cost becomes what is taken.
inline core::Verdict admit(std::span<MeterAccess> meters, Mode mode) {
  core::Verdict verdict;
  if (mode == Mode::kUpTo) admission::reduce_to_fit(meters[0]);
  admission::find_violations(meters, mode, verdict);
  if (verdict.is_allowed) {
    for (MeterAccess& meter : meters) {
      verdict.taken += meter.cost;
      if (!meter.is_left_out) meter.charge(meter.cost);
    }
  } else {
    verdict.retry_after = admission::longest_wait(meters);
  }
  const MeterAccess& meter = *admission::tightest(meters);
  core::tell_standing(meter.rule->rule(), meter.state, meter.moment, verdict);
  return verdict;
}

// For whoever asks how each charge's meter stands: see core/operations.h.
inline void tell_usages(std::span<const MeterAccess> meters, std::span<Usage> usages) {
  for (std::size_t i = 0; i < usages.size(); ++i) {
    const auto is_charged = [i](const MeterAccess& meter) { return (meter.charges >> i & 1U) != 0; };
    usages[i] = std::find_if(meters.begin(), meters.end(), is_charged)->usage();
  }
}

// The answer to an operation that gave back or kept `amount`: how things stand now.
inline Settlement settlement_of(Amount amount, std::span<const MeterAccess> meters) {
  const MeterAccess* meter = admission::tightest(meters);
  if (meter == nullptr) return {.amount = amount};
  return {.amount = amount, .remaining = meter->remaining(), .limit = meter->capacity()};
}

}  // namespace mete::engine
