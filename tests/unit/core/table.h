// Rules, moments and tables for the tests of the core: a row is a time and a cost, and what a user would be told.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/meter.h"

namespace mete::core::testing {

using namespace std::chrono_literals;

inline constexpr Duration kDay = std::chrono::hours(24);
inline constexpr Instant k2023 = Instant::from_unix_seconds(1'672'531'200);
inline constexpr Instant k2500 = Instant::from_unix_seconds(16'725'225'600);

inline Rule bucket_rule(Amount amount, Duration period, Amount burst) { return {Kind::kBucket, amount, burst, period}; }
inline Rule bucket_rule(Amount amount, Duration period) { return bucket_rule(amount, period, amount); }
inline Rule window_rule(Amount amount, Duration period) { return {Kind::kWindow, amount, amount, period}; }
inline Rule sliding_rule(Amount amount, Duration period) { return {Kind::kSliding, amount, amount, period}; }
inline Rule calendar_rule(Amount amount) { return {Kind::kCalendar, amount, amount, {}}; }
inline Rule stock_rule(Amount amount) { return {Kind::kStock, amount, amount, {}}; }

// The core takes a calendar's periods as given: here they are days.
inline Moment moment_at(const Rule& rule, Instant now) {
  if (rule.kind == Kind::kCalendar) return {now, fixed_window(kDay, now)};
  return has_window(rule.kind) ? Moment{now, fixed_window(rule.period, now)} : Moment{now, {}};
}

inline State settled(const Rule& rule, State state, Instant now) {
  settle(rule, state, moment_at(rule, now));
  return state;
}

// Whether `cost` fits after an undisturbed wait in which the parts expire, by living through it.
inline bool fits_after(const Rule& rule, State state, Amount cost, Instant at, const std::vector<HeldPart>& parts) {
  for (const HeldPart& part : parts) {
    if (part.expires_at > at) break;
    const Moment expiry = moment_at(rule, part.expires_at);
    expire(rule, state, part, expiry);
  }
  const Moment moment = moment_at(rule, at);
  settle(rule, state, moment);
  return fits(rule, state, cost, moment);
}

// The wait that wait_for() tells is enough, and one nanosecond less is not.
inline void expect_exact_wait(const Rule& rule, const State& state, Amount cost, Instant now,
                              const std::vector<HeldPart>& parts = {}) {
  const Duration wait = wait_for(rule, state, cost, moment_at(rule, now), parts, parts.size());
  if (wait.is_never()) {
    const Instant late = parts.empty() ? now : parts.back().expires_at;
    EXPECT_FALSE(fits_after(rule, state, cost, late, parts));
    return;
  }
  EXPECT_GE(wait, Duration());
  EXPECT_TRUE(fits_after(rule, state, cost, now + wait, parts)) << "after " << wait.ns() << " ns";
  if (wait > Duration()) {
    EXPECT_FALSE(fits_after(rule, state, cost, now + wait + Duration(-1ns), parts)) << "before " << wait.ns() << " ns";
  }
}

struct Row {
  Duration at;  // since the table's start
  Amount cost;
  bool fits;         // if so, it is charged
  Amount remaining;  // from here on: after the charge
  Duration retry;
  Duration reset;
};

inline void run_table(const Rule& rule, Instant start, const std::vector<Row>& rows) {
  State state;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE("row " + std::to_string(i));
    const Row& row = rows[i];
    const Moment moment = moment_at(rule, start + row.at);
    settle(rule, state, moment);
    EXPECT_EQ(fits(rule, state, row.cost, moment), row.fits);
    EXPECT_EQ(wait_for(rule, state, row.cost, moment).ns(), row.retry.ns());
    expect_exact_wait(rule, state, row.cost, moment.now);
    if (row.fits) charge(rule, state, row.cost, moment);
    EXPECT_EQ(remaining(rule, state, moment), row.remaining);
    EXPECT_EQ(reset_after(rule, state, moment).ns(), row.reset.ns());
    if (rule.kind != Kind::kStock) {
      EXPECT_EQ(is_fresh(rule, state, moment), row.reset == Duration());
    }
  }
}

// Random numbers that are often small, often large, and seldom in between.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::int64_t between(std::int64_t min, std::int64_t max) {
    return std::uniform_int_distribution<std::int64_t>(min, max)(engine_);
  }
  std::int64_t skewed(std::int64_t min, std::int64_t max) {
    const auto bits = static_cast<unsigned>(between(0, 62));
    return min + between(0, std::min(max - min, (std::int64_t{1} << bits) - 1));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace mete::core::testing
