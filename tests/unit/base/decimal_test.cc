#include "base/decimal.h"

#include <gtest/gtest.h>

#include <charconv>
#include <limits>
#include <random>
#include <string>

namespace mete::base {
namespace {

std::string ours(std::int64_t value) {
  std::array<char, kDecimalBytesMax> digits{};
  const char* const end = write_decimal(digits.data(), value);
  return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

std::string theirs(std::int64_t value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

TEST(Decimal, IsRightAtEveryEdge) {
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                   std::int64_t{0}, std::int64_t{-1}}) {
    EXPECT_EQ(ours(value), theirs(value));
  }
  EXPECT_EQ(ours(std::numeric_limits<std::int64_t>::min()).size(), kDecimalBytesMax);
  // Around every power of ten and of two.
  for (std::int64_t power = 1; power < std::numeric_limits<std::int64_t>::max() / 10; power *= 10) {
    for (const std::int64_t value : {power - 1, power, power + 1, power * 10 - 1, -power + 1, -power, -power - 1}) {
      EXPECT_EQ(ours(value), theirs(value));
    }
  }
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    for (const std::int64_t value : {power - 1, power, power + 1, -power}) EXPECT_EQ(ours(value), theirs(value));
  }
}

TEST(Decimal, IsRightForRandomNumbersOfEveryLength) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200'000; ++round) {
    const auto value = static_cast<std::int64_t>(random() >> (random() % 64));
    ASSERT_EQ(ours(value), theirs(value));
    ASSERT_EQ(ours(-value), theirs(-value));
  }
}

}  // namespace
}  // namespace mete::base
