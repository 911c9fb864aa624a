// Limiter::start(): when and where calls are carried out and completed, for each kind of store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mete/mete.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/fiber_thread.h"
#include "store/embedded/embedded_store.h"
#include "support/redis_server.h"
#include "support/simulated_disk.h"
#include "support/waiting.h"

namespace mete {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Far longer than anything here takes.
constexpr auto kPatience = 30s;

// The Result of a call, waited for.
template <class Call>
auto answer(Limiter& limiter, Call call) {
  std::promise<std::invoke_result_t<Call&, Limiter&>> promise;
  auto future = promise.get_future();
  limiter.start(std::move(call), [&](auto result) { promise.set_value(std::move(result)); });
  if (future.wait_for(kPatience) != std::future_status::ready) support::fail("a call was not completed");
  return future.get();
}

// All operations, one after the other.
void expect_all_operations(Limiter& limiter) {
  answer(limiter, [](Limiter& l) { return l.define(stock("credits").amount(10)); }).value();
  EXPECT_EQ(answer(limiter, [](Limiter& l) { return l.take("credits", "a", 3); }).value().remaining, 7);
  EXPECT_EQ(answer(limiter, [](Limiter& l) { return l.peek("credits", "a", 3); }).value().remaining, 4);
  EXPECT_EQ(answer(limiter, [](Limiter& l) { return l.give("credits", "a", 1); })->remaining, 8);
  EXPECT_FALSE(answer(limiter, [](Limiter& l) { return l.take("credits", "a", 9); }).value().allowed());
  const auto hold = [](Limiter& l) { return l.hold("credits", "a", 4, 1h); };
  const std::string first = answer(limiter, hold).value().id;
  const std::string second = answer(limiter, hold).value().id;
  EXPECT_EQ(answer(limiter, [&](Limiter& l) { return l.extend(first, 2h); }).value(), Duration(2h));
  EXPECT_EQ(answer(limiter, [&](Limiter& l) { return l.commit(first, 1); })->amount, 1);
  EXPECT_EQ(answer(limiter, [&](Limiter& l) { return l.cancel(second); })->amount, 4);
  EXPECT_EQ(answer(limiter, [](Limiter& l) { return l.usage("credits", "a"); })->used, 3);
  EXPECT_EQ(answer(limiter, [](Limiter& l) { return l.take("none", "a"); }).error().code, ErrorCode::kNoLimit);
}

// Several in one call: the second goes by the first's answer; and what value() throws is the Result.
void expect_calls_of_several_operations(Limiter& limiter) {
  const auto taken = answer(limiter, [](Limiter& l) {
    l.define(stock("several").amount(5)).value();
    return l.take("several", "a", l.peek("several", "a", 1).value().limit);
  });
  EXPECT_EQ(taken->taken, 5);
  const auto failed = answer(limiter, [](Limiter& l) -> Result<Decision> { return l.take("none", "a").value(); });
  EXPECT_EQ(failed.error().code, ErrorCode::kNoLimit);
}

// --- In memory -------------------------------------------------------------------------------------------------------

TEST(StartInMemory, HasAllOperations) {
  Limiter limiter = open("embedded:").value();
  expect_all_operations(limiter);
  expect_calls_of_several_operations(limiter);
}

TEST(StartInMemory, CompletesOnTheCallingThreadBeforeItReturns) {
  Limiter limiter = open("embedded:").value();
  limiter.define(stock("credits").amount(10)).value();
  std::thread::id thread;
  // Neither call nor completion can be copied.
  limiter.start([cost = std::make_unique<Amount>(3)](Limiter& l) { return l.take("credits", "a", *cost); },
                [&, unique = std::make_unique<int>()](const Result<Decision>& decision) {
                  EXPECT_EQ(decision->remaining, 7);
                  thread = std::this_thread::get_id();
                });
  EXPECT_EQ(thread, std::this_thread::get_id());
}

// --- On a disk -------------------------------------------------------------------------------------------------------

// A disk whose changes wait while the test says so.
class Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
};

class StartOnDisk : public ::testing::Test {
 protected:
  StartOnDisk() {
    disk_.before_change([this] { gate_.pass(); });
    limiter_ =
        std::make_unique<Limiter>(store::EmbeddedStore::open({.directory = "/data", .files = &disk_}, {}).value());
    limiter_->define(stock("credits").amount(1'000'000)).value();
    limiter_->define(bucket("api").amount(1'000'000).per(1min)).value();
  }
  ~StartOnDisk() override { gate_.open(); }

