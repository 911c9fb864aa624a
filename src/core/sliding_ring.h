// The ring of a sliding meter: the slots before the newest one, as a string of bits, the oldest slot first.
//
//     small    1 1 0 │ 0 │ 1 0 │ …            a set bit for each unit, and a clear bit ends the slot
//     large    low bits ·3 │ 1 … 1 0 │ …      three bits, and a set bit for each eight: how many quanta the slot has
//
// So 224 bits have room for 125 slots with 99 units in all, and 736 bits for 125 with 1895 quanta. Bits behind the end
// are clear.
//
// A slot of the large layout may have fewer units than its quanta say, if a part of one was given back: up to three
// slots do, and each names how much of it is gone. So
//
//     units of a slot = quanta · quantum − gone                  0 <= gone < quantum
//
// The head of the large layout, in 64-bit numbers:  length (16 bits) and quantum (48) │ slot (8) and gone (56), ·3
//
// Earlier versions kept a large ring as 928 bits of the small layout's kind, behind a quantum of 64 bits; it is read,
// and settle() makes it one of these.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "base/check.h"
#include "core/sliding.h"

namespace mete::core::sliding::ring {

inline constexpr std::size_t kWordBits = 32;
inline constexpr std::size_t kSmallWords = 7;
inline constexpr std::size_t kHeadWords = 8;  // of the large layout; a small one's quantum is a unit
inline constexpr std::size_t kEarlierHeadWords = 2;
inline constexpr unsigned kLowBits = 3;
inline constexpr Amount kSmallQuantaMax = 99;
inline constexpr Amount kLargeQuantaMax = 1895;
inline constexpr Amount kEarlierQuantaMax = 803;

// Of which a slot has fewer units than its quanta say: the oldest that has any, and two more.
inline constexpr std::size_t kPartsMax = 3;
struct Part {
  std::int64_t slot = 0;
  Amount gone = 0;  // 0: there is none
};

// ---------------------------------------------------------------- the head

inline bool has_parts(const SlidingState& state) { return state.ring.layout == SlidingState::Ring::kWithParts; }

inline std::uint64_t head_number(const SlidingState& state, std::size_t index) {
  return std::uint64_t{state.ring.words[2 * index + 1]} << 32 | state.ring.words[2 * index];
}
inline void set_head_number(SlidingState& state, std::size_t index, std::uint64_t number) {
  state.ring.words[2 * index] = static_cast<std::uint32_t>(number);
  state.ring.words[2 * index + 1] = static_cast<std::uint32_t>(number >> 32);
}

inline constexpr unsigned kQuantumBits = 48;
inline constexpr std::uint64_t kQuantumMask = (std::uint64_t{1} << kQuantumBits) - 1;
inline constexpr unsigned kGoneBits = 56;
inline constexpr std::uint64_t kGoneMask = (std::uint64_t{1} << kGoneBits) - 1;

inline Amount quantum(const SlidingState& state) {
  if (!state.is_large()) return 1;
  const std::uint64_t mask = has_parts(state) ? kQuantumMask : ~std::uint64_t{0};
  return static_cast<Amount>(head_number(state, 0) & mask);
}

inline std::size_t length(const SlidingState& state) {
  if (has_parts(state)) return head_number(state, 0) >> kQuantumBits;
  return std::size_t{state.ring.units} + state.ring.slots;
}
inline void set_length(SlidingState& state, std::size_t length) {
  if (!has_parts(state)) return;
  set_head_number(state, 0, base::to_unsigned(quantum(state)) | std::uint64_t{length} << kQuantumBits);
}

// An empty ring.
inline void begin(SlidingState& state, Amount quantum) {
  state.ring = {};
  if (!state.is_large()) return;
  state.ring.layout = SlidingState::Ring::kWithParts;
  set_head_number(state, 0, base::to_unsigned(quantum));
}

inline Part part_at(const SlidingState& state, std::size_t index) {
  const std::uint64_t number = head_number(state, 1 + index);
  return {static_cast<std::int64_t>(number >> kGoneBits), static_cast<Amount>(number & kGoneMask)};
}
inline void set_part(SlidingState& state, std::size_t index, const Part& part) {
  const std::uint64_t slot = part.gone == 0 ? 0 : static_cast<std::uint64_t>(part.slot);
  set_head_number(state, 1 + index, slot << kGoneBits | base::to_unsigned(part.gone));
}

inline Amount gone(const SlidingState& state) {
  Amount sum = 0;
  for (std::size_t i = 0; has_parts(state) && i < kPartsMax; ++i) sum += part_at(state, i).gone;
  return sum;
}
inline Amount gone_of(const SlidingState& state, std::int64_t slot) {
  for (std::size_t i = 0; has_parts(state) && i < kPartsMax; ++i) {
    const Part part = part_at(state, i);
    if (part.gone > 0 && part.slot == slot) return part.gone;
  }
  return 0;
}

// ---------------------------------------------------------------- bits

template <class State>
auto bits_of(State& state) {
  using Word = std::remove_reference_t<decltype(state.ring.words[0])>;
  const std::span<Word> words(state.ring.words);
  if (!state.is_large()) return words.first(kSmallWords);
  return words.subspan(has_parts(state) ? kHeadWords : kEarlierHeadWords);
}

inline unsigned low_bits(const SlidingState& state) { return has_parts(state) ? kLowBits : 0; }

// How many set bits follow each other from a position on.
inline std::size_t ones_from(std::span<const std::uint32_t> bits, std::size_t position) {
  std::size_t ones = 0;
  for (std::size_t word = position / kWordBits; word < bits.size(); ++word) {
    const std::size_t skipped = (position + ones) % kWordBits;
    const auto found = static_cast<std::size_t>(std::countr_one(bits[word] >> skipped));
    ones += found;
    if (found < kWordBits - skipped) break;
  }
  return ones;
}

inline void set_ones(std::span<std::uint32_t> bits, std::size_t position, std::size_t count) {
  while (count > 0) {
    const std::size_t shift = position % kWordBits;
    const std::size_t run = std::min(count, kWordBits - shift);
    bits[position / kWordBits] |= (~std::uint32_t{0} >> (kWordBits - run)) << shift;
    position += run;
    count -= run;
  }
}

inline std::uint32_t number_at(std::span<const std::uint32_t> bits, std::size_t position, unsigned count) {
  const std::size_t word = position / kWordBits;
  const std::uint64_t low = word < bits.size() ? bits[word] : 0;
  const std::uint64_t high = word + 1 < bits.size() ? bits[word + 1] : 0;
  return static_cast<std::uint32_t>((high << kWordBits | low) >> position % kWordBits) & ((1U << count) - 1);
}

inline bool is_clear_from(std::span<const std::uint32_t> bits, std::size_t position) {
  const std::size_t first = position / kWordBits;
  if (first < bits.size() && bits[first] >> position % kWordBits != 0) return false;
  for (std::size_t word = first + 1; word < bits.size(); ++word) {
    if (bits[word] != 0) return false;
  }
  return true;
}

// How many clear bits follow each other from a position on, up to the end of its words.
inline std::size_t zeros_from(std::span<const std::uint32_t> bits, std::size_t position) {
  std::size_t word = position / kWordBits;
  if (word >= bits.size()) return 0;
  const std::uint32_t first = bits[word] >> position % kWordBits;
  if (first != 0) return static_cast<std::size_t>(std::countr_zero(first));
  while (++word < bits.size() && bits[word] == 0) continue;
  const std::size_t end = word * kWordBits;
  return end - position + (word < bits.size() ? static_cast<std::size_t>(std::countr_zero(bits[word])) : 0);
}

// Takes the first bits away; those behind them move up.
inline void erase_first(std::span<std::uint32_t> bits, std::size_t count) {
  const std::size_t words = count / kWordBits;
  const std::size_t shift = count % kWordBits;
  const std::size_t last = bits.size() - std::min(bits.size(), words + 1);  // the one that gets nothing of another
  for (std::size_t word = 0; word < last; ++word) {
    const std::uint64_t both = std::uint64_t{bits[word + words + 1]} << kWordBits | bits[word + words];
    bits[word] = static_cast<std::uint32_t>(both >> shift);
  }
  if (words < bits.size()) bits[last] = bits[last + words] >> shift;
  std::fill(bits.begin() + static_cast<std::ptrdiff_t>(words < bits.size() ? last + 1 : 0), bits.end(), 0);
}

// ---------------------------------------------------------------- slots

// Walks over the slots, the oldest first.
class Slots {
 public:
  explicit Slots(const SlidingState& state) : bits_(bits_of(state)), low_bits_(low_bits(state)) {}

