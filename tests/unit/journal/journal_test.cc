// A journal on real files: what comes back after it, and what its calls leave there.
#include "journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "journal/posix_file_system.h"
#include "journal/recovery.h"
#include "journal/snapshot_writer.h"

namespace mete::journal {
namespace {

using ::testing::ElementsAre;
using ::testing::Test;

class JournalTest : public Test {
 protected:
  JournalTest() {
    std::string name = (std::filesystem::temp_directory_path() / "mete-journal-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Result<Recovered> recover(RecoveryMode mode = RecoveryMode::kStart) {
    bodies_.clear();
    return journal::recover(files_, {.directory = directory_, .mode = mode, .on_record = [this](auto body, auto&) {
                                       bodies_.emplace_back(body);
                                       return Result<void>();
                                     }});
  }
  std::unique_ptr<Journal> start(const Continuation& continuation = {}) {
    return Journal::start(files_, {.directory = directory_,
                                   .seed = 42,
                                   .now = [this] { return Instant::from_ns(time_ns_ += 1'000'000'000); },
                                   .continuation = continuation})
        .value();
  }
  std::unique_ptr<Journal> restart() { return start(recover().value().continuation); }
  void save(Journal& journal, const std::string& state) {
    const std::uint64_t number = journal.rotate().value();
    const auto writer =
        SnapshotWriter::create(files_, {.directory = directory_, .number = number, .seed = 42, .created = {}}).value();
    writer->append(state).value();
    writer->finish().value();
    journal.remove_before(number).value();
  }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::vector<std::string> names() { return files_.list(directory_).value(); }

  std::string directory_;
  PosixFileSystem files_;
  std::uint64_t time_ns_ = 1000;
  std::vector<std::string> bodies_;
};

TEST_F(JournalTest, OfAnEmptyDirectoryIsNew) {
  const Recovered recovered = recover().value();
  EXPECT_TRUE(recovered.is_new);
  EXPECT_EQ(recovered.continuation.next_segment, 1U);
}

TEST_F(JournalTest, BringsBackWhatWasFlushed) {
  {
    const auto journal = start();
    const Ticket first = journal->append("one");
    EXPECT_LT(journal->synced(), first);
    journal->flush().value();
    EXPECT_GE(journal->synced(), first);
    journal->append("two");
    journal->write_out().value();
    EXPECT_EQ(journal->synced(), first);
    journal->append("lost with the process");
  }
  const Recovered recovered = recover().value();
  EXPECT_THAT(bodies_, ElementsAre("one", "two"));
  EXPECT_FALSE(recovered.is_new);
  EXPECT_EQ(recovered.seed, 42U);
  EXPECT_EQ(recovered.journal.records, 2U);
  EXPECT_EQ(recovered.latest_time, Instant::from_ns(time_ns_));
  EXPECT_FALSE(recovered.cut);
  EXPECT_EQ(recovered.continuation.next_segment, 2U);
}

TEST_F(JournalTest, GoesOnInANewSegmentAfterEachStart) {
  for (const char* const body : {"one", "two", "three"}) {
    const auto journal = restart();
    journal->append(body);
    journal->flush().value();
  }
  EXPECT_THAT(names(), ElementsAre("segment-0000000001", "segment-0000000002", "segment-0000000003", "watermark"));
  recover(RecoveryMode::kLookOnly).value();
  EXPECT_THAT(bodies_, ElementsAre("one", "two", "three"));
}

TEST_F(JournalTest, IsReplayedBehindItsNewestSnapshot) {
  {
    const auto journal = restart();
    journal->append("one");
    save(*journal, "state after one");
    journal->append("two");
    journal->flush().value();
    EXPECT_THAT(names(), ElementsAre("segment-0000000002", "snapshot-0000000002", "watermark"));
    EXPECT_EQ(journal->counters().segments, 1U);
  }
  const Recovered recovered = recover().value();
  EXPECT_THAT(bodies_, ElementsAre("state after one", "two"));
  EXPECT_EQ(recovered.snapshot_number, 2U);
  EXPECT_EQ(recovered.snapshot.records, 1U);
  EXPECT_EQ(recovered.continuation.oldest_segment, 2U);
}

TEST_F(JournalTest, CountsWhatItKeeps) {
  const auto journal = restart();
  const std::uint64_t empty = journal->counters().bytes;
  journal->append("0123456789");
  EXPECT_EQ(journal->counters().unsynced_bytes, 20U);
  journal->flush().value();
  Journal::Counters counters = journal->counters();
  EXPECT_EQ(counters.bytes, empty + 26 + 20);  // a mark and the record
  EXPECT_EQ(counters.unsynced_bytes, 0U);
  EXPECT_EQ(counters.records_total, 1U);
  EXPECT_EQ(counters.syncs_total, 1U);
  save(*journal, "state");
  counters = journal->counters();
  EXPECT_EQ(counters.bytes, empty);
  EXPECT_EQ(counters.segments, 1U);
}

TEST_F(JournalTest, RemovesAtTheStartWhatIsNotNeeded) {
  {
    const auto journal = restart();
    journal->append("one");
    journal->flush().value();
  }
  std::ofstream(path("snapshot-0000000009.tmp")) << "unfinished";
  std::ofstream(path("notes.txt")) << "somebody's";
  recover(RecoveryMode::kLookOnly).value();
  EXPECT_THAT(names(), ElementsAre("notes.txt", "segment-0000000001", "snapshot-0000000009.tmp", "watermark"));
  recover().value();
  EXPECT_THAT(names(), ElementsAre("notes.txt", "segment-0000000001", "watermark"));
}

TEST_F(JournalTest, CutsATailThatWasNeverAcknowledged) {
  {
    const auto journal = restart();
    journal->append("one");
    journal->flush().value();
    journal->append("two");
    journal->write_out().value();
  }
  const std::uint64_t end = 48 + 26 + 13 + 26 + 13;
  std::fstream(path("segment-0000000001"), std::ios::in | std::ios::out | std::ios::binary).seekp(end - 1) << '?';
  const auto looked = recover(RecoveryMode::kLookOnly).value();
  for (const Recovered& recovered : {looked, recover().value()}) {
    ASSERT_TRUE(recovered.cut);
    EXPECT_EQ(recovered.cut->file, "segment-0000000001");
    EXPECT_EQ(recovered.cut->offset, end - 13);
    EXPECT_THAT(bodies_, ElementsAre("one"));
  }
  EXPECT_EQ(std::filesystem::file_size(path("segment-0000000001")), end - 13);
  EXPECT_FALSE(recover().value().cut);
}

TEST_F(JournalTest, IsDamagedWhereWhatWasAcknowledgedHasChanged) {
  {
    const auto journal = restart();
    journal->append("one");
    journal->flush().value();
  }
  std::fstream(path("segment-0000000001"), std::ios::in | std::ios::out | std::ios::binary).seekp(48 + 26 + 12) << '?';
  const auto recovered = recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(
      recovered.error().message,
      path("segment-0000000001") +
          " is damaged at byte 74: the checksum of the record is wrong; restore a backup, or save what can be read "
          "with 'mete repair " +
          directory_ + "'");
}

TEST_F(JournalTest, BoundsWhatWaitsInMemory) {
  const auto journal = restart();
  const std::string body(kBodyBytesMax, 'x');
  while (!journal->is_congested()) journal->append(body);
  EXPECT_LE(journal->counters().unsynced_bytes, Journal::kBufferBytesMax + kRecordBytesMax);
  journal->wait_for_room();
  EXPECT_FALSE(journal->is_congested());
}

}  // namespace
}  // namespace mete::journal
