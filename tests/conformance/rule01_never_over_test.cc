// Rule 1: never over the limit, whatever comes at once.
#include <atomic>
#include <random>
#include <thread>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, Rule01_NeverOverTheLimit) {
  std::mt19937 random(1);
  for (const Limit& limit : each_kind(100)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    Amount admitted = 0;
    Amount held = 0;
    for (int i = 0; i < 60; ++i) {
      const auto cost = static_cast<Amount>(random() % 9 + 1);
      if (i % 3 == 0) {
        const auto decision = limiter().hold({{limit.name(), "alice", cost}}, 2h).value();
        EXPECT_EQ(decision.allowed(), admitted + held + cost <= 100);
        held += decision.taken;
      } else {
        const Decision decision = take(limit.name(), "alice", cost);
        EXPECT_EQ(decision.allowed(), admitted + held + cost <= 100);
        admitted += decision.taken;
      }
      const Usage now = usage(limit.name(), "alice");
      EXPECT_EQ(now.used, admitted);
      EXPECT_EQ(now.held, held);
      EXPECT_LE(now.used + now.held, 100);
    }
    EXPECT_GT(admitted + held, 90);
  }
}

TEST_P(Conformance, Rule01_ManyAtOnceGetWhatThereIsAndNoMore) {
  constexpr int kThreads = 4;
  constexpr int kTakes = 100;
  for (const Limit& limit : each_kind(150)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    std::atomic<Amount> admitted{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < kTakes; ++j) admitted += take(limit.name(), "shared").taken;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(admitted, 150);
    EXPECT_EQ(usage(limit.name(), "shared").used, 150);
    EXPECT_FALSE(take(limit.name(), "shared").allowed());
  }
}

TEST_P(Conformance, Rule01_KeysDoNotShareALimit) {
  for (const Limit& limit : each_kind(3)) {
    SCOPED_TRACE(limit.name());
    EXPECT_TRUE(take(limit.name(), "alice", 3).allowed());
    EXPECT_TRUE(take(limit.name(), "bob", 3).allowed());
    EXPECT_FALSE(take(limit.name(), "alice").allowed());
    EXPECT_FALSE(take(limit.name(), "bob").allowed());
  }
}

TEST_P(Conformance, Rule01_KeysAreAnyBytes) {
  const std::string storage = define(stock(unique("storage")).amount(5));
  const std::string keys[] = {
      std::string(1, '\0'),  std::string("a\0b", 3), std::string("a\0c", 3), "a", "ä€\xff\xfe", " ", "\r\n",
      std::string(512, 'k'), std::string(511, 'k')};
  Amount cost = 0;
  for (const std::string& key : keys) {
    cost = cost % 5 + 1;
    EXPECT_EQ(take(storage, key, cost).remaining, 5 - cost) << "the keys are not told apart";
  }
}

TEST_P(Conformance, Rule01_UsageAboveTheAmountDeniesEverything) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    EXPECT_TRUE(take_mode({limit.name(), "alice", 15}, Mode::kForce).allowed());
    EXPECT_EQ(usage(limit.name(), "alice").used, 15);
    EXPECT_EQ(usage(limit.name(), "alice").remaining, 0);
    EXPECT_FALSE(take(limit.name(), "alice").allowed());
    EXPECT_FALSE(take(limit.name(), "alice", 0).allowed()) << "usage is above the amount: even nothing does not fit";
    EXPECT_FALSE(limiter().hold({{limit.name(), "alice", 1}}, 1min).value().allowed());
    EXPECT_FALSE(take_mode({limit.name(), "alice", 1}, Mode::kUpTo).allowed());
    EXPECT_EQ(usage(limit.name(), "alice").used, 15);
  }
}

}  // namespace
}  // namespace mete::conformance
