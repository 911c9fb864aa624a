#include "sync/worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "store/embedded/embedded_store.h"
#include "unit/sync/fake_source.h"

namespace mete::sync {
namespace {

using namespace std::chrono_literals;
using testing::FakeSource;

constexpr Instant kStart = Instant::from_unix_seconds(1'700'000'030);  // 22:13:50 UTC
constexpr auto kPatience = 20s;

Plan plan_of(const std::string& limit, const std::string& schedule = "") {
  return {.limit = limit, .source = "postgres://h/d", .query = "select 1, 2", .schedule = schedule};
}

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() {
    store_.define(stock("storage").amount(1000)).value();
    store_.define(stock("seats").amount(1000)).value();
  }

  Worker::Hooks hooks() {
    return {.open_source = [this](const Plan&) -> Result<std::unique_ptr<Source>> {
              auto source = std::make_unique<FakeSource>();
              source->rows = {{"a", "70"}};
              source->on_read = on_read_;
              return source;
            },
            .on_end =
                [this](const RunRecord& record) {
                  const std::lock_guard guard(mutex_);
                  ended_.push_back(record);
                  changed_.notify_all();
                }};
  }
  // The run that ended as the n-th.
  RunRecord wait_for(std::size_t n) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return ended_.size() >= n; })) << "no run " << n;
    return ended_.size() >= n ? ended_[n - 1] : RunRecord();
  }
  Amount used(std::string_view limit) { return store_.usage({limit, "a"}).value().used; }

  ManualClock clock_{kStart};
  store::EmbeddedStore store_{Options{.clock = &clock_}};
  std::function<void()> on_read_ = [] {};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RunRecord> ended_;
};

TEST_F(WorkerTest, RunsWhatIsAskedForAndRemembersHowItWent) {
  Worker worker(store_, hooks());
  worker.set_plans({plan_of("storage")}).value();
  const std::uint64_t number = worker.start("storage", {}).value();
  EXPECT_EQ(wait_for(1).number, number);
  EXPECT_EQ(used("storage"), 70);
  const std::vector<RunRecord> runs = worker.runs();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].state_text(), "done");
  EXPECT_FALSE(runs[0].is_scheduled);
  EXPECT_EQ(runs[0].report.changed_keys, 1U);
  const PlanStatus status = worker.plans().at(0);
  EXPECT_EQ(status.runs, (std::array<std::uint64_t, kOutcomes>{1, 0, 0, 0}));
  EXPECT_EQ(status.last_success_at, kStart);
  EXPECT_EQ(status.last->drift, 70);
  EXPECT_FALSE(status.next_at.has_value());
}

TEST_F(WorkerTest, ADryRunIsRememberedAndNotCounted) {
  Worker worker(store_, hooks());
  worker.set_plans({plan_of("storage")}).value();
  worker.start("storage", {.is_dry_run = true}).value();
  EXPECT_EQ(wait_for(1).report.largest.size(), 1U);
  EXPECT_EQ(used("storage"), 0);
  EXPECT_EQ(worker.runs().size(), 1U);
  EXPECT_FALSE(worker.plans().at(0).last.has_value());
  EXPECT_FALSE(worker.plans().at(0).last_success_at.has_value());
}

