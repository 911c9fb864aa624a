// State: what a meter remembers, per kind. All zeros is a fresh meter of every kind.
#pragma once

#include <mete/limit.h>

#include <cstdint>

#include "base/math.h"

namespace mete::core {

// A bucket is described by the time at which it will be full again, in ticks of 1/amount nanosecond: in these, both a
// nanosecond (amount ticks) and a unit (period ticks) are whole numbers, so no fraction is ever dropped. At most
// 2^64 ns · 2^53 for the time and 2^53 units · 2^59 ns for what is charged: below 2^118.
struct BucketState {
  std::uint64_t full_at_low = 0;
  std::uint64_t full_at_high = 0;

  [[nodiscard]] base::Uint128 full_at() const { return base::Uint128{full_at_high} << 64 | full_at_low; }
  void set_full_at(base::Uint128 ticks) {
    full_at_low = static_cast<std::uint64_t>(ticks);
    full_at_high = static_cast<std::uint64_t>(ticks >> 64);
  }
};

// Window and calendar: the usage of the window that began at `start`.
struct WindowState {
  Instant start;
  Amount used = 0;
};

// Sliding: the usage of the window that began at `start`, and of the one before it.
struct SlidingState {
  Instant start;
  Amount current = 0;
  Amount previous = 0;
};

struct StockState {
  Amount used = 0;
};

union State {
  State() : sliding{} {}

  BucketState bucket;
  WindowState window;
  SlidingState sliding;
  StockState stock;
};

// One charge of an open hold, as its meter sees it.
struct HeldPart {
  Amount units = 0;
  Instant made_at;     // decides which window the charge belongs to
  Instant expires_at;  // from then on the part is no longer charged
};

// How many bytes of a State a meter of this kind keeps.
constexpr std::uint8_t state_size(Kind kind) {
  switch (kind) {
    case Kind::kBucket:
      return sizeof(BucketState);
    case Kind::kWindow:
    case Kind::kCalendar:
      return sizeof(WindowState);
    case Kind::kSliding:
      return sizeof(SlidingState);
    case Kind::kStock:
      return sizeof(StockState);
  }
  return 0;
}

}  // namespace mete::core
