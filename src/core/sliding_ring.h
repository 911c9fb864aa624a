// The ring of a sliding meter: the slots before the newest one, as a string of bits.
//
//     1 1 0 0 1 0 …      the oldest slot has two quanta, the next none, the next one
//
// A slot's quanta are set bits, and a clear bit ends it. So 224 bits have room for 125 slots with 99 quanta in all, and
// 928 bits for 803: a byte for each slot would have room for less. Bits behind the end are clear.
#pragma once

#include <algorithm>
#include <bit>
#include <span>

#include "core/sliding.h"

namespace mete::core::sliding::ring {

inline constexpr std::size_t kSmallWords = 7;
inline constexpr std::size_t kLargeWords = 29;
inline constexpr std::size_t kQuantumWords = 2;  // in front of a large ring's bits; a small one's quantum is a unit
inline constexpr std::size_t kWordBits = 32;

template <class State>
auto bits_of(State& state) {
  using Word = std::remove_reference_t<decltype(state.ring.words[0])>;
  return state.is_large() ? std::span<Word>(state.ring.words).subspan(kQuantumWords, kLargeWords)
                          : std::span<Word>(state.ring.words).first(kSmallWords);
}

// The words that have bits of the string: the others are clear.
template <class State>
auto bits_in_use(State& state) {
  return bits_of(state).first((std::size_t{state.ring.units} + state.ring.slots + kWordBits - 1) / kWordBits);
}

inline Amount quantum(const SlidingState& state) {
  return state.is_large() ? static_cast<Amount>(std::uint64_t{state.ring.words[1]} << 32 | state.ring.words[0]) : 1;
}

inline void set_quantum(SlidingState& state, Amount quantum) {
  state.ring.words[0] = static_cast<std::uint32_t>(quantum);
  state.ring.words[1] = static_cast<std::uint32_t>(quantum >> 32);
}

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

// Takes bits out; those behind them move up.
inline void erase(std::span<std::uint32_t> bits, std::size_t position, std::size_t count) {
  const std::size_t words = count / kWordBits;
  const std::size_t shift = count % kWordBits;
  const auto word_at = [&](std::size_t word) -> std::uint64_t { return word < bits.size() ? bits[word] : 0; };
  const std::size_t first = position / kWordBits;
  const std::uint32_t kept = bits[first] & ((std::uint32_t{1} << position % kWordBits) - 1);
  for (std::size_t word = first; word < bits.size(); ++word) {
    bits[word] = static_cast<std::uint32_t>((word_at(word + words + 1) << 32 | word_at(word + words)) >> shift);
  }
  bits[first] = (bits[first] & ~std::uint32_t{0} << position % kWordBits) | kept;
}

// Ends the slot that was the newest, with so many quanta, and has `slots` - 1 empty ones follow it.
inline void append(SlidingState& state, Amount quanta, std::int64_t slots) {
  const auto bits = bits_of(state);
  std::size_t position = std::size_t{state.ring.units} + state.ring.slots;
  for (auto left = static_cast<std::size_t>(quanta); left > 0;) {
    const std::size_t shift = position % kWordBits;
    const std::size_t run = std::min(left, kWordBits - shift);
    bits[position / kWordBits] |= (~std::uint32_t{0} >> (kWordBits - run)) << shift;
    position += run;
    left -= run;
  }
  state.ring.units = static_cast<std::uint16_t>(state.ring.units + quanta);
  state.ring.slots = static_cast<std::uint8_t>(state.ring.slots + slots);
}

// Returns how many quanta the slots had.
inline Amount drop_oldest(SlidingState& state, std::int64_t slots) {
  const auto bits = bits_in_use(state);
  std::size_t position = 0;
  for (std::int64_t slot = 0; slot < slots; ++slot) position += ones_from(bits, position) + 1;
  const Amount quanta = static_cast<Amount>(position) - slots;
  erase(bits, 0, position);
  state.ring.units = static_cast<std::uint16_t>(state.ring.units - quanta);
  state.ring.slots = static_cast<std::uint8_t>(state.ring.slots - slots);
  return quanta;
}

// Takes up to so many quanta from `count` slots, the first of them `index`, the oldest first. Returns how many it took.
inline Amount take(SlidingState& state, std::int64_t index, std::int64_t count, Amount quanta) {
  const auto bits = bits_in_use(state);
  std::size_t position = 0;
  Amount taken = 0;
  for (std::int64_t slot = 0; slot < index + count && taken < quanta; ++slot) {
    const std::size_t ones = ones_from(bits, position);
    const std::size_t gone = slot < index ? 0 : std::min(ones, static_cast<std::size_t>(quanta - taken));
    if (gone > 0) erase(bits, position, gone);
    taken += static_cast<Amount>(gone);
    position += ones - gone + 1;
  }
  state.ring.units = static_cast<std::uint16_t>(state.ring.units - taken);
  return taken;
}

// The slot that has the n-th quantum; the newest, which is behind all slots, if there are not so many.
inline std::int64_t slot_of_quantum(const SlidingState& state, Amount number) {
  if (number > state.ring.units) return state.ring.slots;
  const auto bits = bits_of(state);
  std::size_t position = 0;
  Amount seen = 0;
  for (std::int64_t slot = 0; slot < state.ring.slots; ++slot) {
    const std::size_t ones = ones_from(bits, position);
    seen += static_cast<Amount>(ones);
    if (seen >= number) return slot;
    position += ones + 1;
  }
  return state.ring.slots;
}

// Whether the bits are as the counts say, and can be walked over.
inline bool is_sound(const SlidingState& state) {
  const auto bits = bits_of(state);
  const std::size_t length = std::size_t{state.ring.units} + state.ring.slots;
  if (length > bits.size() * kWordBits || quantum(state) < 1) return false;
  std::size_t ones = 0;
  for (const std::uint32_t word : bits) ones += static_cast<std::size_t>(std::popcount(word));
  std::size_t end = 0;
  for (int slot = 0; slot < state.ring.slots; ++slot) end += ones_from(bits, end) + 1;
  return ones == state.ring.units && end == length;
}

}  // namespace mete::core::sliding::ring
