// Duration and Instant: integer nanoseconds that do not mix with plain numbers and do not wrap.
//
// Both saturate at their ends instead of overflowing, so that a value that is too large stays too large and is refused
// by the check of its range. Thread safety: values.
#pragma once

#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>

namespace mete {

// A length of time. Converts from every std::chrono duration of whole nanoseconds: `5min`, `250ms`, `1h`.
class Duration {
 public:
  constexpr Duration() = default;

  template <std::integral Rep, class Period>
  requires(std::ratio_divide<Period, std::nano>::den ==
           1) constexpr Duration(std::chrono::duration<Rep, Period> length)  // NOLINT(google-explicit-constructor)
      : ns_(saturate(length.count(), std::ratio_divide<Period, std::nano>::num)) {}

  static constexpr Duration from_ns(std::int64_t ns) { return Duration(ns); }
  // Longer than any wait: what can never fit is retried after never(). It is also what 292 years saturate to.
  static constexpr Duration never() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  [[nodiscard]] constexpr std::int64_t ns() const { return ns_; }
  // Whole milliseconds or seconds, rounded up, as the wire has them; -1 stands for never.
  [[nodiscard]] constexpr std::int64_t ms() const { return round_up(1'000'000); }
  [[nodiscard]] constexpr std::int64_t seconds() const { return round_up(1'000'000'000); }
  [[nodiscard]] constexpr bool is_never() const { return *this == never(); }

  constexpr auto operator<=>(const Duration&) const = default;
  friend constexpr Duration operator+(Duration a, Duration b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a.ns_, b.ns_, &sum)) return Duration(sum);
    return a.ns_ < 0 ? Duration(std::numeric_limits<std::int64_t>::min()) : never();
  }
  friend constexpr Duration operator*(Duration length, std::int64_t factor) {
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(length.ns_, factor, &product)) return Duration(product);
    return (length.ns_ < 0) != (factor < 0) ? Duration(std::numeric_limits<std::int64_t>::min()) : never();
  }

 private:
  explicit constexpr Duration(std::int64_t ns) : ns_(ns) {}

  template <std::integral Rep>
  static constexpr std::int64_t saturate(Rep count, std::int64_t unit) {
    std::int64_t ns = 0;
    if (!__builtin_mul_overflow(count, unit, &ns)) return ns;
    return count < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  }

  [[nodiscard]] constexpr std::int64_t round_up(std::int64_t unit) const {
    if (is_never()) return -1;
    return ns_ / unit + (ns_ % unit > 0 ? 1 : 0);
  }

  std::int64_t ns_ = 0;
};

// A point in time: nanoseconds since the Unix epoch, unsigned, so that the years 1970 to 2554 can be told.
class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant from_ns(std::uint64_t ns) { return Instant(ns); }
  static constexpr Instant from_unix_seconds(std::uint64_t seconds) {
    std::uint64_t ns = 0;
    return __builtin_mul_overflow(seconds, std::uint64_t{1'000'000'000}, &ns) ? max() : Instant(ns);
  }
  static constexpr Instant max() { return Instant(std::numeric_limits<std::uint64_t>::max()); }

  [[nodiscard]] constexpr std::uint64_t ns() const { return ns_; }
  [[nodiscard]] constexpr std::uint64_t unix_seconds() const { return ns_ / 1'000'000'000; }

  constexpr auto operator<=>(const Instant&) const = default;

  friend constexpr Instant operator+(Instant at, Duration length) {
    const auto offset = static_cast<std::uint64_t>(length.ns());
    if (length.ns() < 0) return at.ns_ < -offset ? Instant() : Instant(at.ns_ + offset);
    std::uint64_t sum = 0;
    return __builtin_add_overflow(at.ns_, offset, &sum) ? max() : Instant(sum);
  }

  // The time from `b` to `a`, negative where `a` is the earlier one.
  friend constexpr Duration operator-(Instant a, Instant b) {
    const bool negative = a < b;
    const std::uint64_t distance = negative ? b.ns_ - a.ns_ : a.ns_ - b.ns_;
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const auto ns = static_cast<std::int64_t>(distance < kMax ? distance : kMax);
    return Duration::from_ns(negative ? -ns : ns);
  }

 private:
  explicit constexpr Instant(std::uint64_t ns) : ns_(ns) {}

  std::uint64_t ns_ = 0;
};

}  // namespace mete
