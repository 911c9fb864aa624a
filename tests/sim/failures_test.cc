// One call of the disk fails, each in turn: nothing is acknowledged that is not there after a restart; reads and limits
// that need no disk go on; and a restart on the same disk works.
#include <gtest/gtest.h>
#include <mete/clock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/try.h"
#include "sim/sim_store.h"
#include "sim/workload.h"
#include "support/simulated_disk.h"

namespace mete::sim {
namespace {

using support::SimulatedDisk;
using Failure = SimulatedDisk::Failure;
using Fate = SimulatedDisk::Fate;

// One run until something must be on disk and cannot be.
class FailingRun {
 public:
  FailingRun(std::uint64_t call, Failure failure) : workload_(kSeed) { disk_.fail_call(call, failure); }

  // An error: the store did not open, or its limits could not be defined.
  Result<void> start();
  // False: a write or sync has failed, and the store has said so.
  [[nodiscard]] bool live(int operations);
  // Of a store whose disk has failed.
  void expect_reads_and_open_limits();
  // What a restart finds, whether this process was killed or the machine lost its power.
  void expect_restart();

  [[nodiscard]] std::uint64_t calls() const { return disk_.calls(); }

 private:
  static constexpr std::uint64_t kSeed = 3;

  bool operate();
  void expect_restart_on(SimulatedDisk& disk, const std::string& how);

  Workload workload_;
  ManualClock clock_{kSimStart};
  SimulatedDisk disk_;
  std::unique_ptr<store::EmbeddedStore> store_;
  // After the last acknowledged operation, and after each that was not: one of these must be found. Empty: not even
  // the limits were acknowledged.
  std::vector<Observation> observations_;
};

Result<void> FailingRun::start() {
  store_ = TRY(open_store(disk_, clock_));
  if (auto defined = workload_.define_limits(*store_); !defined) return defined;
  observations_ = {workload_.observe(*store_)};
  return {};
}

bool FailingRun::live(int operations) {
  constexpr int kBetweenSaves = 12;
  for (int i = 1; i <= operations; ++i) {
    if (!operate()) return false;
    if (i % kBetweenSaves != 0) continue;
    // A snapshot that fails does no harm, unless it is the journal that failed beneath it.
    const auto saved = store_->persistence()->save();
    EXPECT_TRUE(saved || !saved.error().message.empty());
  }
  return true;
}

// An operation, or some that share a sync; false if they were not acknowledged.
bool FailingRun::operate() {
  Result<void> done;
  if (workload_.roll(4) == 0) {
    store::Execution execution = {.waits_for_disk = false};
    for (int i = 0; i < 3 && done; ++i) {
      done = workload_.step(*store_, execution);
      observations_.push_back(workload_.observe(*store_));
    }
    if (done) done = wait_for_all(*store_);
  } else {
    done = workload_.step(*store_);
    observations_.push_back(workload_.observe(*store_));
  }
  if (done) observations_.erase(observations_.begin(), observations_.end() - 1);
  return done.has_value();
}

void FailingRun::expect_reads_and_open_limits() {
  ASSERT_TRUE(store_->persistence()->failure());
  const Observation before = workload_.observe(*store_);
  const Charge durable = {.limit = "disk", .key = "late"};
  const auto refused = store_->take({.charges = {&durable, 1}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->give({&durable, 1}, "").error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->define(stock("late").amount(1)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store_->hold({.charges = {&durable, 1}, .ttl = std::chrono::seconds(9), .id = "late"}).error().code,
            ErrorCode::kUnavailable);
  EXPECT_EQ(difference(before, workload_.observe(*store_)), "") << "what was refused has changed something";

  const auto unrecorded = store_->statistics().unrecorded_admissions;
  const Charge scratch = {.limit = kNeverLimit, .key = "late"};
  const auto unneeded = store_->take({.charges = {&scratch, 1}});
  EXPECT_TRUE(unneeded.has_value() && unneeded->is_allowed)
      << (unneeded.has_value() ? "denied" : unneeded.error().message);
  EXPECT_EQ(store_->statistics().unrecorded_admissions, unrecorded);
  const Charge open = {.limit = kOpenLimit, .key = "late"};
  const auto admitted = store_->take({.charges = {&open, 1}});
  EXPECT_TRUE(admitted.has_value() && admitted->is_allowed)
      << (admitted.has_value() ? "denied" : admitted.error().message);
  EXPECT_EQ(store_->statistics().unrecorded_admissions, unrecorded + 1);
}

void FailingRun::expect_restart() {
  expect_restart_on(*disk_.cut_power(Fate::kDropped, 1), "with nothing but what was synced");
  expect_restart_on(*disk_.cut_power(Fate::kRandomMix, 2), "after a power cut");
  store_.reset();
  expect_restart_on(*disk_.cut_power(Fate::kKept, 3), "after a stop");
}

void FailingRun::expect_restart_on(SimulatedDisk& disk, const std::string& how) {
  auto store = open_store(disk, clock_);
  ASSERT_TRUE(store) << how << ": " << store.error().message;
  EXPECT_EQ(problem_of_books(**store), "") << how;
  if (observations_.empty()) {
    EXPECT_TRUE(workload_.define_limits(**store)) << how;
    return;
  }
  EXPECT_EQ(workload_.problem_of_others(**store), "") << how;
  const Observation found = workload_.observe(**store);
  EXPECT_TRUE(std::find(observations_.begin(), observations_.end(), found) != observations_.end())
      << how << "; acknowledged: " << difference(observations_.front(), found)
      << "; done: " << difference(observations_.back(), found);
  EXPECT_TRUE(workload_.step(**store)) << how;
}

class FailingCall : public ::testing::TestWithParam<Failure> {};

TEST_P(FailingCall, OfAnyNumberLosesNothingThatWasAcknowledged) {
  constexpr int kOperations = 60;
  bool was_reached = true;
  int failures = 0;
  std::uint64_t call = 1;
  for (; was_reached && !HasFailure(); ++call) {
    SCOPED_TRACE("call " + std::to_string(call) + " fails");
    FailingRun run(call, GetParam());
    const auto started = run.start();
    if (!started) {
      EXPECT_FALSE(started.error().message.empty());
      EXPECT_NE(GetParam(), Failure::kShortWrite) << started.error().message;
    } else if (!run.live(kOperations)) {
      EXPECT_NE(GetParam(), Failure::kShortWrite) << "a short write is no error";
      run.expect_reads_and_open_limits();
      ++failures;
    }
    was_reached = run.calls() >= call;
    run.expect_restart();
  }
  EXPECT_GT(call, 150U);
  EXPECT_EQ(failures > 60, GetParam() != Failure::kShortWrite);
}

INSTANTIATE_TEST_SUITE_P(EachFailure, FailingCall,
                         ::testing::Values(Failure::kInputOutput, Failure::kNoSpace, Failure::kShortWrite));

}  // namespace
}  // namespace mete::sim
