#include "base/duration_text.h"

#include <cstdint>
#include <string_view>

namespace mete::base {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr Unit kUnits[] = {{"d", 86'400'000'000'000}, {"h", 3'600'000'000'000}, {"m", 60'000'000'000},
                           {"s", 1'000'000'000},      {"ms", 1'000'000},        {"us", 1'000}};

}  // namespace

std::string duration_text(Duration duration) {
  if (duration.is_never()) return "never";
  if (duration == Duration()) return "0s";
  for (const Unit& unit : kUnits) {
    if (duration.ns() % unit.ns == 0) return std::to_string(duration.ns() / unit.ns) + std::string(unit.name);
  }
  return std::to_string(duration.ns()) + "ns";
}

}  // namespace mete::base
