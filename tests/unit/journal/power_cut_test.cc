// The power is cut before every write and sync, and every call of the file system fails: what was acknowledged is
// there, and what is there beyond it is the beginning of what came next.
#include <gtest/gtest.h>

#include <string>

#include "support/simulated_disk.h"
#include "unit/journal/random_run.h"

namespace mete::journal {
namespace {

using support::SimulatedDisk;
using Fate = SimulatedDisk::Fate;

// How many records must be there, and how many may be.
struct Bounds {
  std::uint64_t acknowledged = 0;
  std::uint64_t appended = 0;
};

Bounds bounds_of(const RandomRun& run) { return {run.acknowledged(), run.appended()}; }

// Empty if the disk has what it must have, and goes on from there with one record more.
std::string problem_of(SimulatedDisk& disk, const Bounds& bounds) {
  const auto looked = find_records(disk, RecoveryMode::kLookOnly);
  if (!looked) return looked.error().message;
  const auto found = find_records(disk, RecoveryMode::kStart);
  if (!found) return "after a look: " + found.error().message;
  if (looked->records != found->records) return "a look found something else than the start";
  if (found->records < bounds.acknowledged) {
    return "lost: " + std::to_string(bounds.acknowledged) + " acknowledged, " + std::to_string(found->records) +
           " found";
  }
  if (found->records > bounds.appended) return "more than was appended";
  auto journal = start_journal(disk, *found);
  if (!journal) return "a new start: " + journal.error().message;
  const std::string body = body_of(found->records);
  (*journal)->append(body);
  if (auto flushed = (*journal)->flush(); !flushed) return "a flush: " + flushed.error().message;
  journal->reset();
  const auto again = find_records(disk, RecoveryMode::kStart);
  if (!again) return "a second start: " + again.error().message;
  return again->records == found->records + 1 ? "" : "the second start found something else";
}

TEST(PowerCut, AtAnyMomentLosesNothingThatWasAcknowledged) {
  constexpr int kLives = 3;
  std::uint64_t cuts = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    SimulatedDisk disk;
    RandomRun run(disk, seed);
    disk.before_change([&] {
      if (::testing::Test::HasFailure()) return;
      ++cuts;
      for (const Fate fate : {Fate::kDropped, Fate::kKept, Fate::kTorn, Fate::kRandomMix}) {
        const auto after = disk.cut_power(fate, cuts);
        EXPECT_EQ(problem_of(*after, bounds_of(run)), "")
            << "seed " << seed << ", cut " << cuts << ", fate " << int(fate);
      }
    });
    for (int life = 0; life < kLives; ++life) run.live(25).value();
  }
  EXPECT_GT(cuts, 300U);
}

// Whatever the first process left, killed at any moment or by a power cut: cutting the power while the next one
// recovers and starts loses nothing either.
TEST(PowerCut, DuringARecoveryLosesNothingEither) {
  std::uint64_t changes = 0;
  std::uint64_t cuts = 0;
  const auto cut_during_recovery = [&cuts](SimulatedDisk& disk, const Bounds& bounds) {
    disk.before_change([&disk, &bounds, &cuts] {
      if (::testing::Test::HasFailure()) return;
      const auto after = disk.cut_power(Fate::kRandomMix, ++cuts);
      EXPECT_EQ(problem_of(*after, {bounds.acknowledged, bounds.appended + 1}), "") << "cut " << cuts;
    });
    EXPECT_EQ(problem_of(disk, bounds), "") << "before cut " << cuts;
  };
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SimulatedDisk first;
    RandomRun run(first, seed);
    first.before_change([&] {
      if (::testing::Test::HasFailure() || ++changes % 11 != 0) return;
      const auto killed = first.kill_process();
      cut_during_recovery(*killed, bounds_of(run));
      if (changes % 2 == 0) return;
      const auto cut = first.cut_power(Fate::kRandomMix, changes);
      cut_during_recovery(*cut, bounds_of(run));
    });
    for (int life = 0; life < 3; ++life) run.live(15).value();
  }
  EXPECT_GT(cuts, 500U);
}

class FailingCall : public ::testing::TestWithParam<SimulatedDisk::Failure> {};

TEST_P(FailingCall, OfAnyNumberIsNeverAcknowledged) {
  constexpr std::uint64_t kSeed = 7;
  bool was_reached = true;
  std::uint64_t call = 1;
  for (; was_reached; ++call) {
    SimulatedDisk disk;
    RandomRun run(disk, kSeed);
    disk.fail_call(call, GetParam());
    Result<void> lived;
    for (int life = 0; life < 2 && lived; ++life) lived = run.live(30);
    was_reached = disk.calls() >= call;
    if (GetParam() == SimulatedDisk::Failure::kShortWrite) {
      ASSERT_TRUE(lived) << lived.error().message;
    } else if (run.journal() != nullptr && run.journal()->failure()) {
      // Kept for ever, and nothing moves any more.
      const Ticket synced = run.journal()->synced();
      run.journal()->append("more");
      EXPECT_EQ(run.journal()->flush().error(), *run.journal()->failure());
      EXPECT_EQ(run.journal()->rotate().error(), *run.journal()->failure());
      EXPECT_EQ(run.journal()->synced(), synced);
      EXPECT_FALSE(run.journal()->is_congested());
    }
    const auto killed = disk.cut_power(Fate::kKept, call);
    ASSERT_EQ(problem_of(*killed, bounds_of(run)), "") << "killed after call " << call << " failed";
    for (const Fate fate : {Fate::kDropped, Fate::kRandomMix}) {
      const auto after = disk.cut_power(fate, call);
      ASSERT_EQ(problem_of(*after, bounds_of(run)), "") << "cut after call " << call << " failed";
    }
  }
  EXPECT_GT(call, 200U);
}

INSTANTIATE_TEST_SUITE_P(EachFailure, FailingCall,
                         ::testing::Values(SimulatedDisk::Failure::kInputOutput, SimulatedDisk::Failure::kNoSpace,
                                           SimulatedDisk::Failure::kShortWrite));

}  // namespace
}  // namespace mete::journal