  void start_take(Text limit) {
    limiter_->start([limit](Limiter& l) { return l.take(limit, "a"); },
                    [this](const Result<Decision>& decision) {
                      ++(decision.has_value() ? done_ : failed_);
                      thread_ = std::this_thread::get_id();
                    });
  }
  [[nodiscard]] bool ends_with(int done, int failed) const {
    return support::becomes_true(kPatience, [&] { return done_ == done && failed_ == failed; });
  }

  support::SimulatedDisk disk_;
  Gate gate_;
  std::atomic<int> done_ = 0;
  std::atomic<int> failed_ = 0;
  std::atomic<std::thread::id> thread_;
  std::unique_ptr<Limiter> limiter_;
};

TEST_F(StartOnDisk, HasAllOperations) {
  expect_all_operations(*limiter_);
  expect_calls_of_several_operations(*limiter_);
}

TEST_F(StartOnDisk, DoesNotWaitForTheDiskAndCompletesWhenItIsThere) {
  gate_.close();
  start_take("credits");
  EXPECT_EQ(limiter_->usage("credits", "a")->used, 1) << "it is decided at once";
  EXPECT_EQ(done_, 0) << "it is told when it is on disk";
  start_take("api");
  EXPECT_EQ(done_, 1) << "a limit whose takes need not be on disk";
  gate_.open();
  EXPECT_TRUE(ends_with(2, 0));
  EXPECT_NE(thread_.load(), std::this_thread::get_id());
}

TEST_F(StartOnDisk, ACompletionMayStartAndAskMore) {
  std::promise<Amount> used;
  limiter_->start([](Limiter& l) { return l.take("credits", "a"); },
                  [&](const Result<Decision>& /*decision*/) {
                    EXPECT_TRUE(limiter_->allow("credits", "a"));
                    limiter_->start([](Limiter& l) { return l.take("credits", "a"); },
                                    [&](const Result<Decision>& /*decision*/) {
                                      used.set_value(limiter_->usage("credits", "a")->used);
                                    });
                  });
  EXPECT_EQ(used.get_future().get(), 3);
}

TEST_F(StartOnDisk, ACallBeyondTheBoundIsNotCarriedOut) {
  gate_.close();
  for (std::size_t i = 0; i < kStartedMax; ++i) start_take("credits");
  std::string message;
  limiter_->start([](Limiter& l) { return l.take("credits", "a"); },
                  [&](const Result<Decision>& decision) { message = decision.error().message; });
  EXPECT_THAT(message, HasSubstr("too many calls"));
  EXPECT_EQ(limiter_->usage("credits", "a")->used, kStartedMax);
  gate_.open();
  EXPECT_TRUE(ends_with(kStartedMax, 0));
  start_take("credits");
  EXPECT_TRUE(ends_with(kStartedMax + 1, 0));
}

TEST_F(StartOnDisk, TheDestructorWaitsForTheDisk) {
  gate_.close();
  for (int i = 0; i < 100; ++i) start_take("credits");
  std::thread opener([this] { gate_.open(); });
  limiter_.reset();
  EXPECT_EQ(done_, 100);
  opener.join();
}

TEST_F(StartOnDisk, WhatCannotBeWrittenIsAnError) {
  gate_.close();
  start_take("credits");
  disk_.fail_call(disk_.calls() + 1, support::SimulatedDisk::Failure::kNoSpace);
  gate_.open();
  EXPECT_TRUE(ends_with(0, 1));
  start_take("credits");
  EXPECT_TRUE(ends_with(0, 2));
}

TEST_F(StartOnDisk, FibersWaitForTheDiskTogether) {
  gate_.close();
  std::atomic<int> begun = 0;
  {
    net::FiberThread fibers(10);
    for (int i = 0; i < 10; ++i) {
      fibers.run([&] {
        ++begun;
        done_ += limiter_->allow("credits", "a") ? 1 : 0;
      });
    }
    EXPECT_TRUE(support::becomes_true(kPatience, [&] { return begun == 10; })) << "one keeps the thread of the others";
    EXPECT_EQ(done_, 0);
    gate_.open();
  }
  EXPECT_EQ(done_, 10);
}

