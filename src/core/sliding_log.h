// The log of a sliding meter: the charges before the newest one, each with its exact time.
//
//     small   units ·4, a byte each   ages ·4, seven bytes each          an unused place has no units
//     large   units ·4, eight bytes   ages ·4, seven bytes each
//
// An age is counted back from the newest charge. Seven bytes are 834 days of nanoseconds, so longer periods have no
// log.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstring>

#include "base/check.h"
#include "core/sliding.h"

namespace mete::core::sliding::log {

inline constexpr std::size_t kOlderMax = 4;
using Older = boost::container::static_vector<Charged, kOlderMax>;

inline constexpr std::size_t kAgeBytes = 7;
inline constexpr Duration kPeriodMax = std::chrono::hours(24 * 800);
static_assert(kPeriodMax.ns() < std::int64_t{1} << (8 * kAgeBytes));

inline std::size_t unit_bytes(const SlidingState& state) { return state.is_large() ? sizeof(std::uint64_t) : 1; }

// Of one charge. A small layout may be found under a rule that has a large one.
inline Amount units_max(const SlidingState& state) { return state.is_large() ? kAmountMax : 0xff; }

inline Amount units_at(const SlidingState& state, std::size_t place) {
  std::uint64_t units = 0;
  std::memcpy(&units, state.log.data() + place * unit_bytes(state), unit_bytes(state));
  return static_cast<Amount>(units);
}

// The sum; -1 if there is none that a meter can have.
inline Amount units(const SlidingState& state) {
  Amount sum = 0;
  for (std::size_t i = 0; i < kOlderMax; ++i) {
    const Amount at_place = units_at(state, i);
    if (at_place < 0 || at_place > kAmountMax) return -1;
    sum += at_place;
  }
  return sum;
}

// The oldest first.
inline Older read(const SlidingState& state) {
  Older older;
  const std::uint8_t* ages = state.log.data() + kOlderMax * unit_bytes(state);
  for (std::size_t i = 0; i < kOlderMax && units_at(state, i) > 0; ++i) {
    std::uint64_t age = 0;
    std::memcpy(&age, ages + i * kAgeBytes, kAgeBytes);
    older.push_back({Instant::from_ns(state.start.ns() - age), units_at(state, i)});
  }
  return older;
}

inline void write(SlidingState& state, const Older& older) {
  state.log = {};
  std::uint8_t* ages = state.log.data() + kOlderMax * unit_bytes(state);
  for (std::size_t i = 0; i < older.size(); ++i) {
    const auto units = base::to_unsigned(older[i].units);
    CHECK(older[i].units <= units_max(state));
    std::memcpy(state.log.data() + i * unit_bytes(state), &units, unit_bytes(state));
    const std::uint64_t age = state.start.ns() - older[i].start.ns();
    std::memcpy(ages + i * kAgeBytes, &age, kAgeBytes);
  }
}

}  // namespace mete::core::sliding::log
