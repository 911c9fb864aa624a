// State: what a meter remembers, per kind. All zeros is a fresh meter of every kind.
#pragma once

#include <mete/limit.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "base/math.h"
#include "core/rule.h"

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

// Sliding: the usage, and when it was charged. core/sliding.h says what the forms mean, and reads and writes them.
//
//     ┌───────┬───────────────┬─────────────────────────────────────────────────────────────────┐
//     │ start │ used and form │ log           the units of four charges, then their ages        │
//     │ 8     │ 8             │ ring          quanta · slots · layout · [ head ] · bits          │
//     │       │               │ two windows   the usage of the window before                    │
//     └───────┴───────────────┴─────────────────────────────────────────────────────────────────┘
//
// There is a small layout of 48 bytes and a large one of 144. The bytes say by themselves which they are of, so that
// they can be read under any rule.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): one member of the union is initialized, which is all of it.
struct SlidingState {
  enum class Form : std::uint8_t { kLog, kRing, kTwoWindows };

  struct Ring {
    static constexpr std::uint8_t kWithParts = 1;

    std::uint16_t units;  // how many quanta the slots have
    std::uint8_t slots;
    std::uint8_t layout;                  // kWithParts if it is large; 0 if it is small, or of an earlier version
    std::array<std::uint32_t, 31> words;  // the bits; in the large layout behind its head: core/sliding_ring.h
  };

  Instant start;                    // of the newest charge, or of its slot
  std::uint64_t used_and_form = 0;  // the form in the topmost byte
  union {
    std::array<std::uint8_t, 128> log = {};
    Ring ring;
    std::int64_t previous;
  };

  [[nodiscard]] Form form() const { return static_cast<Form>(used_and_form >> kUsedBits & 3U); }
  [[nodiscard]] bool is_large() const { return (used_and_form & kLargeBit) != 0; }
  [[nodiscard]] Amount used() const { return static_cast<Amount>(used_and_form & kUsedMask); }
  void set(Amount used, Form form, bool is_large) {
    used_and_form = static_cast<std::uint64_t>(used) | std::uint64_t{static_cast<std::uint8_t>(form)} << kUsedBits |
                    (is_large ? kLargeBit : 0);
  }
  // A large ring that does not say which parts of its quanta are gone; settle() makes it one that does.
  [[nodiscard]] bool has_ring_of_earlier_version() const {
    return is_large() && form() == Form::kRing && ring.layout != Ring::kWithParts;
  }
  // Within what is used: neither reaches the form.
  void add(Amount units) { used_and_form += static_cast<std::uint64_t>(units); }
  void subtract(Amount units) { used_and_form -= static_cast<std::uint64_t>(units); }

 private:
  static constexpr int kUsedBits = 56;
  static constexpr std::uint64_t kUsedMask = (std::uint64_t{1} << kUsedBits) - 1;
  static constexpr std::uint64_t kLargeBit = std::uint64_t{1} << 63;
};

struct StockState {
  Amount used = 0;
};

union State {
  State() : sliding{} {}
  // For whoever copies a state over it: most kinds keep a few bytes, and the rest need not be cleared.
  struct Undefined {};
  explicit State(Undefined) {}  // NOLINT(cppcoreguidelines-pro-type-member-init)

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

// A sliding meter of a small amount has few charges to remember, and keeps fewer bytes.
inline constexpr Amount kSmallAmountMax = 100;
inline constexpr std::uint8_t kSlidingSmallBytes = 48;
inline constexpr std::uint8_t kSlidingLargeBytes = 144;
// Two windows, as they were kept before charges were.
inline constexpr std::uint8_t kTwoWindowsBytes = 24;

static_assert(sizeof(State) == kSlidingLargeBytes);

// How many bytes of a State a meter under this rule keeps.
constexpr std::uint8_t state_size(const Rule& rule) {
  switch (rule.kind) {
    case Kind::kBucket:
      return sizeof(BucketState);
    case Kind::kWindow:
    case Kind::kCalendar:
      return sizeof(WindowState);
    case Kind::kSliding:
      return rule.capacity <= kSmallAmountMax ? kSlidingSmallBytes : kSlidingLargeBytes;
    case Kind::kStock:
      return sizeof(StockState);
  }
  return 0;
}

}  // namespace mete::core
