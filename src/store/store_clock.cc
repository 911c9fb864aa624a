#include "store/store_clock.h"

#include <cstdlib>
#include <ctime>

#include "base/lock.h"

namespace mete::store {

namespace {

constexpr std::uint64_t kUncertainNsMax = 2000;
constexpr int kLooksMax = 10;

std::uint64_t wall_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// How long the machine has been suspended since its start.
std::uint64_t suspended_ns(std::uint64_t monotonic_ns) {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  const auto booted_ns =
      static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  return booted_ns > monotonic_ns ? booted_ns - monotonic_ns : 0;
}

// Whether two clocks have gone on alike: as much as a clock may be slewed and measured wrong, and a look at them may
// be uncertain.
bool agree(std::uint64_t a_ns, std::uint64_t b_ns) {
  const std::uint64_t difference = a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
  return difference <= b_ns / 1000 + 2 * kUncertainNsMax;
}

}  // namespace

// All clocks at one instant, as far as that can be told.
struct SystemClock::Look {
  std::uint64_t counter_ns = 0;
  std::uint64_t monotonic_ns = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t suspended_ns = 0;
  bool is_certain = false;  // the thread was not interrupted in between

  [[nodiscard]] std::uint64_t offset(bool is_by_counter) const {
    const std::uint64_t offset = wall_ns - (is_by_counter ? counter_ns : monotonic_ns);
    return is_by_counter ? offset | kByCounter : offset & ~kByCounter;
  }
};

SystemClock::Look SystemClock::look() const {
  Look look;
  for (int i = 0; i < kLooksMax && !look.is_certain; ++i) {
    look.monotonic_ns = base::monotonic_ns();
    if (counter_ != nullptr) look.counter_ns = counter_->now_ns();
    look.wall_ns = read_wall_();
    look.is_certain = base::monotonic_ns() - look.monotonic_ns <= kUncertainNsMax;
  }
  look.suspended_ns = store::suspended_ns(look.monotonic_ns);
  return look;
}

SystemClock::SystemClock(const base::ProcessorClock* counter, Duration step_max, ReadWall read_wall)
    : counter_(counter), step_max_(step_max), read_wall_(read_wall != nullptr ? read_wall : wall_ns) {
  const Look first = look();
  counter_then_ns_ = first.counter_ns;
  monotonic_then_ns_ = first.monotonic_ns;
  suspended_then_ns_ = first.suspended_ns;
  const bool is_by_counter = counter_ != nullptr && first.is_certain;
  monotonic_offset_ns_.store(first.offset(false));
  offset_ns_.store(first.offset(is_by_counter));
  followed_at_ns_.store(is_by_counter ? first.counter_ns : first.monotonic_ns);
}

Instant SystemClock::now_by_monotonic() const {
  const std::uint64_t followed_at = followed_at_ns_.load(std::memory_order_acquire);
  const std::uint64_t offset = monotonic_offset_ns_.load(std::memory_order_acquire);
  const std::uint64_t carried = base::monotonic_ns();
  return carried - followed_at >= kFollowEveryNs ? follow_and_tell() : not_before_floor(carried + offset);
}

// What is told here is a floor from then on: by the other carrier it may be some nanoseconds less.
Instant SystemClock::follow_and_tell() const {
  if (!is_being_followed_.test_and_set(std::memory_order_acquire)) {
    follow_wall_clock();
    is_being_followed_.clear(std::memory_order_release);
  }
  const Instant told = not_before_floor(base::monotonic_ns() + monotonic_offset_ns_.load(std::memory_order_relaxed));
  base::raise(floor_ns_, told.ns());
  return told;
}

void SystemClock::follow_wall_clock() const {
  Look now = look();
  const bool was_by_counter = is_by_counter();
  if (was_by_counter && !now.is_certain) return;  // whoever comes next tries again
  const bool is_by_counter =
      was_by_counter && agree(now.counter_ns - counter_then_ns_, now.monotonic_ns - monotonic_then_ns_);
  now.wall_ns = believed_ns(now);
  // Nobody was told a later time since the last look: who reads the carrier that long after it comes here. So this is
  // where time stands still, if the wall clock was set back.
  const std::uint64_t offset = offset_ns_.load(std::memory_order_relaxed) & ~kByCounter;
  base::raise(floor_ns_, followed_at_ns_.load(std::memory_order_relaxed) + kFollowEveryNs + offset);
  counter_then_ns_ = now.counter_ns;
  monotonic_then_ns_ = now.monotonic_ns;
  monotonic_offset_ns_.store(now.offset(false), std::memory_order_release);
  offset_ns_.store(now.offset(is_by_counter), std::memory_order_release);
  followed_at_ns_.store(is_by_counter ? now.counter_ns : now.monotonic_ns, std::memory_order_release);
}

std::uint64_t SystemClock::believed_ns(const Look& now) const {
  // Less than this is how far apart the two clocks were read.
  constexpr std::uint64_t kSleptNsMin = 1'000'000'000;
  std::uint64_t slept_ns = now.suspended_ns - std::min(now.suspended_ns, suspended_then_ns_);
  if (slept_ns < kSleptNsMin) slept_ns = 0;
  suspended_then_ns_ += slept_ns;
  const std::uint64_t expected_ns = now.monotonic_ns + monotonic_offset_ns_.load(std::memory_order_relaxed) + slept_ns;
  const auto step_ns = static_cast<std::int64_t>(now.wall_ns - expected_ns);
  const bool is_refused = std::abs(step_ns) > step_max_.ns();
  const bool was_refused = refused_by_ns_.exchange(is_refused ? step_ns : 0, std::memory_order_relaxed) != 0;
  if (!is_refused) return now.wall_ns;
  if (!was_refused) refused_steps_.fetch_add(1, std::memory_order_relaxed);
  return expected_ns;
}

void SystemClock::not_before(Instant time) { base::raise(floor_ns_, time.ns()); }

Instant MonotoneClock::now() const {
  base::raise(latest_ns_, clock_.now().ns());
  return Instant::from_ns(latest_ns_.load(std::memory_order_relaxed));
}

void MonotoneClock::not_before(Instant time) { base::raise(latest_ns_, time.ns()); }

std::unique_ptr<StoreClock> make_store_clock(const Clock* users, Duration step_max) {
  if (users != nullptr) return std::make_unique<MonotoneClock>(*users);
  return std::make_unique<SystemClock>(step_max == Duration() ? Duration::never() : step_max);
}

}  // namespace mete::store
