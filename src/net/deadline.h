// Deadline: until when something may take, on the monotonic clock. It is handed down through all the steps of a call,
// so that they share one time-out instead of each having its own.
#pragma once

#include <mete/time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/monotonic.h"

namespace mete::net {

// An end that the deadlines of several threads get together, whatever time-outs they were made with: of what has to
// stop.
//
//     Cutoff cutoff;                           // of a component
//     const Cutoff::Scope scope(cutoff);       // on each of its threads
//     cutoff.set(Instant::from_ns(base::monotonic_ns()) + 8s);
//
// From then on no deadline that is looked at on these threads is later than that; waits that have begun notice it soon.
// Deadlines that never come stay so: what they wait for is on this machine.
//
// Thread safety: every call, from any thread.
class Cutoff {
 public:
  // How soon a wait that has begun looks for one.
  static constexpr Duration kLookEvery = std::chrono::milliseconds(100);

  void set(Instant end) { end_ns_ = end.ns(); }

  // What is looked at by this thread. One at a time.
  class Scope {
   public:
    explicit Scope(const Cutoff& cutoff) { current = &cutoff; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { current = nullptr; }
  };

 private:
  friend class Deadline;

  inline static thread_local const Cutoff* current = nullptr;
  std::atomic<std::uint64_t> end_ns_ = Instant::max().ns();
};

class Deadline {
 public:
  // From now on. Duration::never() is a deadline that never comes.
  static Deadline in(Duration timeout) { return {Instant::from_ns(base::monotonic_ns()) + timeout, timeout}; }

  // Never below zero.
  [[nodiscard]] Duration left() const {
    if (timeout_.is_never()) return Duration::never();
    const Instant cut = Cutoff::current == nullptr ? end_ : Instant::from_ns(Cutoff::current->end_ns_);
    const Duration rest = std::min(end_, cut) - Instant::from_ns(base::monotonic_ns());
    return rest < Duration() ? Duration() : rest;
  }
  // How long to wait before looking at it again: until it is over, or there may be a cutoff.
  [[nodiscard]] Duration next_look() const {
    const Duration rest = left();
    return Cutoff::current == nullptr || rest.is_never() ? rest : std::min(rest, Cutoff::kLookEvery);
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