TEST_F(WorkerTest, RunsBySchedule) {
  Worker worker(store_, hooks());
  worker.set_plans({plan_of("storage", "15 22 * * *"), plan_of("seats", "@hourly")}).value();
  EXPECT_EQ(worker.plans().at(0).next_at, Instant::from_unix_seconds(1'700'000'100));
  clock_.advance(69s);
  EXPECT_TRUE(worker.runs().empty());
  clock_.advance(1s);
  const RunRecord record = wait_for(1);
  EXPECT_TRUE(record.is_scheduled);
  EXPECT_EQ(record.report.limit, "storage");
  EXPECT_EQ(used("storage"), 70);
  EXPECT_EQ(used("seats"), 0);
  EXPECT_EQ(worker.plans().at(0).next_at, Instant::from_unix_seconds(1'700'000'100) + 24h);
  clock_.advance(24h * 3);
  wait_for(3);
  EXPECT_EQ(worker.runs().size(), 3U) << "once each, although they were due more often";
}

TEST_F(WorkerTest, WhatWaitsAlreadyIsNotQueuedAgain) {
  std::promise<void> go;
  std::promise<void> is_reading;
  on_read_ = [&] {
    is_reading.set_value();
    go.get_future().wait();
  };
  Worker worker(store_, hooks());
  worker.set_plans({plan_of("storage")}).value();
  const std::uint64_t running = worker.start("storage", {}).value();
  is_reading.get_future().wait();
  EXPECT_EQ(worker.runs()[0].state_text(), "running");
  on_read_ = [] {};
  const std::uint64_t next = worker.start("storage", {}).value();
  EXPECT_NE(next, running);
  EXPECT_EQ(worker.start("storage", {}).value(), next);
  const std::uint64_t dry = worker.start("storage", {.is_dry_run = true}).value();
  EXPECT_NE(dry, next);
  EXPECT_EQ(worker.runs()[0].state_text(), "waiting");
  go.set_value();
  EXPECT_EQ(wait_for(3).number, dry);
}

TEST_F(WorkerTest, PlansCanBeChangedAndRemoved) {
  Worker worker(store_, hooks());
  worker.set_plans({plan_of("storage", "@daily")}).value();
  const auto next = worker.plans().at(0).next_at;
  clock_.advance(10min);
  worker.set_plans({plan_of("storage", "@daily"), plan_of("seats")}).value();
  EXPECT_EQ(worker.plans().at(0).next_at, next);
  worker.set_plans({plan_of("storage", "@hourly")}).value();
  EXPECT_LT(worker.plans().at(0).next_at, next);
  const auto refused = worker.start("seats", {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kNoLimit);
  EXPECT_NE(refused.error().message.find("[[sync]]"), std::string::npos);
}

TEST_F(WorkerTest, RemembersOnlyTheLastRuns) {
  Worker worker(store_, hooks());
  worker.set_plans({plan_of("storage")}).value();
  for (std::size_t i = 1; i <= kHistoryMax + 5; ++i) {
    worker.start("storage", {}).value();
    wait_for(i);
  }
  const std::vector<RunRecord> runs = worker.runs();
  ASSERT_EQ(runs.size(), kHistoryMax);
  EXPECT_EQ(runs.front().number, kHistoryMax + 5);
  EXPECT_EQ(runs.back().number, 6U);
}

// A query that never ends must not keep the server from ending.
TEST_F(WorkerTest, EndsARunThatIsUnderWay) {
  class StuckSource final : public Source {
   public:
    explicit StuckSource(std::promise<void>& is_stuck) : is_stuck_(is_stuck) {}
    Result<bool> lock() override {
      is_stuck_.set_value();
      cancelled_.get_future().wait();
      return Error{ErrorCode::kUnavailable, "cut off"};
    }
    Result<void> begin() override { return {}; }
    Result<void> read(const SeeRow&) override { return {}; }
    Result<void> confirm_lock() override { return {}; }
    void cancel() override { cancelled_.set_value(); }

   private:
    std::promise<void>& is_stuck_;
    std::promise<void> cancelled_;
  };
  std::promise<void> is_stuck;
  Worker::Hooks with = hooks();
  with.open_source = [&](const Plan&) -> Result<std::unique_ptr<Source>> {
    return std::make_unique<StuckSource>(is_stuck);
  };
  {
    Worker worker(store_, with);
    worker.set_plans({plan_of("storage")}).value();
    worker.start("storage", {}).value();
    is_stuck.get_future().wait();
  }
  EXPECT_EQ(wait_for(1).report.message, "cut off");
}

TEST_F(WorkerTest, ASourceThatCannotBeOpenedIsAFailedRun) {
  Worker::Hooks with = hooks();
  with.open_source = [](const Plan&) -> Result<std::unique_ptr<Source>> {
    return Error{ErrorCode::kInvalid, "no such thing"};
  };
  Worker worker(store_, with);
  worker.set_plans({plan_of("storage")}).value();
  worker.start("storage", {}).value();
  EXPECT_EQ(wait_for(1).report.outcome, Outcome::kFailed);
  EXPECT_EQ(worker.plans().at(0).runs, (std::array<std::uint64_t, kOutcomes>{0, 0, 0, 1}));
}

}  // namespace
}  // namespace mete::sync
