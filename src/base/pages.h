// Pages: zeroed memory straight from the system, which costs nothing until it is touched.
//
// Ownership: frees what it mapped. Thread safety: none of its own.
#pragma once

#include <cstddef>

namespace mete::base {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

class Pages {
 public:
  enum class Size { kNormal, kHuge };

  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  // Empty if the system has no memory left. kHuge asks for huge pages, aligned to them; the system may ignore that.
  static Pages map(std::size_t bytes, Size size = Size::kNormal);

  [[nodiscard]] char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  char* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
};

}  // namespace mete::base
