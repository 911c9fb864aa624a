// The files of format version 1 as they are checked in: they are read, and written the same to the byte. If the format
// changes, these stay and version 2 gets files of its own.
//
// They were written by:  METE_REGENERATE=1 build/tests/mete_unit_tests --gtest_filter='JournalGolden.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/simulated_disk.h"
#include "unit/journal/random_run.h"

namespace mete::journal {
namespace {

using support::SimulatedDisk;

const std::filesystem::path kGolden = support::repository() / "tests/golden/journal-v1";
constexpr std::uint64_t kRecords = 7;

// A snapshot of three records, a segment of two batches behind it, and one that has just begun.
void write_files(SimulatedDisk& disk) {
  const auto journal = start_journal(disk, find_records(disk, RecoveryMode::kStart).value()).value();
  std::uint64_t records = 0;
  const auto append = [&](std::uint64_t to) {
    while (records < to) journal->append(body_of(records++));
    journal->flush().value();
  };
  append(3);
  const std::uint64_t number = journal->rotate().value();
  save_records(disk, number, records).value();
  journal->remove_before(number).value();
  append(5);
  append(kRecords);
  journal->rotate().value();
}

TEST(JournalGolden, FilesAreWrittenTheSame) {
  SimulatedDisk disk;
  write_files(disk);
  const std::vector<std::string> names = disk.list(kRunDirectory).value();
  ASSERT_EQ(names.size(), 4U);
  for (const std::string& name : names) {
    const std::string bytes = disk.content(std::string(kRunDirectory).append("/").append(name));
    if (std::getenv("METE_REGENERATE") != nullptr) std::ofstream(kGolden / name, std::ios::binary) << bytes;
    std::ifstream file(kGolden / name, std::ios::binary);
    const std::string golden{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(golden == bytes) << name << " has " << bytes.size() << " bytes, and is checked in with "
                                 << golden.size();
  }
}

TEST(JournalGolden, FilesAreRead) {
  SimulatedDisk disk;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    disk.put(kRunDirectory + "/" + entry.path().filename().string(), bytes);
  }
  const Found found = find_records(disk, RecoveryMode::kStart).value();
  EXPECT_EQ(found.records, kRecords);
  EXPECT_EQ(found.recovered.seed, kRunSeed);
  EXPECT_EQ(found.recovered.snapshot_number, 2U);
  EXPECT_EQ(found.recovered.snapshot_created, Instant::from_unix_seconds(1'000'000'000));
  EXPECT_EQ(found.recovered.latest_time, Instant::from_unix_seconds(1'000'000'006));
  EXPECT_EQ(found.recovered.continuation.next_segment, 4U);
  EXPECT_FALSE(found.recovered.cut);
}

}  // namespace
}  // namespace mete::journal
