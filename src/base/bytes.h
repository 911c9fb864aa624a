// Words in bytes: how formats keep them, and comparing short strings a word at a time, on hot paths where the call of a
// library costs more than it does.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace mete::base {

template <class Word>
Word load(const void* bytes) {
  Word word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

template <class Word>
void store(void* bytes, Word word) {
  std::memcpy(bytes, &word, sizeof word);
}

// A word that other threads may be writing, for those to whom any value is right.
template <class Word>
[[gnu::no_sanitize_thread]] Word load_racing(const void* bytes) {
  return *static_cast<const volatile Word*>(bytes);
}

// Both have `size` bytes. The last word overlaps the one before it, so that no size needs single bytes.
inline bool equal_bytes(const char* a, const char* b, std::size_t size) {
  const auto equal_at = [a, b]<class Word>(Word, std::size_t offset) {
    return load<Word>(a + offset) == load<Word>(b + offset);
  };
  if (size >= 8) {
    for (std::size_t offset = 0; offset + 8 < size; offset += 8) {
      if (!equal_at(std::uint64_t{}, offset)) return false;
    }
    return equal_at(std::uint64_t{}, size - 8);
  }
  if (size >= 4) return equal_at(std::uint32_t{}, 0) && equal_at(std::uint32_t{}, size - 4);
  if (size >= 2) return equal_at(std::uint16_t{}, 0) && equal_at(std::uint16_t{}, size - 2);
  return size == 0 || *a == *b;
}

inline bool equal_bytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && equal_bytes(a.data(), b.data(), a.size());
}

// The top bit of each byte of the word that is `byte` is set. So may be that of bytes above such a one: what is found
// is a candidate.
inline std::uint64_t find_byte(std::uint64_t word, std::uint8_t byte) {
  constexpr std::uint64_t kEachByte = 0x0101010101010101;
  const std::uint64_t difference = word ^ byte * kEachByte;
  return (difference - kEachByte) & ~difference & 0x80 * kEachByte;
}

}  // namespace mete::base
