// Numbers as decimal digits: what most of a reply is made of.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace mete::base {

inline constexpr std::size_t kDecimalBytesMax = 20;  // of a 64-bit number, its sign included

namespace detail {

// The eight digits of a number below 10^8, leading zeros included: the first in the lowest byte, each 0 to 9. Halves
// are divided side by side: two numbers of four digits, then four of two, then eight of one.
inline std::uint64_t eight_digits(std::uint32_t number) {
  std::uint64_t digits = number / 10'000 | std::uint64_t{number % 10'000} << 32;
  std::uint64_t upper = (digits * 5'243 >> 19) & 0x0000'007f'0000'007f;  // by 100, exact below 10^4
  digits = upper | (digits - upper * 100) << 16;
  upper = (digits * 103 >> 10) & 0x000f'000f'000f'000f;  // by 10, exact below 100
  return upper | (digits - upper * 10) << 8;
}

inline constexpr std::uint64_t kZeros = 0x3030'3030'3030'3030;  // eight times '0'

inline char* put_eight(char* at, std::uint32_t number) {
  const std::uint64_t text = eight_digits(number) + kZeros;
  std::memcpy(at, &text, sizeof text);
  return at + 8;
}

// Without leading zeros; writes eight bytes whatever the number's length.
inline char* put_short(char* at, std::uint32_t number) {
  const std::uint64_t digits = eight_digits(number);
  const int leading = std::countr_zero(digits | std::uint64_t{1} << 56) / 8;  // the last digit stays
  const std::uint64_t text = (digits + kZeros) >> leading * 8;
  std::memcpy(at, &text, sizeof text);
  return at + 8 - leading;
}

}  // namespace detail

// Writes the number at `at`, and returns its end. There must be room for kDecimalBytesMax, whatever the number is.
inline char* write_decimal(char* at, std::int64_t value) {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::uint64_t kEightDigits = 100'000'000;
  auto rest = static_cast<std::uint64_t>(value);
  if (value < 0) {
    *at++ = '-';
    rest = 0 - rest;
  }
  if (rest < kEightDigits) return detail::put_short(at, static_cast<std::uint32_t>(rest));
  const auto low = static_cast<std::uint32_t>(rest % kEightDigits);
  rest /= kEightDigits;
  if (rest < kEightDigits) {
    at = detail::put_short(at, static_cast<std::uint32_t>(rest));
  } else {
    at = detail::put_short(at, static_cast<std::uint32_t>(rest / kEightDigits));
    at = detail::put_eight(at, static_cast<std::uint32_t>(rest % kEightDigits));
  }
  return detail::put_eight(at, low);
}

}  // namespace mete::base
