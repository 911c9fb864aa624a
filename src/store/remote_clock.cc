#include "store/remote_clock.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>

#include "base/errors.h"
#include "base/lock.h"
#include "base/time_text.h"

namespace mete::store {

namespace {

// As far as scripts can count.
constexpr std::uint64_t kMicrosMax = (std::uint64_t{1} << 53) - 1;

Error too_fine(std::string_view field, const std::string& told) {
  return base::invalid(std::string(field) + " must be whole microseconds, not " + told +
                       ": this store's clock counts microseconds");
}

std::uint64_t booted_us() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_nsec) / kNsPerMicro;
}

}  // namespace

Result<std::int64_t> micros_of(std::string_view field, Duration length) {
  if (length.ns() % kNsPerMicro != 0) return too_fine(field, base::duration_text(length));
  return length.ns() / kNsPerMicro;
}

Result<std::uint64_t> micros_of(std::string_view field, Instant at) {
  if (at.ns() % kNsPerMicro != 0) return too_fine(field, std::to_string(at.ns()) + " ns");
  return at.ns() / kNsPerMicro;
}

Instant instant_of_micros(std::uint64_t micros) {
  constexpr std::uint64_t kInstantMax = std::numeric_limits<std::uint64_t>::max() / kNsPerMicro;
  return micros > kInstantMax ? Instant::max() : Instant::from_ns(micros * kNsPerMicro);
}

RemoteClock::RemoteClock(Duration step_max, ReadElapsed read_elapsed)
    : step_max_us_((step_max == Duration() ? Duration::never() : step_max).ns() / kNsPerMicro),
      read_elapsed_(read_elapsed != nullptr ? read_elapsed : booted_us) {}

std::uint64_t RemoteClock::expected_us() const { return read_elapsed_() + offset_us_.load(std::memory_order_relaxed); }

// While a step is refused nobody there tells how time goes on.
std::uint64_t RemoteClock::floor_us() const {
  const std::uint64_t floor_us = floor_us_.load(std::memory_order_relaxed);
  const bool is_refused = refused_by_us_.load(std::memory_order_relaxed) != 0;
  return is_refused ? std::max(floor_us, expected_us()) : floor_us;
}

TimeBounds RemoteClock::bounds() const {
  const std::uint64_t earliest_us = floor_us();
  if (!is_set_.load(std::memory_order_acquire)) return {earliest_us, kMicrosMax};
  const std::uint64_t latest_us = expected_us() + static_cast<std::uint64_t>(step_max_us_);
  return {earliest_us, std::clamp(latest_us, earliest_us, std::max(earliest_us, kMicrosMax))};
}

void RemoteClock::raise(std::uint64_t now_us) {
  if (now_us <= floor_us_.load(std::memory_order_relaxed)) return;
  if (now_us <= bounds().latest_us) base::raise(floor_us_, now_us);
}

void RemoteClock::tell(std::uint64_t now_us) {
  const std::uint64_t elapsed_us = read_elapsed_();
  const auto step_us = static_cast<std::int64_t>(now_us - elapsed_us - offset_us_.load(std::memory_order_relaxed));
  if (is_set_.load(std::memory_order_acquire) && std::abs(step_us) > step_max_us_) {
    const bool was_refused = refused_by_us_.exchange(step_us, std::memory_order_relaxed) != 0;
    if (!was_refused) refused_steps_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  base::raise(floor_us_, std::max(now_us, floor_us()));  // no earlier than what was told while a step was refused
  offset_us_.store(now_us - elapsed_us, std::memory_order_relaxed);
  refused_by_us_.store(0, std::memory_order_relaxed);
  is_set_.store(true, std::memory_order_release);
}

Instant RemoteClock::now() const { return instant_of_micros(std::max(expected_us(), floor_us())); }

ClockStatus RemoteClock::status() const {
  return {.whose = "the store's",
          .refused_steps = refused_steps_.load(std::memory_order_relaxed),
          .refused_by = std::chrono::microseconds(refused_by_us_.load(std::memory_order_relaxed))};
}

}  // namespace mete::store
