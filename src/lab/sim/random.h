// Random: numbers that a seed repeats exactly, on every machine (xoshiro256**, seeded by splitmix64). Thread safety:
// one thread.
#pragma once

#include <mete/time.h>

#include <array>
#include <cstdint>

#include "base/check.h"

namespace mete::sim {

// SplitMix64: a few instructions, and random enough for seeds and for choosing keys.
inline std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t mixed = (state += 0x9e3779b97f4a7c15);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = split_mix(seed);
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Both ends are possible. The remainder favours small numbers by less than anything here could notice.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    CHECK(low <= high);
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(next() % span);
  }
  Duration between(Duration low, Duration high) { return Duration::from_ns(between(low.ns(), high.ns())); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  bool chance(int permille) { return between(0, 999) < permille; }

 private:
  static std::uint64_t rotate(std::uint64_t word, int bits) { return (word << bits) | (word >> (64 - bits)); }

  std::array<std::uint64_t, 4> state_ = {};
};

}  // namespace mete::sim
