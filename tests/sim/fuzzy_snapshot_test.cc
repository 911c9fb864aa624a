// A snapshot is written while operations go on: each entry is met as it is then, and no two at the same time. Together
// with the records since it was begun it must give the store as it is at the last of them.
#include <gtest/gtest.h>
#include <mete/clock.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/records/snapshot_walk.h"
#include "journal/recovery.h"
#include "journal/snapshot_writer.h"
#include "sim/sim_store.h"
#include "sim/workload.h"
#include "support/long_form.h"
#include "support/simulated_disk.h"

namespace mete::sim {
namespace {

using support::SimulatedDisk;

class FuzzySnapshot {
 public:
  explicit FuzzySnapshot(std::uint64_t seed) : workload_(seed) {
    store_ = open_store(disk_, clock_).value();
    workload_.define_limits(*store_).value();
  }

  void operate(std::uint64_t operations);
  // Walks over the store, with operations after each bucket that is not empty.
  void walk();
  // Empty if a store made of the walk and of the records since is as this one.
  std::string problem();
  [[nodiscard]] std::size_t pieces() const { return records_.size(); }

 private:
  struct Written {
    std::uint64_t seed = 0;
    std::vector<std::string> records;
  };

  void flush();
  Written written();

  Workload workload_;
  ManualClock clock_{kSimStart};
  SimulatedDisk disk_;
  std::unique_ptr<store::EmbeddedStore> store_;
  std::vector<std::string> records_;  // of the walk
  std::size_t written_before_ = 0;    // records of the journal when the walk began
};

void FuzzySnapshot::operate(std::uint64_t operations) {
  for (; operations > 0; --operations) {
    if (workload_.roll(3) == 0) clock_.advance(std::chrono::milliseconds(workload_.roll(3000)));
    if (workload_.roll(20) == 0) engine_of(*store_).sweep(workload_.roll(engine_of(*store_).buckets()), clock_.now());
    workload_.step(*store_).value();
  }
}

void FuzzySnapshot::walk() {
  constexpr std::uint64_t kBetweenMax = 5;
  flush();
  written_before_ = written().records.size();
  workload_.define_no_more();
  workload_.forget_old_ids();
  engine::Engine::SnapshotWalk walk(engine_of(*store_));
  engine::Encoder record;
  while (walk.next(record, 1)) {
    records_.emplace_back(record.view());
    operate(workload_.roll(kBetweenMax));
  }
}

// A take that must be on disk takes with it all that was recorded before.
void FuzzySnapshot::flush() {
  const Charge charge = {.limit = kOpenLimit, .key = "flush"};
  ASSERT_TRUE(store_->take({.charges = {&charge, 1}, .mode = Mode::kForce}).has_value());
}

FuzzySnapshot::Written FuzzySnapshot::written() {
  Written written;
  const auto on_record = [&written](std::string_view body, const journal::RecordPosition&) -> Result<void> {
    written.records.emplace_back(body);
    return {};
  };
  journal::recover(disk_, {.directory = kSimDirectory,
                           .mode = journal::RecoveryMode::kLookOnly,
                           .on_record = on_record,
                           .on_seed = [&written](std::uint64_t seed) { written.seed = seed; }})
      .value();
  return written;
}

std::string FuzzySnapshot::problem() {
  engine_of(*store_).record_rest();
  flush();
  const Written all = written();
  SimulatedDisk disk;
  disk.make_directory(kSimDirectory).value();
  const auto writer = journal::SnapshotWriter::create(
                          disk, {.directory = kSimDirectory, .number = 1, .seed = all.seed, .created = clock_.now()})
                          .value();
  for (const std::string& record : records_) writer->append(record).value();
  for (std::size_t i = written_before_; i < all.records.size(); ++i) writer->append(all.records[i]).value();
  writer->finish().value();

  auto restored = open_store(disk, clock_);
  if (!restored) return restored.error().message;
  if (auto books = problem_of_books(**restored); !books.empty()) return books;
  auto differs = difference(workload_.observe(*store_), workload_.observe(**restored));
  if (!differs.empty()) return differs;
  return difference(workload_.observe_others(*store_), workload_.observe_others(**restored));
}

TEST(FuzzySnapshot, WithTheRecordsSinceIsTheStoreAsItIs) {
  const std::uint64_t seeds = support::search_size(1000);
  std::size_t pieces = 0;
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FuzzySnapshot snapshot(seed);
    snapshot.operate(200);
    snapshot.walk();
    EXPECT_EQ(snapshot.problem(), "");
    pieces += snapshot.pieces();
  }
  EXPECT_GT(pieces, 20 * seeds);
}

}  // namespace
}  // namespace mete::sim
