#include "journal/flusher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "support/simulated_disk.h"
#include "unit/journal/random_run.h"

namespace mete::journal {
namespace {

using support::SimulatedDisk;

constexpr std::chrono::seconds kPatience{20};  // of what should take half a second at most; for a busy machine

// Waits for what the flusher does by itself.
template <class Condition>
bool becomes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return condition();
}

class FlusherTest : public ::testing::Test {
 protected:
  SimulatedDisk disk_;
  std::unique_ptr<Journal> journal_ = start_journal(disk_, {}).value();
};

TEST_F(FlusherTest, SyncsForThoseWhoWait) {
  int progress = 0;
  Flusher flusher(*journal_, {.on_progress = [&] { ++progress; }});
  const Ticket ticket = journal_->append(body_of(0));
  flusher.wait(ticket).value();
  EXPECT_GE(journal_->synced(), ticket);
  EXPECT_EQ(progress, 1);
  flusher.wait(ticket).value();
  EXPECT_EQ(journal_->counters().syncs_total, 1U);
}

TEST_F(FlusherTest, ServesAllWhoAskedWithOneSync) {
  std::latch is_syncing(1);
  std::latch may_go_on(1);
  bool is_first = true;
  disk_.before_change([&] {
    if (!std::exchange(is_first, false)) return;
    is_syncing.count_down();
    may_go_on.wait();
  });
  Flusher flusher(*journal_);
  journal_->append(body_of(0));
  flusher.request();
  is_syncing.wait();
  Ticket last = 0;
  for (std::uint64_t n = 1; n <= 20; ++n) {
    last = journal_->append(body_of(n));
    flusher.request();
  }
  may_go_on.count_down();
  flusher.wait(last).value();
  EXPECT_EQ(journal_->counters().syncs_total, 2U);
}

TEST_F(FlusherTest, SyncsByItselfAfterAWhile) {
  std::atomic<int> progress = 0;
  const Flusher flusher(*journal_, {.on_progress = [&] { ++progress; }});
  const Ticket ticket = journal_->append(body_of(0));
  EXPECT_TRUE(becomes_true([&] { return journal_->synced() >= ticket && progress == 1; }));
}

// A sync may be due just then, but not at each attempt.
TEST_F(FlusherTest, WritesOutABacklogBeforeItSyncs) {
  const Flusher flusher(*journal_);
  const std::string body(1000, 'x');
  bool was_written_without_sync = false;
  for (int attempt = 0; attempt < 10 && !was_written_without_sync; ++attempt) {
    const Journal::Counters before = journal_->counters();
    const Ticket enough = journal_->appended() + Journal::kBacklogBytes;
    while (journal_->appended() < enough) journal_->append(body);
    ASSERT_TRUE(becomes_true([&] { return journal_->counters().bytes >= before.bytes + Journal::kBacklogBytes; }));
    was_written_without_sync = journal_->counters().syncs_total == before.syncs_total;
  }
  EXPECT_TRUE(was_written_without_sync);
}

TEST_F(FlusherTest, WritesTheRestAtItsEnd) {
  {
    const Flusher flusher(*journal_);
    journal_->append(body_of(0));
  }
  EXPECT_EQ(journal_->counters().unsynced_bytes, 0U);
  EXPECT_EQ(find_records(disk_, RecoveryMode::kLookOnly).value().records, 1U);
}

TEST_F(FlusherTest, TellsOfAFailureOnce) {
  std::atomic<int> progress = 0;
  Flusher flusher(*journal_, {.on_progress = [&] { ++progress; }});
  disk_.fail_call(disk_.calls() + 1, SimulatedDisk::Failure::kNoSpace);
  for (std::uint64_t n = 0; n < 3; ++n) {
    const auto waited = flusher.wait(journal_->append(body_of(n)));
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error(),
              (Error{ErrorCode::kUnavailable, "write of /data/segment-0000000001 failed: No space left on device"}));
  }
  EXPECT_EQ(progress, 1);
  EXPECT_EQ(journal_->synced(), 0U);
}

}  // namespace
}  // namespace mete::journal
