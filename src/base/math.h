// Exact integer arithmetic for decisions: 128-bit intermediates, and rounding that says its direction.
#pragma once

#include <cstdint>
#include <limits>

#include "base/check.h"

namespace mete::base {

__extension__ using Uint128 = unsigned __int128;

// Most dividends fit a register, where a division costs a third of the library call for 128 bits.
constexpr Uint128 div_floor(Uint128 dividend, std::uint64_t divisor) {
  const auto low = static_cast<std::uint64_t>(dividend);
  return low == dividend ? low / divisor : dividend / divisor;
}

constexpr Uint128 div_ceil(Uint128 dividend, std::uint64_t divisor) {
  const auto low = static_cast<std::uint64_t>(dividend);
  if (low == dividend) return Uint128{low / divisor} + (low % divisor == 0 ? 0 : 1);
  return dividend / divisor + (dividend % divisor == 0 ? 0 : 1);
}

constexpr Uint128 multiply(std::uint64_t a, std::uint64_t b) { return Uint128{a} * b; }

// A signed quantity that is known not to be negative, for unsigned arithmetic.
constexpr std::uint64_t to_unsigned(std::int64_t value) {
  CHECK(value >= 0);
  return static_cast<std::uint64_t>(value);
}

// A wide quantity as a signed one, or `max` where it does not fit.
constexpr std::int64_t saturate(Uint128 value, std::int64_t max = std::numeric_limits<std::int64_t>::max()) {
  return value > to_unsigned(max) ? max : static_cast<std::int64_t>(value);
}

}  // namespace mete::base