// --- In Redis --------------------------------------------------------------------------------------------------------

class StartInRedis : public ::testing::Test {
 protected:
  void open_limiter(const std::string& url) {
    limiter_ = std::make_unique<Limiter>(open(url).value());
    limiter_->define(stock("credits").amount(1'000'000)).value();
    limiter_->take("credits", "a").value();  // scripts are loaded, and so on
  }
  void start_takes(int count) {
    for (int i = 0; i < count; ++i) {
      limiter_->start(
          [this](Limiter& l) {
            ++begun_;
            return l.take("credits", "a");
          },
          [this](const Result<Decision>& decision) {
            EXPECT_NE(std::this_thread::get_id(), test_thread_);
            EXPECT_TRUE(decision.has_value() || decision.error().code == ErrorCode::kUnavailable);
            ++(decision.has_value() ? done_ : failed_);
          });
    }
  }
  [[nodiscard]] bool all_end(int count) const {
    return support::becomes_true(kPatience, [&] { return done_ + failed_ == count; });
  }

  support::RedisServer server_;
  const std::thread::id test_thread_ = std::this_thread::get_id();
  std::atomic<int> begun_ = 0;
  std::atomic<int> done_ = 0;
  std::atomic<int> failed_ = 0;
  std::unique_ptr<Limiter> limiter_;
};

TEST_F(StartInRedis, HasAllOperations) {
  Limiter limiter = open(server_.patient_url()).value();
  expect_all_operations(limiter);
  expect_calls_of_several_operations(limiter);
}

TEST_F(StartInRedis, OneThreadHasThousandsOfCallsUnderWay) {
  constexpr int kCalls = 5000;
  open_limiter(server_.patient_url());
  server_.pause();  // Nothing is answered while they are started.
  start_takes(kCalls);
  EXPECT_EQ(done_ + failed_, 0);
  server_.resume();
  EXPECT_TRUE(all_end(kCalls));
  EXPECT_EQ(done_, kCalls);
  EXPECT_EQ(limiter_->usage("credits", "a")->used, kCalls + 1);
}

TEST_F(StartInRedis, AStoppedServerIsUnavailableAndComesBack) {
  constexpr int kCalls = 3000;
  open_limiter(server_.url() + "?timeout=300ms");
  server_.pause();
  start_takes(kCalls);
  EXPECT_TRUE(all_end(kCalls));
  EXPECT_EQ(failed_, kCalls);
  server_.resume();
  const auto is_back = [&] { return answer(*limiter_, [](Limiter& l) { return l.take("credits", "b"); }).has_value(); };
  EXPECT_TRUE(support::becomes_true(kPatience, is_back));
}

TEST_F(StartInRedis, ACallBeyondTheBoundIsNotCarriedOut) {
  open_limiter(server_.patient_url());
  server_.pause();
  start_takes(kStartedMax);
  std::string message;
  limiter_->start([](Limiter& l) { return l.take("credits", "a"); },
                  [&](const Result<Decision>& decision) { message = decision.error().message; });
  EXPECT_THAT(message, HasSubstr("too many calls")) << "told before start() returns";
  server_.resume();
  EXPECT_TRUE(all_end(kStartedMax));
  EXPECT_EQ(limiter_->usage("credits", "a")->used, kStartedMax + 1);
}

TEST_F(StartInRedis, TheDestructorCompletesEachCallOnce) {
  constexpr int kCalls = 3000;
  open_limiter(server_.patient_url());
  server_.pause();
  start_takes(kCalls);
  EXPECT_TRUE(support::becomes_true(kPatience, [&] { return begun_ > 0; }));
  // One whose completion starts another.
  Limiter* const limiter = limiter_.get();
  limiter_->start([](Limiter& l) { return l.take("credits", "b"); },
                  [&, limiter](const Result<Decision>& /*decision*/) {
                    limiter->start(
                        [](Limiter& l) { return l.take("credits", "b"); },
                        [&](const Result<Decision>& decision) { ++(decision.has_value() ? done_ : failed_); });
                  });
  std::thread resumer([&] {
    EXPECT_EQ(done_, 0);
    server_.resume();
  });
  limiter_.reset();
  EXPECT_EQ(done_ + failed_, kCalls + 1);
  EXPECT_EQ(done_, begun_) << "what has begun has its answer";
  resumer.join();
}

}  // namespace
}  // namespace mete
