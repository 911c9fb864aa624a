#include "base/time_text.h"

#include <cstdint>
#include <ctime>
#include <string_view>
#include <utility>

namespace mete::base {

namespace {

struct DurationUnit {
  std::string_view name;
  std::int64_t ns;
};
constexpr DurationUnit kDurationUnits[] = {{"d", 86'400'000'000'000}, {"h", 3'600'000'000'000}, {"m", 60'000'000'000},
                                           {"s", 1'000'000'000},      {"ms", 1'000'000},        {"us", 1'000}};

}  // namespace

std::string time_text(Instant time) {
  const auto seconds = static_cast<std::time_t>(time.unix_seconds());
  std::tm civil{};
  ::gmtime_r(&seconds, &civil);
  char text[32];
  std::string stamp(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.", &civil));
  const std::string milliseconds = std::to_string(1000 + time.ns() / 1'000'000 % 1000);
  return stamp + milliseconds.substr(1) + "Z";
}

std::string duration_text(Duration duration) {
  if (duration.is_never()) return "never";
  if (duration == Duration()) return "0s";
  for (const DurationUnit& unit : kDurationUnits) {
    if (duration.ns() % unit.ns == 0) return std::to_string(duration.ns() / unit.ns) + std::string(unit.name);
  }
  return std::to_string(duration.ns()) + "ns";
}

std::string about_text(Duration duration) {
  if (duration.is_never()) return "never";
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  const std::int64_t seconds = duration.seconds();
  const std::int64_t grain = seconds > kDay ? kHour : seconds > kHour ? kMinute : 1;
  std::int64_t left = (seconds + grain - 1) / grain * grain;
  if (left <= 0) return "0s";
  std::string text;
  for (const auto& [name, length] : {std::pair("d", kDay), {"h", kHour}, {"m", kMinute}, {"s", std::int64_t{1}}}) {
    if (left >= length) text += std::to_string(left / length) + name;
    left %= length;
  }
  return text;
}

}  // namespace mete::base
