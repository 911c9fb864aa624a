// Signal: a condition variable for fibers and plain threads alike.
//
//     signal.wait(lock, deadline, [&] { return !queue.empty(); });
//
// A fiber that waits lets its event loop work on; a thread blocks. Both hold the lock when wait() returns.
//
// Thread safety: every call with the lock held that guards the condition, always the same one.
#pragma once

#include <condition_variable>
#include <mutex>

#include "net/deadline.h"
#include "net/fiber.h"

namespace mete::net {

class Signal {
 public:
  Signal() = default;
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() = default;

  // Until is_so(), or the deadline; returns is_so(). `Lock` is a std::unique_lock of any kind.
  template <class Lock, class Condition>
  bool wait(Lock& lock, const Deadline& deadline, Condition is_so) {
    while (!is_so()) {
      if (deadline.is_over()) return false;
      Waiter waiter;
      add(waiter);
      lock.unlock();
      waiter.rest(deadline);
      lock.lock();
      remove(waiter);
    }
    return true;
  }

  // The one that has waited longest.
  void notify_one() {
    if (first_ != nullptr) end(*first_);
  }
  void notify_all() {
    while (first_ != nullptr) end(*first_);
  }
  [[nodiscard]] bool is_awaited() const { return first_ != nullptr; }

 private:
  // On the stack of whoever waits. It is looked at by others only under the lock, and while it is in the list.
  struct Waiter {
    const FiberWait wait = FiberWait::begin();
    Waiter* before = nullptr;
    Waiter* next = nullptr;
    bool is_listed = false;
    // Of a plain thread.
    std::mutex mutex = {};
    std::condition_variable changed = {};
    bool is_ended = false;  // under mutex

    void rest(const Deadline& deadline);
    void end();
  };

  void add(Waiter& waiter);
  void remove(Waiter& waiter);
  void end(Waiter& waiter) {
    remove(waiter);
    waiter.end();
  }

  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
};

}  // namespace mete::net
