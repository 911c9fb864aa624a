// An etcd of three members that are killed and stand still, and many who use the same meter at once.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "faults/load.h"
#include "faults/processes.h"
#include "support/etcd_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;

// No process knows of the others: it is etcd that compares.
TEST(EtcdShared, ManyProcessesOnOneMeterNeverGetTooMuch) {
  const support::EtcdServer server;
  constexpr Amount kAmount = 500;
  {
    Limiter limiter = open(server.patient_url()).value();
    ASSERT_TRUE(limiter.define(stock("stock").amount(kAmount)).has_value());
  }
  Processes processes(3, [&] {
    Limiter limiter = open(server.patient_url()).value();
    return exhaust(4, [&] { return limiter.take("stock", "k"); });
  });
  const Tally tally = processes.join();
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(tally.unavailable, 0);
  EXPECT_EQ(tally.allowed, kAmount);
  Limiter limiter = open(server.patient_url()).value();
  EXPECT_EQ(limiter.usage("stock", "k")->used, kAmount);
}

// Holds of two stores on one meter, each settled by the other one: nothing is left, and nothing is lost.
TEST(EtcdShared, HoldsAreSettledByAnotherStore) {
  const support::EtcdServer server;
  Limiter one = open(server.patient_url()).value();
  Limiter other = open(server.patient_url()).value();
  ASSERT_TRUE(one.define(stock("stock").amount(1'000'000)).has_value());
  constexpr int kHolds = 40;
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kHolds; ++i) {
        const std::string id = std::to_string(thread) + "-" + std::to_string(i);
        Limiter& maker = i % 2 == 0 ? one : other;
        Limiter& settler = i % 2 == 0 ? other : one;
        if (!maker.hold({{"stock", "k", 10}}, 1h, {.id = id}).has_value()) ++failed;
        const auto settled = i % 3 == 0 ? settler.cancel(id) : settler.commit(id, {7});
        if (!settled) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  int committed = 0;
  for (int i = 0; i < kHolds; ++i) committed += i % 3 == 0 ? 0 : 1;
  EXPECT_EQ(one.usage("stock", "k")->used, Amount{7} * kThreads * committed);
  EXPECT_EQ(one.usage("stock", "k")->held, 0);
}

class EtcdMembers : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(patient_.define(stock("stock").amount(1'000'000)).has_value()); }

  support::EtcdCluster cluster_;
  Limiter patient_ = open(cluster_.url("?timeout=20s")).value();
  Limiter limiter_ = open(cluster_.url("?timeout=3s")).value();
};

TEST_F(EtcdMembers, WhatIsAcknowledgedOutlivesAnyOneOfThem) {
  Load load(4, [&] { return limiter_.take("stock", "k"); });
  load.await_allowed(50);
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    const Amount before = load.allowed();
    cluster_.member(i).kill_hard();
    load.await_allowed(before + 50);
    cluster_.member(i).start_again();
    load.await_allowed(before + 100);
  }
  const Tally tally = load.stop();
  EXPECT_EQ(tally.wrong, "");
  const Amount used = await_usage(patient_, "stock", "k").used;
  EXPECT_GE(used, tally.allowed) << "what was told has happened";
  EXPECT_LE(used, tally.allowed + tally.unavailable) << "and nothing else but what nobody was told of";
}

TEST_F(EtcdMembers, OneThatStandsStillHoldsNobodyUpForLong) {
  Load load(4, [&] { return limiter_.take("stock", "k"); });
  load.await_allowed(50);
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    const Amount before = load.allowed();
    cluster_.member(i).pause();
    load.await_allowed(before + 50);
    cluster_.member(i).resume();
  }
  const Tally tally = load.stop();
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LT(tally.slowest, 10s);
  const Amount used = await_usage(patient_, "stock", "k").used;
  EXPECT_GE(used, tally.allowed);
  EXPECT_LE(used, tally.allowed + tally.unavailable);
}

// Most of them are gone: nothing is admitted, and it is said why.
TEST_F(EtcdMembers, WithoutAMajorityNothingIsAdmitted) {
  cluster_.member(0).kill_hard();
  cluster_.member(1).kill_hard();
  const auto answer = limiter_.take("stock", "k");
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(answer.error().message.find("etcd"), std::string::npos) << answer.error().message;
  cluster_.member(0).start_again();
  EXPECT_TRUE(support::becomes_true(20s, [&] { return limiter_.take("stock", "k").has_value(); }));
}

}  // namespace
}  // namespace mete::faults
