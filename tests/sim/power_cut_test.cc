// A whole store on a disk whose power is cut before every write and every sync: what was acknowledged is there, what is
// there beyond it is the beginning of what came next, nothing is over its limit, and the books balance. METE_SEED runs
// another history; METE_TEST_LONG=1 gives every cut all four fates.
#include <gtest/gtest.h>
#include <mete/clock.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "sim/sim_store.h"
#include "sim/workload.h"
#include "support/long_form.h"
#include "support/simulated_disk.h"

namespace mete::sim {
namespace {

using namespace std::chrono_literals;
using support::SimulatedDisk;
using Fate = SimulatedDisk::Fate;

constexpr Fate kFates[] = {Fate::kDropped, Fate::kKept, Fate::kTorn, Fate::kRandomMix};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : workload_(seed), disk_(std::make_unique<SimulatedDisk>()) {
    open();
    workload_.define_limits(*store_).value();
    unchecked_.clear();  // before there were limits there was nothing to observe
    acknowledge();
  }

  void run(int operations);
  [[nodiscard]] std::uint64_t cuts() const { return cuts_; }

 private:
  // The disk as it was found after a cut, until there is time to look at it: not inside of the call that was cut.
  struct Cut {
    std::uint64_t number;
    Fate fate;
    std::unique_ptr<SimulatedDisk> disk;
  };

  void open();
  void let_time_pass();
  void operate_alone();
  void operate_together();
  void restart();
  void lose_power();
  void cut();
  void check_cuts();
  std::string problem_of(const Cut& cut);
  std::string problem_after_more(const Cut& cut, std::unique_ptr<store::EmbeddedStore> store);
  // Nothing is pending: the store as it is now is what must be found.
  void acknowledge() { observations_ = {workload_.observe(*store_)}; }

  Workload workload_;
  ManualClock clock_{kSimStart};
  std::unique_ptr<SimulatedDisk> disk_;
  // After the last acknowledged operation, and after each later one: one of these must be found.
  std::vector<Observation> observations_;
  std::vector<Cut> unchecked_;
  std::uint64_t cuts_ = 0;
  int operations_ = 0;
  std::unique_ptr<store::EmbeddedStore> store_;  // the last member: it writes when it goes, and that is cut too
};

void Simulation::open() {
  disk_->before_change([this] { cut(); });
  store_ = open_store(*disk_, clock_).value();
}

void Simulation::run(int operations) {
  constexpr int kBetweenSaves = 60;  // so that a recovery is short
  constexpr int kBetweenStarts = 700;
  int next_save = kBetweenSaves;
  int next_start = kBetweenStarts;
  while (operations_ < operations && !::testing::Test::HasFailure()) {
    if (workload_.roll(3) == 0) let_time_pass();
    if (workload_.roll(6) == 0) {
      operate_together();
    } else {
      operate_alone();
    }
    if (operations_ >= next_save) {
      store_->persistence()->save().value();
      check_cuts();
      next_save = operations_ + kBetweenSaves;
    }
    if (operations_ >= next_start) {
      workload_.roll(2) == 0 ? restart() : lose_power();
      next_start = operations_ + kBetweenStarts;
    }
  }
}

void Simulation::let_time_pass() {
  clock_.advance(workload_.roll(40) == 0 ? Duration(25min) : Duration(std::chrono::milliseconds(workload_.roll(4000))));
  workload_.forget_old_ids();
  acknowledge();
}

void Simulation::operate_alone() {
  ++operations_;
  workload_.step(*store_).value();
  observations_.push_back(workload_.observe(*store_));
  check_cuts();
  observations_.erase(observations_.begin(), observations_.end() - 1);
}

// As a server does: several operations, and one sync for all of them.
void Simulation::operate_together() {
  store::Execution execution = {.waits_for_disk = false};
  for (auto left = 2 + workload_.roll(7); left > 0; --left) {
    ++operations_;
    workload_.step(*store_, execution).value();
    observations_.push_back(workload_.observe(*store_));
  }
  EXPECT_TRUE(unchecked_.empty()) << "an operation that need not wait has written";
  wait_for_all(*store_).value();
  check_cuts();
  observations_.erase(observations_.begin(), observations_.end() - 1);
}

void Simulation::restart() {
  store_.reset();
  open();
  check_cuts();
  EXPECT_EQ(difference(observations_.back(), workload_.observe(*store_)), "") << "after a restart";
}

// Life goes on with what is left.
void Simulation::lose_power() {
  auto left = disk_->cut_power(Fate::kRandomMix, cuts_);
  disk_->before_change({});
  store_.reset();
  disk_ = std::move(left);
  open();
  check_cuts();
  EXPECT_EQ(difference(observations_.back(), workload_.observe(*store_)), "") << "after a power cut";
}

void Simulation::cut() {
  ++cuts_;
  for (const Fate fate : kFates) {
    if (support::is_long_form() || fate == kFates[cuts_ % std::size(kFates)]) {
      unchecked_.push_back({cuts_, fate, disk_->cut_power(fate, cuts_)});
    }
  }
}

void Simulation::check_cuts() {
  for (const Cut& cut : unchecked_) {
    const std::string problem = problem_of(cut);
    EXPECT_EQ(problem, "") << "operation " << operations_ << ", cut " << cut.number << ", fate " << int(cut.fate);
    if (!problem.empty()) break;
  }
  unchecked_.clear();
}

std::string Simulation::problem_of(const Cut& cut) {
  auto store = open_store(*cut.disk, clock_);
  if (!store) return store.error().message;
  const Observation found = workload_.observe(**store);
  if (std::find(observations_.begin(), observations_.end(), found) == observations_.end()) {
    return "unlike any of " + std::to_string(observations_.size()) +
           "; acknowledged: " + difference(observations_.front(), found) +
           "; done: " + difference(observations_.back(), found);
  }
  if (auto problem = workload_.problem_of_others(**store); !problem.empty()) return problem;
  if (auto problem = problem_of_books(**store); !problem.empty()) return problem;
  constexpr std::uint64_t kCutsPerLongCheck = 16;
  return cut.number % kCutsPerLongCheck == 0 ? problem_after_more(cut, std::move(*store)) : "";
}

// What was recovered can be worked with, and is there once more.
std::string Simulation::problem_after_more(const Cut& cut, std::unique_ptr<store::EmbeddedStore> store) {
  const Charge charge = {.limit = kOpenLimit, .key = "after", .cost = 7};
  const auto taken = store->take({.charges = {&charge, 1}});
  if (!taken.has_value()) return "a take: " + taken.error().message;
  const auto left = cut.disk->cut_power(Fate::kDropped, cut.number);
  const Observation before = workload_.observe(*store);
  const auto again = open_store(*left, clock_);
  if (!again) return "a second start: " + again.error().message;
  if ((*again)->usage({charge.limit, charge.key})->used != charge.cost) return "a take after the recovery is lost";
  return difference(before, workload_.observe(**again));
}

TEST(PowerCut, AtEveryWriteAndSyncLosesNothingThatWasAcknowledged) {
  const auto operations = static_cast<int>(support::search_size(10'000));
  const char* given = std::getenv("METE_SEED");
  const std::uint64_t seed = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  SCOPED_TRACE("seed " + std::to_string(seed));
  Simulation simulation(seed);
  simulation.run(operations);
  EXPECT_GT(simulation.cuts(), static_cast<std::uint64_t>(operations));
}

}  // namespace
}  // namespace mete::sim
