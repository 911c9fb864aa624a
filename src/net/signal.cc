#include "net/signal.h"

#include <chrono>

namespace mete::net {

void Signal::Waiter::rest(const Deadline& deadline) {
  if (wait.fiber != nullptr) return wait.rest(deadline);
  std::unique_lock lock(mutex);
  const auto has_ended = [this] { return is_ended; };
  if (const Duration wait_for = deadline.next_look(); wait_for.is_never()) {
    changed.wait(lock, has_ended);
  } else {
    changed.wait_for(lock, std::chrono::nanoseconds(wait_for.ns()), has_ended);
  }
}

void Signal::Waiter::end() {
  if (wait.fiber != nullptr) return wait.end();
  const std::lock_guard guard(mutex);
  is_ended = true;
  changed.notify_one();
}

void Signal::add(Waiter& waiter) {
  waiter.is_listed = true;
  waiter.before = last_;
  (last_ != nullptr ? last_->next : first_) = &waiter;
  last_ = &waiter;
}

void Signal::remove(Waiter& waiter) {
  if (!waiter.is_listed) return;
  waiter.is_listed = false;
  (waiter.before != nullptr ? waiter.before->next : first_) = waiter.next;
  (waiter.next != nullptr ? waiter.next->before : last_) = waiter.before;
}

}  // namespace mete::net
