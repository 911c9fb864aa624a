// Every byte of every file changed, every file cut anywhere or missing: it is noticed, or nothing that was acknowledged
// is affected.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "journal/format.h"
#include "journal/record.h"
#include "support/simulated_disk.h"
#include "unit/journal/random_run.h"

namespace mete::journal {
namespace {

using support::SimulatedDisk;

constexpr std::size_t kZerosKept = 64;  // of the many at the end of the last segment
const std::string kLastSegment = "/data/segment-0000000003";

class Damage : public ::testing::Test {
 protected:
  // A snapshot with two segments behind it, as a process leaves them that was killed when everything had been
  // acknowledged.
  Damage() {
    live();
    live();
    // Fewer zeros are as good, and sooner read.
    std::string last = disk_.content(kLastSegment);
    last.resize(used(kLastSegment) + kZerosKept);
    disk_.put(kLastSegment, last);
  }

  void live() {
    const Found found = find_records(disk_, RecoveryMode::kStart).value();
    const auto journal = start_journal(disk_, found).value();
    records_ = found.records;
    const bool is_first = records_ == 0;
    flush_some(*journal);
    if (is_first) {
      const std::uint64_t number = journal->rotate().value();
      save_records(disk_, number, records_).value();
      journal->remove_before(number).value();
      flush_some(*journal);
    }
  }
  void flush_some(Journal& journal) {
    for (int batch = 0; batch < 2; ++batch) {
      journal.append(body_of(records_++));
      journal.append(body_of(records_++));
      journal.flush().value();
    }
  }

  // With `change` made to a copy of the file.
  template <class Change>
  Result<Found> find_after(const std::string& path, const Change& change) const {
    const auto disk = disk_.cut_power(SimulatedDisk::Fate::kKept, 0);
    std::string bytes = disk_.content(path);
    change(bytes);
    disk->put(path, bytes);
    return find_records(*disk, RecoveryMode::kStart);
  }

  // Noticed, or without effect: returns which.
  bool expect_noticed_or_harmless(const Result<Found>& found, const std::string& what) const {
    if (found) {
      EXPECT_EQ(found->records, records_) << what;
      return false;
    }
    EXPECT_EQ(found.error().code, ErrorCode::kUnavailable) << what << ": " << found.error().message;
    EXPECT_NE(found.error().message.find("mete repair /data"), std::string::npos) << what << found.error().message;
    return true;
  }

  // Without the zeros at the end of the last segment.
  [[nodiscard]] std::size_t used(const std::string& path) const {
    const std::string bytes = disk_.content(path);
    return path == kLastSegment ? bytes.find_last_not_of('\0') + 1 : bytes.size();
  }

  SimulatedDisk disk_;
  std::uint64_t records_ = 0;
};

TEST_F(Damage, IsNotWhatAProcessLeavesThatWasKilled) {
  EXPECT_EQ(disk_.paths(), (std::vector<std::string>{"/data/segment-0000000002", "/data/segment-0000000003",
                                                     "/data/snapshot-0000000002", "/data/watermark"}));
  EXPECT_EQ(find_records(disk_, RecoveryMode::kLookOnly).value().records, records_);
}

TEST_F(Damage, OfAnyByteIsNoticed) {
  for (const std::string& path : disk_.paths()) {
    const std::string bytes = disk_.content(path);
    std::size_t noticed = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const int pattern : {0x01, 0x80, 0xff}) {
        const auto flip = [&](std::string& changed) { changed[at] = static_cast<char>(changed[at] ^ pattern); };
        if (expect_noticed_or_harmless(find_after(path, flip), path + " byte " + std::to_string(at))) ++noticed;
      }
    }
    // The watermark's slots stand in for each other. Of the rest every byte counts.
    EXPECT_EQ(noticed, path == "/data/watermark" ? 0 : 3 * used(path)) << path;
  }
}

