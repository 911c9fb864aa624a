// Rates out of two counts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/math.h"

namespace mete::cli {

// By how much a count has grown. A server that has started again counts from nothing.
inline std::int64_t growth(std::int64_t before, std::int64_t after) { return after >= before ? after - before : after; }

// A second, to the nearest.
inline std::int64_t rate(std::int64_t before, std::int64_t after, std::uint64_t elapsed_ns) {
  constexpr base::Uint128 kSecondNs = 1'000'000'000;
  const base::Uint128 scaled = static_cast<base::Uint128>(growth(before, after)) * kSecondNs;
  return static_cast<std::int64_t>((scaled + elapsed_ns / 2) / std::max<std::uint64_t>(elapsed_ns, 1));
}

}  // namespace mete::cli
