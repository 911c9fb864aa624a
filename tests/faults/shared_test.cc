// Several processes and limiters share one Redis: together they admit what the limit says, to the unit.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>

#include "faults/load.h"
#include "faults/processes.h"
#include "support/long_form.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;

constexpr int kProcesses = 16;
constexpr int kConnectionsEach = 4;

Tally take_all(const std::string& url) {
  Limiter limiter = open(url).value();
  return exhaust(kConnectionsEach, [&] { return limiter.take("stock", "k"); });
}

TEST(Shared, SixteenProcessesAdmitExactlyTheAmount) {
  const support::RedisServer server;
  const Amount amount = support::is_long_form() ? 100'000 : 20'000;
  ASSERT_TRUE(open(server.patient_url()).value().define(stock("stock").amount(amount)).has_value());
  Processes processes(kProcesses, [&] { return take_all(server.url() + kPatient); });
  const Tally tally = processes.join();
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(tally.unavailable, 0);
  EXPECT_EQ(tally.allowed, amount);
  EXPECT_EQ(tally.denied, kProcesses * kConnectionsEach) << "each stops at its first denial";
  EXPECT_EQ(open(server.patient_url()).value().usage("stock", "k").value().used, amount);
}

// A bucket refills while they take: the greedy sixteen get what is due in the time, and no more.
TEST(Shared, SixteenProcessesAdmitWhatABucketRefills) {
  const support::RedisServer server;
  constexpr Amount kBurst = 500;
  constexpr Amount kPerSecond = 1000;
  Limiter limiter = open(server.url() + kPatient).value();
  ASSERT_TRUE(limiter.define(bucket("bucket").amount(kPerSecond).per(1s).burst(kBurst)).has_value());
  const auto start = std::chrono::steady_clock::now();
  Processes processes(kProcesses, [&] {
    Limiter own = open(server.url() + kPatient).value();
    Load load(kConnectionsEach, [&] { return own.take("bucket", "k"); });
    std::this_thread::sleep_for(2s);  // of real load: what a bucket refills takes its time
    return load.stop();
  });
  const Tally tally = processes.join();
  const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LE(tally.allowed, kBurst + elapsed.count() * kPerSecond / 1'000'000 + 1);
  EXPECT_GT(tally.allowed, kBurst + kPerSecond) << "it was not tried";
}

// A client that stands still holds up nobody, and takes nothing twice when it goes on.
TEST(Shared, ClientsThatArePausedHoldUpNobody) {
  const support::RedisServer server;
  constexpr Amount kAmount = 20'000;
  Limiter limiter = open(server.url() + kPatient).value();
  ASSERT_TRUE(limiter.define(stock("stock").amount(kAmount)).has_value());
  Processes processes(kProcesses / 2, [&] { return take_all(server.patient_url()); });
  const auto used = [&] { return limiter.usage("stock", "k").value().used; };
  ASSERT_TRUE(support::becomes_true(30s, [&] { return used() > kAmount / 10; }));
  const pid_t paused[] = {processes.pids()[0], processes.pids()[1]};
  for (const pid_t pid : paused) ::kill(pid, SIGSTOP);
  EXPECT_TRUE(support::becomes_true(60s, [&] { return used() == kAmount; })) << "the others go on";
  for (const pid_t pid : paused) ::kill(pid, SIGCONT);
  const Tally tally = processes.join();
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(used(), kAmount);
  EXPECT_LE(tally.allowed, kAmount);
  EXPECT_GE(tally.allowed + tally.unavailable, kAmount);
}

TEST(Shared, ADefinitionReachesTheOtherWithinASecond) {
  const support::RedisServer server;
  Limiter first = open(server.patient_url()).value();
  Limiter second = open(server.patient_url()).value();
  const auto within_a_second = [](const auto& question) { return support::becomes_true(1s, question); };

  ASSERT_TRUE(first.define(stock("stock").amount(10)).has_value());
  EXPECT_TRUE(within_a_second([&] { return second.take("stock", "k", 10).has_value(); }));
  ASSERT_TRUE(first.define(stock("stock").amount(5)).has_value());
  EXPECT_TRUE(within_a_second([&] { return second.usage("stock", "k")->limit == 5; }));
  EXPECT_FALSE(second.take("stock", "other", 6).value().allowed());
  ASSERT_TRUE(first.drop("stock").value());
  EXPECT_TRUE(within_a_second([&] {
    const auto taken = second.take("stock", "k");
    return !taken.has_value() && taken.error().code == ErrorCode::kNoLimit;
  }));
  EXPECT_TRUE(within_a_second([&] { return second.limits()->empty(); }));
}

}  // namespace
}  // namespace mete::faults
