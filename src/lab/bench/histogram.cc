#include "lab/bench/histogram.h"

#include <algorithm>

#include "base/check.h"
#include "base/math.h"

namespace mete::lab {

void Histogram::merge(const Histogram& other) {
  for (std::size_t index = 0; index < kBuckets; ++index) counts_[index] += other.counts_[index];
  total_ += other.total_;
  max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::value_at(std::uint64_t parts_per_million) const {
  constexpr std::uint64_t kMillion = 1'000'000;
  CHECK(parts_per_million <= kMillion);
  const auto rank = static_cast<std::uint64_t>(base::div_ceil(base::multiply(total_, parts_per_million), kMillion));
  std::uint64_t passed = 0;
  for (std::size_t index = 0; index < kBuckets; ++index) {
    passed += counts_[index];
    if (passed >= rank && passed > 0) return std::min(end_of(index), max_);
  }
  return 0;
}

std::uint64_t Histogram::end_of(std::size_t index) {
  if (index < (std::size_t{2} << kBits)) return index;
  const std::size_t shift = (index >> kBits) - 1;
  const std::uint64_t mantissa = index - (shift << kBits);
  return ((mantissa + 1) << shift) - 1;
}

}  // namespace mete::lab
