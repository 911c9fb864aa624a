// Deadline: until when something may take, on the monotonic clock. It is handed down through all the steps of a call,
// so that they share one time-out instead of each having its own.
#pragma once

#include <mete/time.h>

#include <cstddef>
#include <cstdint>

#include "base/monotonic.h"

namespace mete::net {

class Deadline {
 public:
  // From now on. Duration::never() is a deadline that never comes.
  static Deadline in(Duration timeout) { return {Instant::from_ns(base::monotonic_ns()) + timeout, timeout}; }

  // Never below zero.
  [[nodiscard]] Duration left() const {
    if (timeout_.is_never()) return Duration::never();
    const Duration rest = end_ - Instant::from_ns(base::monotonic_ns());
    return rest < Duration() ? Duration() : rest;
  }
  [[nodiscard]] bool is_over() const { return left() == Duration(); }
  // An equal part of what is left, for the first of so many attempts: one that gets no answer must not use up the time
  // of the others.
  [[nodiscard]] Deadline share(std::size_t parts) const {
    const Duration rest = left();
    return in(rest.is_never() ? rest : Duration::from_ns(rest.ns() / static_cast<std::int64_t>(parts)));
  }
  // The whole of it, as it was at the start: for messages.
  [[nodiscard]] Duration timeout() const { return timeout_; }

 private:
  Deadline(Instant end, Duration timeout) : end_(end), timeout_(timeout) {}

  Instant end_;
  Duration timeout_;
};

}  // namespace mete::net
