#include "net/side_by_side.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "net/signal.h"
#include "support/on_fibers.h"

namespace mete::net {
namespace {

// Calls that are answered once so many have been made: who makes one after the other waits in vain.
class Crowd {
 public:
  explicit Crowd(std::size_t wanted) : wanted_(wanted) {}

  // Whether the others came.
  bool wait() {
    std::unique_lock lock(mutex_);
    if (++come_ == wanted_) changed_.notify_all();
    return changed_.wait(lock, patience_, [this] { return come_ >= wanted_; });
  }

 private:
  const Deadline patience_ = Deadline::in(std::chrono::seconds(20));
  const std::size_t wanted_;
  std::mutex mutex_;
  Signal changed_;
  std::size_t come_ = 0;
};

// How often each was called, and whether all had company.
struct Outcome {
  std::vector<int> calls;
  bool had_company = true;
};

Outcome call(std::size_t count, std::size_t at_once, std::size_t crowd_size) {
  Outcome outcome;
  outcome.calls.resize(count);
  Crowd crowd(crowd_size);
  std::mutex mutex;
  side_by_side(count, at_once, [&](std::size_t i) {
    const bool had_company = crowd.wait();
    const std::lock_guard lock(mutex);
    ++outcome.calls[i];
    outcome.had_company = outcome.had_company && had_company;
  });
  return outcome;
}

TEST(SideBySide, OnAFiberManyWaitTogether) {
  Outcome outcome;
  support::on_fibers(1, [&](std::size_t) { outcome = call(100, 64, 64); });
  EXPECT_TRUE(outcome.had_company);
  EXPECT_EQ(outcome.calls, std::vector<int>(100, 1));
}

TEST(SideBySide, OnAPlainThreadAsManyAsThereAreThreads) {
  const Outcome outcome = call(100, 64, kThreadsSideBySideMax);
  EXPECT_TRUE(outcome.had_company);
  EXPECT_EQ(outcome.calls, std::vector<int>(100, 1));
}

TEST(SideBySide, NoMoreAtOnceThanAllowed) {
  std::size_t under_way = 0;  // on one thread
  std::size_t most = 0;
  support::on_fibers(1, [&](std::size_t) {
    side_by_side(20, 3, [&](std::size_t) {
      most = std::max(most, ++under_way);
      pause_for(std::chrono::milliseconds(1));
      --under_way;
    });
  });
  EXPECT_EQ(most, 3U);
}

TEST(SideBySide, OneAtATimeIsInOrder) {
  std::vector<std::size_t> called;
  side_by_side(4, 1, [&](std::size_t i) { called.push_back(i); });
  EXPECT_EQ(called, (std::vector<std::size_t>{0, 1, 2, 3}));
  side_by_side(0, 64, [&](std::size_t i) { called.push_back(i); });
  EXPECT_EQ(called.size(), 4U);
}

}  // namespace
}  // namespace mete::net
