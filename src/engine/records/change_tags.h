// The first byte of a change: its tag in the lower half, and flags in the upper one. Internal to reading and writing.
#pragma once

#include <cstdint>

namespace mete::engine {

enum class ChangeTag : std::uint8_t {
  kMeter = 1,
  kOperation = 2,
  kOverride = 3,
  kKey = 4,
  kLimit = 5,
  kDrop = 6,
  kClear = 7,
  kNumbers = 8,
};
inline constexpr std::uint8_t kChangeTagMask = 0x0f;

// Of a meter and a limit.
inline constexpr std::uint8_t kIsEvenFlag = 0x10;
// Of a meter.
inline constexpr std::uint8_t kHasPartChangesFlag = 0x20;
// Of an operation.
inline constexpr std::uint8_t kHasHoldFlag = 0x10;
// Of the state of a hold, whose number is in the lower four bits. A program that does not know them takes the state for
// one that does not exist, and refuses the record.
inline constexpr std::uint8_t kHoldStateMask = 0x0f;
inline constexpr std::uint8_t kEndIsKnownFlag = 0x10;
inline constexpr std::uint8_t kEndIsOfAllFlag = 0x20;
// Of an override.
inline constexpr std::uint8_t kHasAmountFlag = 0x10;

}  // namespace mete::engine
