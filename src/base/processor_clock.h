// ProcessorClock: nanoseconds by the processor's counter of ticks, at less than half the cost of clock_gettime().
//
// It is a clock to carry another one from one look at it to the next: it counts from an instant of its own, at a rate
// that was measured once for 1 ms (to 0.1 per mille or better), and is not slewed with the system's clocks.
//
// Only where that is safe: on x86-64, where the processor says that its counter never changes its pace, and where
// Linux, which watches the counters of all cores for that, tells the time by it as well.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace mete::base {

class ProcessorClock {
 public:
  // The processor's, measured by the first call; null where it is not safe.
  static const ProcessorClock* get();

  // With a rate that somebody else knows: nanoseconds per tick, as a multiple of 2^-32.
  explicit constexpr ProcessorClock(std::uint64_t rate) : rate_(rate) {}

  [[nodiscard]] std::uint64_t rate() const { return rate_; }
  [[nodiscard]] std::uint64_t now_ns() const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{ticks()} * rate_ >> 32);
  }

 private:
  static std::uint64_t ticks() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;  // get() has none to read
#endif
  }

  std::uint64_t rate_;
};

}  // namespace mete::base