TEST_F(Damage, ByCuttingAFileIsNoticed) {
  for (const std::string& path : disk_.paths()) {
    const std::string bytes = disk_.content(path);
    std::size_t noticed = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto cut = [&](std::string& changed) { changed.resize(size); };
      if (expect_noticed_or_harmless(find_after(path, cut), path + " cut to " + std::to_string(size))) ++noticed;
    }
    if (path != "/data/watermark") {
      EXPECT_EQ(noticed, used(path)) << path;
    }
  }
}

TEST_F(Damage, ByZerosInPlaceOfSectorsIsNoticed) {
  for (const std::string& path : disk_.paths()) {
    if (path == "/data/watermark") continue;
    const std::string bytes = disk_.content(path);
    for (std::size_t at = 0; at < used(path); at += 64) {
      const auto wipe = [&](std::string& changed) {
        std::fill_n(changed.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(64, bytes.size() - at),
                    '\0');
      };
      EXPECT_TRUE(expect_noticed_or_harmless(find_after(path, wipe), path + " wiped at " + std::to_string(at)));
    }
  }
}

TEST_F(Damage, ByAMissingFileIsNoticed) {
  for (const std::string& path : disk_.paths()) {
    const auto disk = disk_.cut_power(SimulatedDisk::Fate::kKept, 0);
    disk->remove(path).value();
    EXPECT_TRUE(expect_noticed_or_harmless(find_records(*disk, RecoveryMode::kStart), "without " + path));
  }
}

TEST_F(Damage, ByFilesOfAnotherStoreIsNoticed) {
  for (const std::string& path : disk_.paths()) {
    if (path == "/data/watermark") continue;
    const auto kind = path.find("segment") == std::string::npos ? FileKind::kSnapshot : FileKind::kSegment;
    const auto change_seed = [&](std::string& changed) {
      FileHeader header = parse_header(changed, kind).header;
      header.seed = 1;
      changed.replace(0, kFileHeaderBytes, view_of(encode(header)));
    };
    EXPECT_TRUE(expect_noticed_or_harmless(find_after(path, change_seed), path));
  }
}

// After a power cut the watermark may be old. What was synced is then known by the marks of later batches.
TEST_F(Damage, BelowALaterMarkIsNoticedWithAnOldWatermark) {
  disk_.put("/data/watermark", std::string(view_of(encode_slot({3, kFileHeaderBytes}))) + std::string(992, '\0'));
  std::size_t noticed = 0;
  for (std::size_t at = kFileHeaderBytes; at < used(kLastSegment); ++at) {
    const auto found =
        find_after(kLastSegment, [&](std::string& changed) { changed[at] = static_cast<char>(~changed[at]); });
    if (!found) {
      EXPECT_NE(found.error().message.find("mete repair"), std::string::npos) << found.error().message;
      ++noticed;
    } else {
      // Only the last batch can be taken for one that was being written.
      EXPECT_GE(found->records, records_ - 2) << at;
      EXPECT_TRUE(found->recovered.cut) << at;
    }
  }
  const std::size_t bodies = body_of(records_ - 4).size() + body_of(records_ - 3).size();
  EXPECT_EQ(noticed, kRecordHeaderBytes + kMarkBodyBytes + 2 * kRecordHeaderBytes + bodies);
}

// Whatever a newer program wrote is left to it, wherever it stands.
TEST_F(Damage, IsNotWhatANewerProgramWrote) {
  base::Output record;
  Framing(kRunSeed).append(record, {static_cast<RecordType>(9), "?"});
  const auto append = [&](std::string& changed) { changed.replace(used(kLastSegment), record.size(), record.view()); };
  const auto found = find_after(kLastSegment, append);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            kLastSegment + " cannot be read from byte " + std::to_string(used(kLastSegment)) +
                " on: the record is of a type that only a newer version knows; use the program that wrote it");
}

}  // namespace
}  // namespace mete::journal
