// Encoder and Decoder: numbers and texts as bytes. Numbers are little endian, or as varints: seven bits a byte, the
// lowest first, the top bit set on all but the last.
//
// A Decoder never reads past its end. What is not there reads as zero, and is_whole() is false from then on; so a
// caller reads all it wants and asks once.
#pragma once

#include <mete/time.h>

#include <bit>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mete::engine {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

class Encoder {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void number(std::int64_t value) { raw(&value, sizeof value); }
  void instant(Instant value) { number(value.ns()); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void text(std::string_view value) {
    varint(value.size());
    raw(value.data(), value.size());
  }

  void clear() { bytes_.clear(); }
  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  static constexpr std::size_t kBytesUsual = 512;  // a hold's too: most operations need no memory for their record

  void raw(const void* from, std::size_t size) {
    const std::size_t end = bytes_.size();
    bytes_.resize(end + size, boost::container::default_init);
    if (size > 0) std::memcpy(bytes_.data() + end, from, size);
  }

  boost::container::small_vector<char, kBytesUsual> bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  std::uint8_t byte() { return static_cast<std::uint8_t>(*take(1)); }
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
  Instant instant() { return Instant::from_ns(number()); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t part = byte();
      value |= std::uint64_t{part & 0x7fU} << shift;
      if (part < 0x80) return value;
    }
    is_whole_ = false;
    return 0;
  }
  std::string_view text() {
    const std::uint64_t size = varint();
    if (size > left()) {
      is_whole_ = false;
      return {};
    }
    return {take(size), size};
  }

  [[nodiscard]] bool is_whole() const { return is_whole_; }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }

 private:
  static constexpr char kZeros[8] = {};

  // At most eight bytes, or no more than are left.
  const char* take(std::size_t size) {
    if (size > left()) {
      is_whole_ = false;
      next_ = end_;
      return kZeros;
    }
    const char* const taken = next_;
    next_ += size;
    return taken;
  }

  const char* next_;
  const char* end_;
  bool is_whole_ = true;
};

}  // namespace mete::engine
