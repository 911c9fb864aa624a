// Where a store's time comes from. Callers never send a time: the store owns the clock.
//
// Thread safety: now() is called from every thread that uses the limiter, and from one of the limiter's own.
#pragma once

#include <mete/time.h>

#include <atomic>

namespace mete {

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  // A clock may be set back: the limiter then lets time stand still until the clock has caught up.
  [[nodiscard]] virtual Instant now() const = 0;
};

// A clock for tests: it moves only when told to.
//
//     mete::ManualClock clock(mete::Instant::from_unix_seconds(1'700'000'000));
//     auto limiter = mete::open("embedded:", {.clock = &clock}).value();
//     clock.advance(30s);
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant start) : ns_(start.ns()) {}

  [[nodiscard]] Instant now() const override { return Instant::from_ns(ns_.load(std::memory_order_acquire)); }
  void set(Instant now) { ns_.store(now.ns(), std::memory_order_release); }
  void advance(Duration step) { set(now() + step); }

 private:
  std::atomic<std::uint64_t> ns_;
};

}  // namespace mete
