// StoreClock: the time of a store in this process. It never runs backwards, whatever the clock behind it does.
//
// Thread safety: now() from any thread.
#pragma once

#include <mete/clock.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace mete::store {

class StoreClock : public Clock {
 public:
  // What was kept from an earlier process is of this time: it is no earlier now.
  virtual void not_before(Instant time) = 0;
};

// The system's wall clock, carried by its monotonic one, so that reading it from many threads shares nothing they
// write. A step of the wall clock is noticed within a second: forwards is followed, backwards lets time stand still.
class SystemClock final : public StoreClock {
 public:
  SystemClock();
  [[nodiscard]] Instant now() const override;
  void not_before(Instant time) override;

 private:
  void follow_wall_clock(std::uint64_t monotonic_ns) const;

  // Wall clock minus monotonic clock; the latter starts at boot, so this is positive.
  mutable std::atomic<std::uint64_t> offset_ns_;
  mutable std::atomic<std::uint64_t> floor_ns_{0};
  mutable std::atomic<std::uint64_t> followed_at_ns_;
};

// A clock given by the user, held back from running backwards.
class MonotoneClock final : public StoreClock {
 public:
  explicit MonotoneClock(const Clock& clock) : clock_(clock) {}
  [[nodiscard]] Instant now() const override;
  void not_before(Instant time) override;

 private:
  const Clock& clock_;
  mutable std::atomic<std::uint64_t> latest_ns_{0};
};

// The clock of the user's options, or the system's where there is none.
std::unique_ptr<StoreClock> make_store_clock(const Clock* users);

}  // namespace mete::store
