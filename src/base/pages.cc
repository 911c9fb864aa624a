#include "base/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

namespace mete::base {

Pages Pages::map(std::size_t bytes, Size size) {
  const bool is_huge = size == Size::kHuge;
  const std::size_t mapping_bytes = is_huge ? bytes + kHugePageBytes : bytes;
  void* mapping =
      ::mmap(nullptr, mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  Pages pages;
  if (mapping == MAP_FAILED) return pages;
  pages.mapping_ = static_cast<char*>(mapping);
  pages.mapping_bytes_ = mapping_bytes;
  pages.data_ = pages.mapping_;
  if (is_huge) {
    const auto misaligned = reinterpret_cast<std::uintptr_t>(mapping) % kHugePageBytes;
    if (misaligned != 0) pages.data_ += kHugePageBytes - misaligned;
    ::madvise(pages.data_, bytes, MADV_HUGEPAGE);
  }
  return pages;
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

Pages::~Pages() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

}  // namespace mete::base
