// Histogram: how often which latency occurred, to within 1 %, in fixed memory.
//
// Below 256 ns every value has a bucket; above, every power of two has 128, so that a bucket is at most 1/128 of its
// value wide. Thread safety: none; each thread has its own, and they are merged.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mete::lab {

class Histogram {
 public:
  // Larger values are counted as this one; the maximum is kept as it is. It is 18 minutes.
  static constexpr std::uint64_t kValueMax = (std::uint64_t{1} << 40) - 1;

  void record(std::uint64_t value_ns, std::uint64_t times = 1) {
    counts_[index_of(value_ns < kValueMax ? value_ns : kValueMax)] += times;
    total_ += times;
    if (value_ns > max_) max_ = value_ns;
  }
  void merge(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return total_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  // The value that `parts_per_million` of all are not above, rounded up to the end of its bucket; 0 if there is none.
  [[nodiscard]] std::uint64_t value_at(std::uint64_t parts_per_million) const;

 private:
  static constexpr unsigned kBits = 7;
  static constexpr std::size_t kBuckets = (40 - kBits + 1) << kBits;

  static std::size_t index_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    const unsigned shift = width > kBits + 1 ? width - (kBits + 1) : 0;
    return (static_cast<std::size_t>(shift) << kBits) + (value >> shift);
  }
  static std::uint64_t end_of(std::size_t index);

  std::array<std::uint64_t, kBuckets> counts_ = {};
  std::uint64_t total_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace mete::lab
