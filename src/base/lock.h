// Lock: a mutex of four bytes that fits beside the data it guards. For critical sections of nanoseconds: it spins a
// little, then sleeps in the kernel, so a holder that is preempted costs its waiters no processor.
//
// Meets BasicLockable. Not recursive.
#pragma once

#include <atomic>
#include <cstdint>

namespace mete::base {

class Lock {
 public:
  void lock() {
    std::uint32_t expected = kFree;
    if (!word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) lock_contended();
  }

  bool try_lock() {
    std::uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire);
  }

  void unlock() {
    if (word_.exchange(kFree, std::memory_order_release) == kHeldWithSleepers) word_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kHeldWithSleepers = 2;

  void lock_contended();

  std::atomic<std::uint32_t> word_{kFree};
};

// Makes an atomic number at least `to`. Orders nothing else.
template <class Number>
void raise(std::atomic<Number>& value, Number to) {
  Number so_far = value.load(std::memory_order_relaxed);
  while (so_far < to && !value.compare_exchange_weak(so_far, to, std::memory_order_relaxed)) {
  }
}

}  // namespace mete::base
