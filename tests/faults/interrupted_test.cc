// A server is restarted, its connections break, or Redis forgets its scripts, in the middle of load: what was charged
// is what was told, to the unit.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>

#include "faults/load.h"
#include "faults/world.h"
#include "net/fiber.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;

TEST(Interrupted, ScriptsThatAreFlushedAreNotMissed) {
  const support::RedisServer server;
  Limiter limiter = open(server.url() + kPatient).value();
  constexpr Amount kAmount = 20'000;
  ASSERT_TRUE(limiter.define(stock("stock").amount(kAmount)).has_value());
  Load load(kThreads, [&] { return limiter.take("stock", "k"); });
  for (Amount flushes = 1; flushes <= 30; ++flushes) {
    load.await_allowed(flushes * 100);
    EXPECT_EQ(server.call({"SCRIPT", "FLUSH"}).text, "OK");
  }
  Tally tally = load.stop();
  tally += exhaust(kThreads, [&] { return limiter.take("stock", "k"); });
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(tally.unavailable, 0) << "callers must not notice";
  EXPECT_EQ(tally.allowed, kAmount);
}

class InterruptedServer : public ::testing::TestWithParam<std::tuple<Make, Callers>> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(patient_.define(stock("stock").amount(kAmount)).has_value());
    ASSERT_TRUE(patient_.define(stock("plenty").amount(1'000'000)).has_value());
    ASSERT_TRUE(support::becomes_true(20s, [this] { return limiter_.usage("plenty", key_).has_value(); }));
  }
  // Each operation has an id, and is sent again until it is answered: so every one of them happens once.
  void expect_once_each(const std::function<void()>& disturb);
  void expect_no_trouble();

  static constexpr Amount kAmount = 800;
  const Callers callers_ = std::get<Callers>(GetParam());
  const SharedWorld world_{std::get<Make>(GetParam()), Disk::kSynced};
  const std::string key_ = unused_key();
  Limiter patient_ = open(world_->patient_url()).value();
  Limiter limiter_ = open_when_calm(world_->url());
};

// What the server has acknowledged is on its disk, so that a kill loses nothing.
TEST_P(InterruptedServer, RestartsLoseNothing) {
  Load load(
      kThreads, [&] { return limiter_.take("stock", key_); }, callers_);
  for (Amount restarts = 1; restarts <= 4; ++restarts) {
    load.await_allowed(restarts * 50);
    if (restarts % 2 == 0) {
      world_->stop();
    } else {
      world_->kill_hard();
    }
    world_->start_again();
    (void)await_usage(limiter_, "stock", key_);
  }
  Tally tally = load.stop();
  EXPECT_GE(await_usage(patient_, "stock", key_).used, tally.allowed) << "what was acknowledged is gone";
  tally += exhaust(kThreads, [&] { return limiter_.take("stock", key_); });
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LT(tally.slowest, kInTime);
  EXPECT_EQ(await_usage(patient_, "stock", key_).used, kAmount);
  EXPECT_LE(tally.allowed, kAmount);
  EXPECT_GE(tally.allowed + tally.unavailable, kAmount);
}

void InterruptedServer::expect_once_each(const std::function<void()>& disturb) {
  std::atomic<int> ids{0};
  const auto take_once = [&]() -> Result<Decision> {
    const std::string id = key_ + "-" + std::to_string(++ids);
    while (true) {
      auto answer = limiter_.take({{"plenty", key_, 1}}, {.id = id});
      if (answer.has_value() || answer.error().code != ErrorCode::kUnavailable) return answer;
      net::pause_for(1ms);
    }
  };
  const std::uint64_t connected = world_->proxy().accepted();
  Load load(kThreads, take_once, callers_);
  for (int disturbances = 0; disturbances < 20; ++disturbances) {
    load.await_allowed(load.allowed() + 20);
    disturb();
  }
  const Tally tally = load.stop();
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(tally.allowed, ids) << "each was answered in the end";
  EXPECT_GT(world_->proxy().accepted(), connected + 1) << "nothing was disturbed";
  EXPECT_EQ(await_usage(patient_, "plenty", key_).used, tally.allowed);
}