  // How many quanta the next slot has.
  Amount next() {
    const std::uint32_t low = number_at(bits_, position_, low_bits_);
    const std::size_t ones = ones_from(bits_, position_ + low_bits_);
    position_ += low_bits_ + ones + 1;
    return static_cast<Amount>(ones << low_bits_ | low);
  }
  // Passes over the next slots while they are empty, `count` of them at most; returns how many that were.
  std::int64_t skip_empty(std::int64_t count) {
    const std::size_t zeros = zeros_from(bits_, position_) / (low_bits_ + 1);
    const std::int64_t skipped = std::min(count, static_cast<std::int64_t>(zeros));
    position_ += static_cast<std::size_t>(skipped) * (low_bits_ + 1);
    return skipped;
  }
  // The end of the last one.
  [[nodiscard]] std::size_t position() const { return position_; }

 private:
  std::span<const std::uint32_t> bits_;
  unsigned low_bits_;
  std::size_t position_ = 0;
};

inline Amount units(const SlidingState& state) { return state.ring.units * quantum(state) - gone(state); }

// Ends the slot that was the newest, with so many quanta, and has `slots` - 1 empty ones follow it.
inline void append(SlidingState& state, Amount quanta, std::int64_t slots) {
  const auto bits = bits_of(state);
  const unsigned low = low_bits(state);
  const std::size_t end = length(state);
  const auto count = static_cast<std::size_t>(quanta);
  CHECK(end + (count >> low) + (low + 1) * static_cast<std::size_t>(slots) <= bits.size() * kWordBits);
  for (unsigned bit = 0; bit < low; ++bit) set_ones(bits, end + bit, count >> bit & 1U);
  set_ones(bits, end + low, count >> low);
  state.ring.units = static_cast<std::uint16_t>(state.ring.units + quanta);
  state.ring.slots = static_cast<std::uint8_t>(state.ring.slots + slots);
  set_length(state, end + (count >> low) + (low + 1) * static_cast<std::size_t>(slots));
}

// Returns how many units the slots had.
inline Amount drop_oldest(SlidingState& state, std::int64_t slots) {
  Slots dropped(state);
  Amount quanta = 0;
  for (std::int64_t slot = dropped.skip_empty(slots); slot < slots; slot += 1 + dropped.skip_empty(slots - slot - 1)) {
    quanta += dropped.next();
  }
  const std::size_t end = length(state);
  const std::size_t words = (end + kWordBits - 1) / kWordBits;  // the others are clear
  Amount units = quanta * quantum(state);
  for (std::size_t i = 0; has_parts(state) && i < kPartsMax; ++i) {
    Part part = part_at(state, i);
    if (part.gone == 0) continue;
    part.slot -= slots;
    if (part.slot < 0) units -= std::exchange(part.gone, 0);
    set_part(state, i, part);
  }
  erase_first(bits_of(state).first(words), dropped.position());
  state.ring.units = static_cast<std::uint16_t>(state.ring.units - quanta);
  state.ring.slots = static_cast<std::uint8_t>(state.ring.slots - slots);
  set_length(state, end - dropped.position());
  return units;
}

// The slot that has the n-th unit; the newest, which is behind all slots, if there are not so many.
inline std::int64_t slot_of_unit(const SlidingState& state, Amount number) {
  if (number > units(state)) return state.ring.slots;
  Slots slots(state);
  const Amount quantum_units = quantum(state);
  Amount seen = 0;
  for (std::int64_t slot = 0; slot < state.ring.slots; ++slot) {
    slot += slots.skip_empty(state.ring.slots - slot);
    if (slot == state.ring.slots) break;
    seen += slots.next() * quantum_units - gone_of(state, slot);
    if (seen >= number) return slot;
  }
  return state.ring.slots;
}

// Whether the bits are as the counts say, and can be walked over.
inline bool is_sound(const SlidingState& state) {
  const Amount quanta_max = !state.is_large()  ? kSmallQuantaMax
                            : has_parts(state) ? kLargeQuantaMax
                                               : kEarlierQuantaMax;
  const auto bits = bits_of(state);
  const std::size_t end = length(state);
  if (state.ring.layout != 0 && !(state.is_large() && has_parts(state))) return false;
  if (state.ring.slots > kSlots || state.ring.units > quanta_max || end > bits.size() * kWordBits) return false;
  const Amount partly_max = has_parts(state) ? static_cast<Amount>(kPartsMax) : 0;
  if (quantum(state) < 1 || state.ring.units > state.used() / quantum(state) + partly_max) return false;
  Slots slots(state);
  Amount quanta = 0;
  std::size_t partly = 0;
  for (std::int64_t slot = 0; slot < state.ring.slots; ++slot) {
    const Amount of_slot = slots.next();
    const Amount gone = gone_of(state, slot);
    if (gone >= quantum(state) || (gone > 0 && of_slot == 0)) return false;
    if (gone > 0) ++partly;
    quanta += of_slot;
  }
  std::size_t parts = 0;
  for (std::size_t i = 0; has_parts(state) && i < kPartsMax; ++i) {
    if (part_at(state, i).gone > 0) ++parts;
  }
  return partly == parts && quanta == state.ring.units && slots.position() == end && is_clear_from(bits, end) &&
         units(state) <= state.used();
}

}  // namespace mete::core::sliding::ring
