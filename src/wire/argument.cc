#include "wire/argument.h"

#include <string>

#include "base/errors.h"
#include "base/names.h"
#include "wire/text.h"

namespace mete::wire {

Result<std::int64_t> read_argument(const Argument& argument, std::string_view word) {
  switch (argument.type) {
    case ArgumentType::kInteger:
      if (const auto integer = parse_integer(word)) return *integer;
      return base::invalid("must be an integer");
    case ArgumentType::kDuration:
      return parse_duration(word).map([](Duration duration) { return duration.ns(); });
    case ArgumentType::kDecimal:
      if (const auto duration = parse_decimal_seconds(word)) return duration->ns();
      return base::invalid("value is not a valid number of seconds");
    case ArgumentType::kFlag:
      if (word == "true" || word == "false") return word == "true" ? 1 : 0;
      return base::invalid("takes no value but true or false");
    case ArgumentType::kName:
      if (base::named<int>(argument.names, word)) return 0;
      return base::invalid("must be " + base::name_list(argument.names, ""));
    default:
      return 0;
  }
}

std::optional<Duration> parse_decimal_seconds(std::string_view text) {
  constexpr std::size_t kFractionDigitsMax = 9;
  const std::size_t point = text.find('.');
  const auto whole = parse_integer(text.substr(0, point));
  if (!whole || *whole < 0) return std::nullopt;
  std::int64_t fraction_ns = 0;
  if (point != std::string_view::npos) {
    const std::string_view digits = text.substr(point + 1);
    if (digits.empty() || digits.size() > kFractionDigitsMax) return std::nullopt;
    for (std::size_t index = 0; index < kFractionDigitsMax; ++index) {
      const char digit = index < digits.size() ? digits[index] : '0';
      if (digit < '0' || digit > '9') return std::nullopt;
      fraction_ns = fraction_ns * 10 + (digit - '0');
    }
  }
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(*whole, std::int64_t{1'000'000'000}, &ns) ||
      __builtin_add_overflow(ns, fraction_ns, &ns)) {
    return std::nullopt;
  }
  return Duration::from_ns(ns);
}

}  // namespace mete::wire
