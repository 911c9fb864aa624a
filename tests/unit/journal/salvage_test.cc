#include "journal/salvage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "journal/format.h"
#include "support/simulated_disk.h"
#include "unit/journal/random_run.h"

namespace mete::journal {
namespace {

using support::SimulatedDisk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kFirst = "/data/segment-0000000001";
const std::string kSecond = "/data/segment-0000000002";

// Where a record of five bytes stands that is the nth of the only batch of its segment.
constexpr std::size_t record_at(std::size_t n) { return kFileHeaderBytes + 10 + kMarkBodyBytes + n * 15; }

class SalvageTest : public ::testing::Test {
 protected:
  // Two segments of three records each.
  SalvageTest() {
    live({"one-1", "one-2", "one-3"});
    live({"two-1", "two-2", "two-3"});
  }

  void live(const std::vector<std::string>& bodies) {
    const auto recovered =
        recover(disk_, {.directory = kRunDirectory, .on_record = [](auto, auto&) { return Result<void>(); }});
    const auto journal = start_journal(disk_, {.recovered = recovered.value()}).value();
    for (const std::string& body : bodies) journal->append(body);
    journal->flush().value();
  }

  void change(const std::string& path, std::size_t at, std::string_view bytes) {
    std::string content = disk_.content(path);
    content.replace(at, bytes.size(), bytes);
    disk_.put(path, content);
  }

  Result<Salvaged> salvage() {
    bodies_.clear();
    damage_.clear();
    return journal::salvage(disk_, {.directory = kRunDirectory,
                                    .on_record =
                                        [this](std::string_view body, const RecordPosition&) {
                                          bodies_.emplace_back(body);
                                          return Result<void>();
                                        },
                                    .on_damage =
                                        [this](const DamagedRange& range) {
                                          damage_.push_back(range.file + " " + std::to_string(range.from) + "-" +
                                                            std::to_string(range.to) + ": " + range.problem);
                                        }});
  }

  SimulatedDisk disk_;
  std::vector<std::string> bodies_;
  std::vector<std::string> damage_;
};

TEST_F(SalvageTest, FindsAllWhereNothingIsDamaged) {
  const Salvaged salvaged = salvage().value();
  EXPECT_THAT(bodies_, ElementsAre("one-1", "one-2", "one-3", "two-1", "two-2", "two-3"));
  EXPECT_THAT(damage_, IsEmpty());
  EXPECT_EQ(salvaged.seed, kRunSeed);
  EXPECT_EQ(salvaged.next_number, 3U);
  EXPECT_EQ(salvaged.journal.records, 6U);
}

TEST_F(SalvageTest, GoesOnAtTheNextRecordThatIsWhole) {
  change(kFirst, record_at(1) + 12, "X");
  change(kSecond, record_at(0) + 4, "\xff\xff\xff\xff");
  salvage().value();
  EXPECT_THAT(bodies_, ElementsAre("one-1", "one-3", "two-2", "two-3"));
  EXPECT_THAT(damage_, ElementsAre("segment-0000000001 89-104: the checksum of the record is wrong",
                                   "segment-0000000002 74-89: the length of the record is out of range"));
}

TEST_F(SalvageTest, GoesOverABrokenHeaderAndAMissingEnd) {
  change(kFirst, 20, "X");
  disk_.put(kSecond, disk_.content(kSecond).substr(0, record_at(2) + 5));
  salvage().value();
  EXPECT_THAT(bodies_, ElementsAre("one-1", "one-2", "one-3", "two-1", "two-2"));
  EXPECT_THAT(damage_, ElementsAre("segment-0000000001 0-48: the checksum of the header is wrong",
                                   "segment-0000000002 104-109: the file ends within a record",
                                   "segment-0000000002 104-119: this was synced, and is not there"));
}

TEST_F(SalvageTest, GoesOverMissingFiles) {
  disk_.remove(kFirst).value();
  disk_.remove("/data/watermark").value();
  salvage().value();
  EXPECT_THAT(bodies_, ElementsAre("two-1", "two-2", "two-3"));
  ASSERT_EQ(damage_.size(), 2U);
  EXPECT_EQ(damage_[0], "segment-0000000001 0-0: the file is missing");
  EXPECT_EQ(damage_[1], "watermark 0-0: opening /data/watermark failed: No such file or directory");
}

TEST_F(SalvageTest, TellsOfSegmentsThatWereCut) {
  disk_.put(kFirst, disk_.content(kFirst).substr(0, record_at(2)));
  salvage().value();
  EXPECT_THAT(bodies_, ElementsAre("one-1", "one-2", "two-1", "two-2", "two-3"));
  EXPECT_THAT(damage_, ElementsAre("segment-0000000001 104-119: the end of the file is missing"));
}

TEST_F(SalvageTest, GoesOverDamageInASnapshot) {
  save_records(disk_, 2, 3).value();
  const std::string path = "/data/snapshot-0000000002";
  change(path, kFileHeaderBytes + 12, "X");
  salvage().value();
  EXPECT_THAT(bodies_, ElementsAre("two-1", "two-2", "two-3"));
  EXPECT_THAT(damage_, ElementsAre("snapshot-0000000002 48-67: the checksum of the record is wrong",
                                   "snapshot-0000000002 0-93: of 1 records 0 are whole"));
  disk_.put(path, disk_.content(path).substr(0, kFileHeaderBytes));
  salvage().value();
  EXPECT_THAT(damage_, ElementsAre("snapshot-0000000002 48-48: its end is missing"));
}

// A key can be any bytes: those of a record, even. It must not become one.
TEST_F(SalvageTest, FindsNoRecordsThatClientsMade) {
  base::Output forged;
  Framing(0).append(forged, {RecordType::kChanges, "forged"});
  live({"key=" + std::string(forged.view())});
  change("/data/segment-0000000003", record_at(0), "XXXX");
  salvage().value();
  EXPECT_THAT(bodies_, ElementsAre("one-1", "one-2", "one-3", "two-1", "two-2", "two-3"));
}

TEST_F(SalvageTest, RefusesWhereNothingCanBeRead) {
  for (const std::string& path : disk_.paths()) disk_.put(path, "rubbish");
  const auto salvaged = salvage();
  ASSERT_FALSE(salvaged);
  EXPECT_EQ(salvaged.error().message,
            "nothing can be saved of /data: it has no segment and no snapshot whose header is whole; restore a backup");
}

TEST_F(SalvageTest, LeadsToADirectoryThatIsWhole) {
  change(kFirst, record_at(1) + 12, "X");
  disk_.put("/data/watermark", "rubbish");
  const Salvaged salvaged = salvage().value();
  save_records(disk_, salvaged.next_number, 5).value();
  complete_repair(disk_, kRunDirectory, salvaged.next_number).value();
  EXPECT_THAT(disk_.paths(), ElementsAre("/data/snapshot-0000000003", "/data/watermark"));
  const Found found = find_records(disk_, RecoveryMode::kStart).value();
  EXPECT_EQ(found.records, 5U);
  const auto journal = start_journal(disk_, found).value();
  journal->append(body_of(5));
  journal->flush().value();
  EXPECT_EQ(find_records(disk_, RecoveryMode::kStart).value().records, 6U);
}

}  // namespace
}  // namespace mete::journal
