// Redis forgets its scripts, is restarted, or its connections break, in the middle of load: what was charged is what
// was told, to the unit.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "faults/load.h"
#include "support/proxy.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;

constexpr int kThreads = 4;

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

// What Redis acknowledged is on its disk, so that a kill loses nothing.
TEST(Interrupted, RestartsLoseNothing) {
  support::RedisServer server({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
  Limiter limiter = open(server.url()).value();
  constexpr Amount kAmount = 5000;
  ASSERT_TRUE(limiter.define(stock("stock").amount(kAmount)).has_value());
  Load load(kThreads, [&] { return limiter.take("stock", "k"); });
  for (Amount restarts = 1; restarts <= 4; ++restarts) {
    load.await_allowed(restarts * 200);
    if (restarts % 2 == 0) {
      server.stop();
    } else {
      server.kill_hard();
    }
    server.start_again();
    ASSERT_TRUE(support::becomes_true(10s, [&] { return limiter.usage("stock", "k").has_value(); }));
  }
  Tally tally = load.stop();
  tally += exhaust(kThreads, [&] { return limiter.take("stock", "k"); });
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LT(tally.slowest, kInTime);
  EXPECT_EQ(limiter.usage("stock", "k")->used, kAmount);
  EXPECT_LE(tally.allowed, kAmount);
  EXPECT_GE(tally.allowed + tally.unavailable, kAmount);
}

// Each operation has an id, and is sent again until it is answered: so every one of them happens once.
void expect_once_each(const std::function<void(support::Proxy&)>& disturb) {
  const support::RedisServer server;
  support::Proxy proxy(server.port());
  Limiter limiter = open(proxy.url()).value();
  ASSERT_TRUE(limiter.define(stock("stock").amount(1'000'000)).has_value());
  std::atomic<int> ids{0};
  std::atomic<int> repeats{0};
  const auto take_once = [&]() -> Result<Decision> {
    const std::string id = "id-" + std::to_string(++ids);
    while (true) {
      auto answer = limiter.take({{"stock", "k", 1}}, {.id = id});
      if (answer || answer.error().code != ErrorCode::kUnavailable) return answer;
      ++repeats;
    }
  };
  Load load(kThreads, take_once);
  for (int disturbances = 0; disturbances < 20; ++disturbances) {
    load.await_allowed(load.allowed() + 20);
    disturb(proxy);
  }
  const Tally tally = load.stop();
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(tally.allowed, ids) << "each was answered in the end";
  EXPECT_GT(repeats, 0) << "nothing was disturbed";
  EXPECT_EQ(limiter.usage("stock", "k").value().used, tally.allowed);
}

TEST(Interrupted, ConnectionsThatAreCutChargeOnceById) {
  expect_once_each([](support::Proxy& proxy) { proxy.cut(); });
}

TEST(Interrupted, RepliesThatAreLostChargeOnceById) {
  expect_once_each([](support::Proxy& proxy) {
    proxy.cut_at_replies();
    std::this_thread::sleep_for(5ms);  // of real trouble
    proxy.pass();
  });
}

// A delay below the time-out is no trouble.
TEST(Interrupted, RepliesThatAreLateAreWaitedFor) {
  const support::RedisServer server;
  support::Proxy proxy(server.port());
  Limiter limiter = open(proxy.url()).value();
  ASSERT_TRUE(limiter.define(stock("stock").amount(1000)).has_value());
  proxy.delay_replies(60ms);
  Load load(kThreads, [&] { return limiter.take("stock", "k"); });
  load.await_allowed(40);
  const Tally tally = load.stop();
  EXPECT_EQ(tally.unavailable, 0);
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(limiter.usage("stock", "k").value().used, tally.allowed);
}

}  // namespace
}  // namespace mete::faults
