#include "base/processor_clock.h"

#include <cstdio>
#include <cstring>
#include <optional>

#include "base/monotonic.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mete::base {

#if defined(__x86_64__)

namespace {

constexpr std::uint64_t kMeasuredNs = 1'000'000;
constexpr std::uint64_t kUncertainTicksMax = 300;  // 0.1 µs: what a look at both clocks takes, undisturbed
constexpr int kLooksMax = 1000;

bool is_invariant() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kPowerLeaf = 0x80000007;
  return __get_cpuid(kPowerLeaf, &a, &b, &c, &d) != 0 && (d >> 8 & 1U) != 0;
}

bool is_the_systems() {
  std::FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file == nullptr) return false;
  char name[8] = {};
  const bool is_read = std::fgets(name, sizeof name, file) != nullptr;
  std::fclose(file);
  return is_read && std::strcmp(name, "tsc\n") == 0;
}

struct Look {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
};

// Both clocks at one instant; none if this thread is interrupted again and again.
std::optional<Look> look() {
  for (int i = 0; i < kLooksMax; ++i) {
    const std::uint64_t before = __rdtsc();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t uncertain = __rdtsc() - before;
    if (uncertain <= kUncertainTicksMax) return Look{before + uncertain / 2, ns};
  }
  return std::nullopt;
}

std::optional<ProcessorClock> measure() {
  if (!is_invariant() || !is_the_systems()) return std::nullopt;
  const std::optional<Look> first = look();
  if (!first) return std::nullopt;
  while (monotonic_ns() - first->ns < kMeasuredNs) {
  }
  const std::optional<Look> last = look();
  if (!last || last->ticks <= first->ticks) return std::nullopt;
  return ProcessorClock(((last->ns - first->ns) << 32) / (last->ticks - first->ticks));
}

}  // namespace

const ProcessorClock* ProcessorClock::get() {
  static const std::optional<ProcessorClock> kClock = measure();
  return kClock ? &*kClock : nullptr;
}

#else

const ProcessorClock* ProcessorClock::get() { return nullptr; }

#endif

}  // namespace mete::base
