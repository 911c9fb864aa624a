#include "store/remote_clock.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "base/errors.h"
#include "base/time_text.h"

namespace mete::store {

namespace {

Error too_fine(std::string_view field, const std::string& told) {
  return base::invalid(std::string(field) + " must be whole microseconds, not " + told +
                       ": this store's clock counts microseconds");
}

std::int64_t local_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
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
  constexpr std::uint64_t kMicrosMax = std::numeric_limits<std::uint64_t>::max() / kNsPerMicro;
  return micros > kMicrosMax ? Instant::max() : Instant::from_ns(micros * kNsPerMicro);
}

void RemoteClock::tell(std::uint64_t now_us) {
  skew_us_.store(static_cast<std::int64_t>(now_us) - local_us(), std::memory_order_relaxed);
  raise(now_us);
}

Instant RemoteClock::now() const {
  const auto there = static_cast<std::uint64_t>(local_us() + skew_us_.load(std::memory_order_relaxed));
  return instant_of_micros(std::max(there, floor_us()));
}

}  // namespace mete::store
