// Comparing bytes a word at a time: for the short strings of hot paths, where the call of a library costs more than it
// does.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace mete::base {

inline std::uint64_t load_word(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Both have `size` bytes.
inline bool equal_bytes(const char* a, const char* b, std::size_t size) {
  if (size < 8) {
    for (std::size_t i = 0; i < size; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  for (std::size_t offset = 0; offset + 8 < size; offset += 8) {
    if (load_word(a + offset) != load_word(b + offset)) return false;
  }
  return load_word(a + size - 8) == load_word(b + size - 8);
}

inline bool equal_bytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && equal_bytes(a.data(), b.data(), a.size());
}

inline constexpr std::uint64_t kEachByte = 0x0101010101010101;

// Bit i is set where byte i of the word is `byte`, with no false ones.
inline std::uint32_t bytes_equal_to(std::uint64_t word, std::uint8_t byte) {
  constexpr std::uint64_t kLow7 = 0x7f * kEachByte;
  const std::uint64_t difference = word ^ byte * kEachByte;
  const std::uint64_t top_bits = ~(((difference & kLow7) + kLow7) | difference | kLow7);
  // The multiplication gathers the top bits of the bytes in the highest byte, the lowest byte's first.
  return static_cast<std::uint32_t>((top_bits >> 7) * 0x0102040810204080 >> 56);
}

}  // namespace mete::base
