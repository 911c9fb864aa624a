// Output: bytes on their way to a client. It grows, and keeps its memory for the next batch.
//
// Unlike std::string it does not fill what it makes room for, and writing into reserved room needs no check.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace mete::base {

class Output {
 public:
  Output() = default;
  Output(Output&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Output& operator=(Output&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Output() { std::free(data_); }  // NOLINT(cppcoreguidelines-no-malloc): see grow

  [[nodiscard]] std::string_view view() const { return {data_, size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }
  void cut_to(std::size_t size) {
    CHECK(size <= size_);
    size_ = size;
  }
  // Takes the first bytes away.
  void drop(std::size_t bytes) {
    CHECK(bytes <= size_);
    size_ -= bytes;
    if (bytes > 0 && size_ > 0) std::memmove(data_, data_ + bytes, size_);
  }

  // Room for `bytes` more: write from the pointer on, then tell with advance_to how far you came.
  [[nodiscard]] char* reserve(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(bytes);
    return data_ + size_;
  }
  void advance_to(const char* end) { size_ = static_cast<std::size_t>(end - data_); }

  // In place of as many bytes that are there.
  void overwrite(std::size_t at, std::string_view bytes) {
    CHECK(at <= size_ && bytes.size() <= size_ - at);
    std::memcpy(data_ + at, bytes.data(), bytes.size());
  }

  void append(std::string_view bytes) {
    char* const at = reserve(bytes.size());
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    size_ += bytes.size();
  }

 private:
  void grow(std::size_t bytes) {
    std::size_t capacity = capacity_ < 512 ? 512 : capacity_;
    while (capacity - size_ < bytes) capacity *= 2;
    // Only realloc can grow a block where it lies, without a copy.
    data_ = static_cast<char*>(std::realloc(data_, capacity));  // NOLINT(cppcoreguidelines-no-malloc)
    CHECK(data_ != nullptr);
    capacity_ = capacity;
  }

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace mete::base