TEST_P(InterruptedServer, ConnectionsThatAreCutChargeOnceById) {
  expect_once_each([this] { world_->proxy().cut(); });
}

TEST_P(InterruptedServer, RepliesThatAreLostChargeOnceById) {
  expect_once_each([this] {
    world_->proxy().cut_at_replies();
    std::this_thread::sleep_for(5ms);  // of real trouble; a load that finds none within that is disturbed the next time
    world_->proxy().pass();
  });
}

// A worker that does not hear of its commit or cancel asks again, and is told what was done.
TEST_P(InterruptedServer, HoldsEndOnceAlthoughRepliesAreLost) {
  std::atomic<int> ids{0};
  std::atomic<Amount> committed{0};
  const auto until_answered = [](auto ask) {
    auto answer = ask();
    while (!answer.has_value() && answer.error().code == ErrorCode::kUnavailable) {
      net::pause_for(1ms);
      answer = ask();
    }
    return answer;
  };
  const auto use_a_hold = [&]() -> Result<Decision> {
    const int number = ++ids;
    const std::string id = key_ + "-" + std::to_string(number);
    auto held = until_answered([&] { return limiter_.hold({{"plenty", key_, 5}}, 1h, {.id = id}); });
    if (!held.has_value()) return held.error();
    const Amount amount = number % 4;
    const auto settled =
        until_answered([&] { return amount == 0 ? limiter_.cancel(id) : limiter_.commit(id, amount); });
    if (!settled.has_value()) return settled.error();
    if (settled->amount != (amount == 0 ? 5 : amount)) return Error{ErrorCode::kInvalid, "settled another amount"};
    committed += amount;
    return Decision(*held);
  };
  Load load(kThreads, use_a_hold, callers_);
  for (int disturbances = 0; disturbances < 20; ++disturbances) {
    load.await_allowed(load.allowed() + 10);
    world_->proxy().cut_at_replies();
    std::this_thread::sleep_for(5ms);  // as above
    world_->proxy().pass();
  }
  const Tally tally = load.stop();
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(tally.allowed, ids);
  const Usage usage = await_usage(patient_, "plenty", key_);
  EXPECT_EQ(usage.used, committed);
  EXPECT_EQ(usage.held, 0);
}

TEST_P(InterruptedServer, RepliesThatMakeNoSenseChargeOnceById) {
  expect_once_each([this] {
    world_->proxy().garble_replies();
    std::this_thread::sleep_for(5ms);
    world_->proxy().pass();
  });
}

TEST_P(InterruptedServer, ConnectionsThatAreClosedAgainAndAgainChargeOnceById) {
  // A connection to PostgreSQL needs three before its first answer.
  world_->proxy().close_after(6);
  expect_once_each([] {});
  world_->proxy().pass();
}

// What is below the time-out is no trouble.
void InterruptedServer::expect_no_trouble() {
  Load load(
      kThreads, [&] { return patient_.take("stock", key_); }, callers_);
  load.await_allowed(40);
  const Tally tally = load.stop();
  world_->proxy().pass();
  EXPECT_EQ(tally.unavailable, 0);
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(await_usage(patient_, "stock", key_).used, tally.allowed);
}

TEST_P(InterruptedServer, RepliesThatAreLateAreWaitedFor) {
  world_->proxy().delay_replies(60ms);
  expect_no_trouble();
}

TEST_P(InterruptedServer, RepliesInHalvesAreWhole) {
  world_->proxy().halve_replies();
  expect_no_trouble();
}

INSTANTIATE_TEST_SUITE_P(Servers, InterruptedServer,
                         ::testing::Combine(::testing::ValuesIn(makes()),
                                            ::testing::Values(Callers::kOnThreads, Callers::kOnFibers)),
                         [](const auto& each) {
                           const bool is_thread = std::get<Callers>(each.param) == Callers::kOnThreads;
                           return std::get<Make>(each.param).name + (is_thread ? "_threads" : "_fibers");
                         });

}  // namespace
}  // namespace mete::faults
