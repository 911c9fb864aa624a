// Steps of a clock, told from answers that are slow.
#include "escrow/nodes/clock_watch.h"

#include <gtest/gtest.h>

#include "escrow/nodes/roll.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;

constexpr Instant kBegin = Instant::from_unix_seconds(1000);

TEST(ClockWatch, TellsAStepAndNoSlowAnswer) {
  struct Case {
    const char* what;
    Duration shown;
    Duration asked;
    Duration told;
    std::optional<Duration> step;
  };
  const Case cases[] = {
      {"even", 1s, 1s, 1s, std::nullopt},
      {"a little too fast, as clocks run", 1010ms, 1s, 1s, std::nullopt},
      {"the answer was slow, and it was read early", 1s, 1s, 9s, std::nullopt},
      {"the answer was slow, and it was read late", 9s, 1s, 9s, std::nullopt},
      {"ahead", 61s, 1s, 1s, 60s},
      {"ahead, and the answer was slow", 61s, 1s, 9s, 52s},
      {"back", -59s, 1s, 1s, -60s},
      {"it stands", 0s, 2s, 2s, -2s},
      {"it stands, and the answer was slow", 0s, 2s, 9s, -2s},
      {"this node was stopped, and so was nobody else", 100s, 100s, 100s, std::nullopt},
  };
  for (const Case& each : cases) {
    ClockWatch watch;
    EXPECT_EQ(watch.note({.shown = 5s, .asked_at = kBegin, .told_at = kBegin}), std::nullopt) << each.what;
    const ClockWatch::Reading next = {
        .shown = Duration(5s) + each.shown, .asked_at = kBegin + each.asked, .told_at = kBegin + each.told};
    EXPECT_EQ(watch.note(next), each.step) << each.what;
    EXPECT_EQ(watch.note(next), std::nullopt) << "a step is told once: " << each.what;
  }
}

TEST(ClockWatch, GoesOnIntoTheNextPeriod) {
  ClockWatch watch;
  const Duration end = kClockPeriod;
  EXPECT_EQ(watch.note({.shown = Duration::from_ns(end.ns() - 1), .asked_at = kBegin, .told_at = kBegin}),
            std::nullopt);
  EXPECT_EQ(watch.note({.shown = 1s, .asked_at = kBegin + 1s, .told_at = kBegin + 1s}), std::nullopt);
  EXPECT_EQ(
      watch.note(
          {.shown = Duration::from_ns(end.ns() - 60'000'000'000), .asked_at = kBegin + 1s, .told_at = kBegin + 1s}),
      Duration(-61s));
}

}  // namespace
}  // namespace mete::escrow
