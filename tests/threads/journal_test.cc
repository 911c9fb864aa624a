// Many threads append and wait while others begin new segments and read them: what was acknowledged is there, in each
// thread's order.
#include "journal/journal.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "journal/flusher.h"
#include "journal/recovery.h"
#include "support/simulated_disk.h"

namespace mete::journal {
namespace {

using support::SimulatedDisk;

constexpr std::size_t kThreads = 6;
constexpr std::uint64_t kAppends = 300;

// A state: how many records of each thread there are.
using Counts = std::array<std::uint64_t, kThreads>;

class JournalThreads : public ::testing::Test {
 protected:
  void append_and_wait(std::size_t thread) {
    for (std::uint64_t n = 0; n < kAppends; ++n) {
      const std::string body = std::to_string(thread) + ":" + std::to_string(n) + std::string(n % 400, ' ');
      const Ticket ticket = journal_->append(body);
      // Now and then, as limits that need not be on disk at once.
      if (n % 3 == 0 && flusher_->wait(ticket)) acknowledged_[thread] = n + 1;
      if (journal_->is_congested()) journal_->wait_for_room();
    }
  }

  void rotate_until_done() {
    for (std::uint64_t last = 1; !is_done_;) {
      const auto number = journal_->rotate();
      if (!number) return;
      EXPECT_EQ(*number, last + 1);
      last = *number;
    }
  }

  // As a backup of a running server does.
  void look_until_done() {
    while (!is_done_) {
      const auto looked =
          recover(disk_, {.directory = "/data", .mode = RecoveryMode::kLookOnly, .on_record = [](auto, auto&) {
                            return Result<void>();
                          }});
      EXPECT_TRUE(looked) << looked.error().message;
    }
  }

  void run() {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { append_and_wait(i); });
    std::thread rotating([this] { rotate_until_done(); });
    for (std::thread& thread : threads) thread.join();
    is_done_ = true;
    rotating.join();
  }

  // What a directory holds; each thread's records must be its first ones, in order.
  static Counts find(SimulatedDisk& disk) {
    Counts counts{};
    const auto on_record = [&counts](std::string_view body, const RecordPosition&) -> Result<void> {
      const auto thread = static_cast<std::size_t>(body[0] - '0');
      EXPECT_EQ(std::stoull(std::string(body.substr(2))), counts.at(thread)) << "thread " << thread;
      ++counts.at(thread);
      return {};
    };
    const auto recovered = recover(disk, {.directory = "/data", .on_record = on_record});
    EXPECT_TRUE(recovered) << recovered.error().message;
    return counts;
  }

  SimulatedDisk disk_;
  std::unique_ptr<Journal> journal_ =
      Journal::start(disk_, {.directory = "/data", .seed = 1, .now = [] { return Instant::from_ns(1); }}).value();
  std::unique_ptr<Flusher> flusher_ = std::make_unique<Flusher>(*journal_);
  std::array<std::atomic<std::uint64_t>, kThreads> acknowledged_{};
  std::atomic<bool> is_done_ = false;
};

TEST_F(JournalThreads, AppendFlushRotateAndLookAtOnce) {
  std::thread looking([this] { look_until_done(); });
  run();
  looking.join();
  flusher_.reset();
  for (const std::uint64_t count : find(disk_)) EXPECT_EQ(count, kAppends);
}

TEST_F(JournalThreads, AcknowledgeNothingThatAFailureLost) {
  disk_.fail_call(disk_.calls() + 400, SimulatedDisk::Failure::kInputOutput);
  run();
  flusher_.reset();
  EXPECT_TRUE(journal_->failure());
  const auto after = disk_.cut_power(SimulatedDisk::Fate::kRandomMix, 1);
  const Counts counts = find(*after);
  for (std::size_t i = 0; i < kThreads; ++i) EXPECT_GE(counts[i], acknowledged_[i]) << i;
}

}  // namespace
}  // namespace mete::journal
