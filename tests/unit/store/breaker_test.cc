#include "store/breaker.h"

#include <gtest/gtest.h>

#include <vector>

namespace mete::store {
namespace {

using namespace std::chrono_literals;
using Admission = Breaker::Admission;

constexpr std::uint64_t kLongest = ~std::uint64_t{0};  // of the random numbers: nearly the whole pause

TEST(BreakerTest, StepByStep) {
  enum class Step : std::uint8_t { kAdmit, kSucceed, kFailAdmitted, kFailTrial };
  const struct {
    Duration at;
    Step step;
    Admission expected = Admission::kRefused;  // of kAdmit
  } rows[] = {
      {0ms, Step::kAdmit, Admission::kAdmitted},
      {0ms, Step::kAdmit, Admission::kAdmitted},
      {0ms, Step::kFailAdmitted},
      {1ms, Step::kAdmit, Admission::kRefused},
      {1ms, Step::kFailAdmitted},  // the second one, late: it does not lengthen the pause
      {24ms, Step::kAdmit, Admission::kRefused},
      {50ms, Step::kAdmit, Admission::kTrial},
      {50ms, Step::kAdmit, Admission::kRefused},  // one trial at a time
      {60ms, Step::kFailTrial},
      {109ms, Step::kAdmit, Admission::kRefused},  // at least half of 100 ms
      {160ms, Step::kAdmit, Admission::kTrial},
      {161ms, Step::kSucceed},
      {161ms, Step::kAdmit, Admission::kAdmitted},
      {161ms, Step::kFailAdmitted},
      {211ms, Step::kAdmit, Admission::kTrial},  // back to the shortest pause
      {211ms, Step::kSucceed},
      {211ms, Step::kAdmit, Admission::kAdmitted},
  };
  Breaker breaker;
  for (const auto& row : rows) {
    const Instant at = Instant::from_unix_seconds(1) + row.at;
    switch (row.step) {
      case Step::kAdmit:
        EXPECT_EQ(breaker.admit(at), row.expected) << row.at.ms();
        break;
      case Step::kSucceed:
        breaker.succeeded();
        break;
      case Step::kFailAdmitted:
        breaker.failed(Admission::kAdmitted, at, kLongest);
        break;
      case Step::kFailTrial:
        breaker.failed(Admission::kTrial, at, kLongest);
        break;
    }
  }
  EXPECT_FALSE(breaker.is_open());
}

// The longest and the shortest pause of each failure: doubled up to two seconds, and never below half of that.
TEST(BreakerTest, PausesDoubleAndVary) {
  const Duration longest[] = {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 2s, 2s};
  for (const bool is_short : {false, true}) {
    Breaker breaker;
    Instant now = Instant::from_unix_seconds(1);
    Admission admission = breaker.admit(now);
    for (const Duration pause : longest) {
      breaker.failed(admission, now, is_short ? 0 : static_cast<std::uint64_t>(pause.ns() / 2 - 1));
      const Duration expected = Duration::from_ns(is_short ? pause.ns() / 2 : pause.ns() - 1);
      EXPECT_EQ(breaker.admit(now + Duration::from_ns(expected.ns() - 1)), Admission::kRefused);
      now = now + expected;
      admission = breaker.admit(now);
      EXPECT_EQ(admission, Admission::kTrial);
    }
  }
}

}  // namespace
}  // namespace mete::store
