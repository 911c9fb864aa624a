// FiberMutex: a lock that may be held while its holder waits for a network or a disk. A fiber that wants it lets its
// event loop work on; a std::mutex would stop the loop, and with it the fiber that is to let it go.
//
//     const std::lock_guard lock(mutex);   // as with any other
//
// Thread safety: every call from any thread; unlock() by whoever has it.
#pragma once

#include <mutex>

#include "net/signal.h"

namespace mete::net {

class FiberMutex {
 public:
  void lock() {
    std::unique_lock guard(mutex_);
    is_free_.wait(guard, Deadline::in(Duration::never()), [this] { return !is_locked_; });
    is_locked_ = true;
  }
  void unlock() {
    const std::lock_guard guard(mutex_);
    is_locked_ = false;
    is_free_.notify_one();
  }

 private:
  std::mutex mutex_;  // held for a moment only
  Signal is_free_;
  bool is_locked_ = false;
};

}  // namespace mete::net
