// The arithmetic of the scripts, in Redis's own Lua, beside that of 128 bits.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/math.h"
#include "support/files.h"
#include "support/redis_client.h"
#include "support/redis_server.h"

namespace mete::store::redis {
namespace {

using base::Uint128;
__extension__ using Int128 = __int128;

std::string text_of_file(std::string_view file) {
  std::ifstream stream(support::repository() / "src/store/redis/lua" / std::string(file));
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string decimal(Int128 number) {
  const bool is_negative = number < 0;
  std::string digits;
  do {
    const auto digit = static_cast<int>(number % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (is_negative ? -digit : digit)));
    number /= 10;
  } while (number != 0);
  return is_negative ? "-" + digits : digits;
}

// A part of a script, called with many arguments at a time.
class LuaPart {
 public:
  LuaPart(std::string_view file, std::string_view calls) : script_(text_of_file(file) + std::string(calls)) {}

  std::vector<wire::RespValue> call(const std::vector<std::string>& arguments) {
    std::vector<std::string_view> words = {"EVAL", script_, "0"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const wire::RespValue reply = client_.call(words);
    EXPECT_FALSE(reply.is_error()) << reply.text;
    return reply.elements;
  }

 private:
  std::string script_;
  support::RedisServer server_;
  support::RedisClient client_{server_.port()};
};

class Numbers {
 public:
  // Of every length up to so many bits.
  std::uint64_t below(int bits) {
    const int length = std::uniform_int_distribution<int>(0, bits)(engine_);
    return engine_() & ((std::uint64_t{1} << length) - 1);
  }
  bool coin() { return (engine_() & 1) != 0; }

 private:
  std::mt19937_64 engine_{1};
};

constexpr std::size_t kCallsAtATime = 500;
constexpr int kCallRounds = 20;

TEST(LuaArithmetic, MultipliesAndDividesExactly) {
  LuaPart part("arithmetic.lua", R"(
    local answers = {}
    for i = 1, #ARGV, 3 do
      local quotient, rest = muldiv(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]))
      table.insert(answers, string.format('%.0f', quotient))
      table.insert(answers, string.format('%.0f', rest))
    end
    return answers)");
  constexpr std::uint64_t kMax = (std::uint64_t{1} << 53) - 1;
  std::vector<std::array<std::uint64_t, 3>> cases = {
      {kMax, kMax, kMax},      {kMax, kMax, 1}, {kMax, kMax, kMax - 1}, {kMax, kMax - 1, kMax},
      {kMax - 1, 2, kMax},     {0, kMax, kMax}, {kMax, 1, kMax},        {kMax, 1, 1},
      {1U << 27, 1U << 26, 3}, {kMax, 2, 2},    {kMax, 3, 2},           {94906267, 94906267, 94906266},
  };
  Numbers numbers;
  for (int round = 0; round < kCallRounds; ++round) {
    while (cases.size() < kCallsAtATime) {
      cases.push_back({numbers.below(53), numbers.below(53), std::max<std::uint64_t>(numbers.below(53), 1)});
    }
    std::vector<std::string> arguments;
    for (const auto& each : cases) {
      for (const std::uint64_t number : each) arguments.push_back(std::to_string(number));
    }
    const auto answers = part.call(arguments);
    ASSERT_EQ(answers.size(), 2 * cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto [x, y, z] = cases[i];
      const Uint128 product = base::multiply(x, y);
      const auto quotient = static_cast<std::uint64_t>(std::min<Uint128>(product / z, kMax + 1));
      EXPECT_EQ(answers[2 * i].text, std::to_string(quotient)) << x << " * " << y << " / " << z;
      EXPECT_EQ(answers[2 * i + 1].text, std::to_string(static_cast<std::uint64_t>(product % z)))
          << x << " * " << y << " / " << z;
    }
    cases.clear();
  }
}

TEST(LuaDecimals, AddAndCompareExactly) {
  LuaPart part("decimals.lua", R"(
    local answers = {}
    for i = 1, #ARGV, 2 do
      local a, b = ARGV[i], ARGV[i + 1]
      table.insert(answers, sum_of(a, b))
      table.insert(answers, difference_of(a, b))
      table.insert(answers, is_less(a, b) and 'yes' or 'no')
      table.insert(answers, is_int64(sum_of(a, b)) and 'yes' or 'no')
    end
    return answers)");
  constexpr Int128 kMin = std::numeric_limits<std::int64_t>::min();
  constexpr Int128 kMax = std::numeric_limits<std::int64_t>::max();
  constexpr Int128 kCarry = 10'000'000'000;
  std::vector<std::pair<Int128, Int128>> cases;
  const Int128 edges[] = {kMin, kMin + 1,   -kCarry, -kCarry + 1, -1,       0,
                          1,    kCarry - 1, kCarry,  kCarry + 1,  kMax - 1, kMax};
  for (const Int128 a : edges) {
    for (const Int128 b : edges) cases.emplace_back(a, b);
  }
  Numbers numbers;
  const auto any = [&] { return numbers.coin() ? Int128{numbers.below(63)} : -Int128{numbers.below(63)}; };
  for (int round = 0; round < kCallRounds; ++round) {
    while (cases.size() < kCallsAtATime) cases.emplace_back(any(), any());
    std::vector<std::string> arguments;
    for (const auto& [a, b] : cases) {
      arguments.push_back(decimal(a));
      arguments.push_back(decimal(b));
    }
    const auto answers = part.call(arguments);
    ASSERT_EQ(answers.size(), 4 * cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto [a, b] = cases[i];
      const std::string expected[] = {decimal(a + b), decimal(a - b), a < b ? "yes" : "no",
                                      a + b >= kMin && a + b <= kMax ? "yes" : "no"};
      for (std::size_t j = 0; j < 4; ++j) {
        EXPECT_EQ(answers[4 * i + j].text, expected[j]) << decimal(a) << " and " << decimal(b);
      }
    }
    cases.clear();
  }
}

}  // namespace
}  // namespace mete::store::redis
