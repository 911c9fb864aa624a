// Numbers as decimal digits: what most of a reply is made of.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace mete::base {

inline constexpr std::size_t kDecimalBytesMax = 20;  // of a 64-bit number, its sign included

namespace detail {

inline constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t number = 0; number < 100; ++number) {
    pairs[number * 2] = static_cast<char>('0' + number / 10);
    pairs[number * 2 + 1] = static_cast<char>('0' + number % 10);
  }
  return pairs;
}();

inline constexpr std::array<std::uint64_t, 20> kPowersOfTen = [] {
  std::array<std::uint64_t, 20> powers{};
  std::uint64_t power = 1;
  for (std::uint64_t& entry : powers) {
    entry = power;
    power *= 10;
  }
  return powers;
}();

// 1233 / 4096 is a little more than the decimal logarithm of 2.
inline std::size_t digits_of(std::uint64_t number) {
  const auto estimate = static_cast<std::size_t>(std::bit_width(number | 1U) * 1233 >> 12);
  return estimate + (number >= kPowersOfTen[estimate] ? 1 : 0);
}

}  // namespace detail

// Writes the number at `at`, where there is room for kDecimalBytesMax, and returns the end.
inline char* write_decimal(char* at, std::int64_t value) {
  auto rest = static_cast<std::uint64_t>(value);
  if (value < 0) {
    *at++ = '-';
    rest = 0 - rest;
  }
  if (rest < 10) {
    *at = static_cast<char>('0' + rest);
    return at + 1;
  }
  char* const end = at + detail::digits_of(rest);
  char* to = end;
  const auto put_pair = [&to](std::uint32_t pair) {
    to -= 2;
    std::memcpy(to, detail::kDigitPairs.data() + std::size_t{pair} * 2, 2);
  };
  // Eight digits at a time: dividing 32 bits costs half of dividing 64.
  while (rest >= 100'000'000) {
    auto low = static_cast<std::uint32_t>(rest % 100'000'000);
    rest /= 100'000'000;
    for (int pair = 0; pair < 4; ++pair) {
      put_pair(low % 100);
      low /= 100;
    }
  }
  auto high = static_cast<std::uint32_t>(rest);
  while (high >= 100) {
    put_pair(high % 100);
    high /= 100;
  }
  if (high >= 10) {
    put_pair(high);
  } else {
    *at = static_cast<char>('0' + high);
  }
  return end;
}

}  // namespace mete::base
