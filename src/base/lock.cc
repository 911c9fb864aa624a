#include "base/lock.h"

namespace mete::base {

namespace {

constexpr int kSpinsMax = 100;

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void Lock::lock_contended() {
  for (int spin = 0; spin < kSpinsMax; ++spin) {
    if (word_.load(std::memory_order_relaxed) == kFree && try_lock()) return;
    pause_processor();
  }
  // From here on the word says that somebody sleeps, even if nobody does any more: one needless wake-up, no lost one.
  while (word_.exchange(kHeldWithSleepers, std::memory_order_acquire) != kFree) {
    word_.wait(kHeldWithSleepers, std::memory_order_relaxed);
  }
}

}  // namespace mete::base
