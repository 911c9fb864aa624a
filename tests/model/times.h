// Times: what times a random history is made of, so that the store under test can tell them.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <chrono>
#include <cstdint>

namespace mete::model {

struct Times {
  // Times, steps, periods and lengths of holds are whole multiples of it, and answers are compared with their waits
  // rounded up to it: a clock that counts microseconds cannot tell more.
  Duration resolution = std::chrono::nanoseconds(1);
  Instant earliest = Instant();
  Instant latest = Instant::from_unix_seconds(18'303'062'400);  // 2550
  Duration set_back_most = std::chrono::hours(30);
};

// Of stores whose clock counts microseconds, in numbers up to 2^53, which is the year 2255: 2001 to 2200.
inline constexpr Times kMicroseconds = {.resolution = std::chrono::microseconds(1),
                                        .earliest = Instant::from_unix_seconds(1'000'000'000),
                                        .latest = Instant::from_unix_seconds(7'258'118'400)};

// In a Cluster the keys that tell where an id is expire by the clock of their node alone. If that is set back, an id
// may be remembered that was forgotten already: so it is by no more than moments.
inline constexpr Times kOfCluster = {.resolution = kMicroseconds.resolution,
                                     .earliest = kMicroseconds.earliest,
                                     .latest = kMicroseconds.latest,
                                     .set_back_most = std::chrono::seconds(2)};

constexpr bool is_multiple(Duration length, Duration resolution) { return length.ns() % resolution.ns() == 0; }

constexpr Duration round_up(Duration length, Duration resolution) {
  if (length.is_never() || is_multiple(length, resolution)) return length;
  return length + Duration::from_ns(resolution.ns() - length.ns() % resolution.ns());
}

constexpr Instant round_up(Instant at, Duration resolution) {
  const auto step = static_cast<std::uint64_t>(resolution.ns());
  if (at == Instant::max() || at.ns() % step == 0) return at;
  return at + Duration::from_ns(static_cast<std::int64_t>(step - at.ns() % step));
}

// A decision of any kind, with its waits rounded up.
template <class AnyDecision>
Result<AnyDecision> rounded(Result<AnyDecision> decision, Duration resolution) {
  if (decision.has_value()) {
    decision->retry_after = round_up(decision->retry_after, resolution);
    decision->reset_after = round_up(decision->reset_after, resolution);
  }
  return decision;
}

}  // namespace mete::model
