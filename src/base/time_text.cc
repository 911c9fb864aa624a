#include "base/time_text.h"

#include <cstdint>
#include <ctime>
#include <string_view>

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

}  // namespace mete::base
