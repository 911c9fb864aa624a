// RandomRun: a journal that is appended to, flushed, rotated and snapshotted at random, over several lives of the
// process.
//
// The state that it stands for is a number: how many records there are. Record n says n, and a snapshot says how many
// there were before it. So whatever is recovered can be checked: it is all of the first n records, for some n.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "journal/file_system.h"
#include "journal/journal.h"
#include "journal/recovery.h"

namespace mete::journal {

inline constexpr std::uint64_t kRunSeed = 0x1234'5678'9abc'def0;
inline const std::string kRunDirectory = "/data";

// The body of record n: from a few bytes to more than a batch that is called small.
std::string body_of(std::uint64_t n);

// How many records there are, by what the directory holds. An error too if it is not the first n.
struct Found {
  Recovered recovered;
  std::uint64_t records = 0;
};
Result<Found> find_records(FileSystem& files, RecoveryMode mode);

// Goes on behind what was found. With a second for each batch, every batch has a mark.
Result<std::unique_ptr<Journal>> start_journal(FileSystem& files, const Found& found,
                                               Duration batch_time = std::chrono::seconds(1));
// Writes the snapshot that says how many records there were before that segment.
Result<void> save_records(FileSystem& files, std::uint64_t segment, std::uint64_t records);

class RandomRun {
 public:
  RandomRun(FileSystem& files, std::uint64_t seed) : files_(files), random_(seed) {}

  // One life of the process: it recovers, starts, does `steps`, and is killed. The first error ends it.
  Result<void> live(int steps);

  // How many records must be there after a power cut at this moment, and how many may be.
  [[nodiscard]] std::uint64_t acknowledged() const;
  [[nodiscard]] std::uint64_t appended() const { return appended_; }
  [[nodiscard]] Journal* journal() const { return journal_.get(); }

 private:
  Result<void> start();
  Result<void> step();
  Result<void> save();
  void append();

  FileSystem& files_;
  std::mt19937_64 random_;
  std::unique_ptr<Journal> journal_;
  std::uint64_t appended_ = 0;
  std::uint64_t recovered_ = 0;  // of these
  std::vector<Ticket> tickets_;  // of those since
};

}  // namespace mete::journal
