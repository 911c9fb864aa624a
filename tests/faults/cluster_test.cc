// Operations in a Cluster, where the keys of one operation may lie on different nodes.
#include <gtest/gtest.h>
#include <mete/mete.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "store/open.h"
#include "support/redis_cluster.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;

class Clustered : public ::testing::Test {
 protected:
  Clustered() {
    limiter_.define(stock(stock_).amount(10)).value();
    limiter_.define(bucket(bucket_).amount(5).per(1h)).value();
  }

  Amount used(const std::string& key) { return limiter_.usage(stock_, key).value().used; }
  Amount held(const std::string& key) { return limiter_.usage(stock_, key).value().held; }

  support::RedisCluster& cluster_ = support::shared_cluster();
  Limiter limiter_ = open(cluster_.url() + "?timeout=20s").value();
  const std::string stock_ = "stock";
  const std::string bucket_ = "bucket";
};

TEST_F(Clustered, TheKeysOfTheseTestsLieApart) {
  std::set<std::size_t> nodes;
  for (const char* key : {"a", "b", "c", "d"}) nodes.insert(cluster_.master_of(cluster_.slot_of(key)));
  EXPECT_GT(nodes.size(), 1U);
}

// S9: what belongs together has a common hash tag.
TEST_F(Clustered, S9_AllLimitsOfOneKeyAreTakenInOneStep) {
  const Decision taken = limiter_.take({{stock_, "a", 3}, {bucket_, "a", 1}}).value();
  EXPECT_TRUE(taken.allowed());
  EXPECT_EQ(taken.remaining, 4);
  EXPECT_FALSE(limiter_.take({{stock_, "a", 3}, {bucket_, "a", 6}}).value().allowed());
  EXPECT_EQ(used("a"), 3);
}

TEST_F(Clustered, ATakeOverSeveralKeysIsAllOrNothing) {
  const Decision taken = limiter_.take({{stock_, "a", 4}, {stock_, "b", 7}, {bucket_, "c", 1}}).value();
  EXPECT_TRUE(taken.allowed());
  EXPECT_EQ(taken.taken, 12);
  EXPECT_EQ(taken.remaining, 3);
  const Decision denied = limiter_.take({{stock_, "a", 1}, {stock_, "b", 4}, {bucket_, "c", 5}}).value();
  EXPECT_FALSE(denied.allowed());
  EXPECT_EQ(denied.violated, (std::vector<std::string>{stock_, bucket_}));
  EXPECT_EQ(used("a"), 4);
  EXPECT_EQ(used("b"), 7);
  EXPECT_EQ(held("a") + held("b"), 0);
}

TEST_F(Clustered, AForcedTakeOverSeveralKeysIsRecorded) {
  EXPECT_TRUE(limiter_.take({{stock_, "a", 11}, {stock_, "b", 1}}, {.mode = Mode::kForce}).value().allowed());
  EXPECT_EQ(used("a"), 11);
  EXPECT_EQ(used("b"), 1);
}

TEST_F(Clustered, AnIdIsOneOperationWhereverItLies) {
  const std::string one = stock_ + "-one";
  const Decision first = limiter_.take({{stock_, "a", 4}}, {.id = one}).value();
  EXPECT_EQ(limiter_.take({{stock_, "a", 4}}, {.id = one}).value(), first);
  EXPECT_EQ(limiter_.take({{stock_, "b", 4}}, {.id = one}).error().code, ErrorCode::kMismatch) << "another key";
  EXPECT_EQ(limiter_.take({{stock_, "a", 5}}, {.id = one}).error().code, ErrorCode::kMismatch) << "another cost";
  const std::string two = stock_ + "-two";
  const std::vector<Charge> charges = {{stock_, "b", 2}, {stock_, "c", 3}};
  const Decision across = limiter_.take(charges, {.id = two}).value();
  EXPECT_EQ(limiter_.take(charges, {.id = two}).value(), across);
  EXPECT_EQ(used("b"), 2);
  EXPECT_EQ(used("c"), 3);
  const std::string given = stock_ + "-given";
  const Settlement back = limiter_.give(charges, given).value();
  EXPECT_EQ(back.amount, 5);
  EXPECT_EQ(limiter_.give(charges, given).value(), back);
  EXPECT_EQ(used("b") + used("c"), 0);
}

// The node that decides refuses its part: those of the others are free again, and the same operation later is charged
// once, although its id has been used for holds that are over.
TEST_F(Clustered, WhatWasRefusedOnTheWayIsChargedOnceWhenItIsAskedAgain) {
  const auto node_of = [this](std::string_view key) { return cluster_.master_of(cluster_.slot_of(key)); };
  const auto elsewhere = [&](const std::string& name) {
    for (int i = 0;; ++i) {
      if (node_of(name + std::to_string(i)) != node_of("a")) return name + std::to_string(i);
    }
  };
  const std::string other = elsewhere("other");
  const std::string id = elsewhere("refused");
  const std::vector<Charge> charges = {{stock_, "a", 4}, {stock_, other, 7}};
  const support::RedisServer& full = cluster_.node(node_of("a"));
  ASSERT_EQ(full.call({"CONFIG", "SET", "maxmemory", "1"}).text, "OK");
  for (int i = 0; i < 3; ++i) {
    const auto refused = limiter_.take(charges, {.id = id});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory) << refused.error().message;
  }
  ASSERT_EQ(full.call({"CONFIG", "SET", "maxmemory", "0"}).text, "OK");
  EXPECT_EQ(used(other) + held(other), 0);
  const Decision taken = limiter_.take(charges, {.id = id}).value();
  EXPECT_TRUE(taken.allowed());
  EXPECT_EQ(limiter_.take(charges, {.id = id}).value(), taken);
  EXPECT_EQ(used("a"), 4);
  EXPECT_EQ(used(other), 7);
}

TEST_F(Clustered, AHoldOnOneKey) {
  const HoldDecision hold = limiter_.hold({{stock_, "a", 6}}, 1h, {.tag = stock_}).value();
  EXPECT_EQ(limiter_.holds_tagged(stock_).value(), std::vector<std::string>{hold.id});
  EXPECT_EQ(limiter_.holds(stock_, "a").value(), std::vector<std::string>{hold.id});
  EXPECT_EQ(limiter_.commit(hold.id, 4).value().amount, 4);
  EXPECT_EQ(used("a"), 4);
  EXPECT_TRUE(limiter_.holds_tagged(stock_).value().empty());
  EXPECT_EQ(limiter_.cancel(hold.id).error().code, ErrorCode::kNoHold);
}

TEST_F(Clustered, AHoldOverSeveralKeys) {
  const std::vector<Charge> charges = {{stock_, "a", 6}, {stock_, "b", 5}, {bucket_, "a", 2}};
  const HoldDecision hold = limiter_.hold(charges, 1h, {.tag = stock_}).value();
  EXPECT_TRUE(hold.allowed());
  EXPECT_EQ(held("a"), 6);
  EXPECT_EQ(held("b"), 5);
  const HoldInfo info = *limiter_.find_hold(hold.id).value();
  ASSERT_EQ(info.charges.size(), 3U);
  EXPECT_EQ(info.charges[0], (HeldCharge{stock_, "a", 6}));
  EXPECT_EQ(info.charges[1], (HeldCharge{stock_, "b", 5}));
  EXPECT_EQ(info.charges[2], (HeldCharge{bucket_, "a", 2}));
  EXPECT_EQ(limiter_.extend(hold.id, 2h).value().ns(), Duration(2h).ns());
  EXPECT_FALSE(limiter_.hold({{stock_, "a", 1}, {stock_, "b", 6}}, 1h).value().allowed());
  EXPECT_EQ(held("a"), 6) << "a denied hold leaves nothing";
  const std::vector<Amount> beyond = {6, 11, 2};
  EXPECT_EQ(limiter_.commit(hold.id, beyond).error().code, ErrorCode::kExceeds);
  EXPECT_EQ(limiter_.commit_with_overage(hold.id, beyond).error().code, ErrorCode::kExceeds);
  EXPECT_EQ(held("b"), 5) << "the hold is still open";
  const std::vector<Amount> amounts = {2, 8, 2};
  EXPECT_EQ(limiter_.commit_with_overage(hold.id, amounts).value().amount, 12);
  EXPECT_EQ(used("a"), 2);
  EXPECT_EQ(used("b"), 8);
  EXPECT_EQ(limiter_.find_hold(hold.id).value()->state, HoldState::kCommitted);
  const HoldDecision other = limiter_.hold({{stock_, "a", 1}, {stock_, "b", 1}}, 1h).value();
  EXPECT_EQ(limiter_.cancel(other.id).value().amount, 2);
  EXPECT_EQ(held("a") + held("b"), 0);
}

TEST_F(Clustered, ManyTakesOverSeveralKeysNeverPassALimit) {
  const std::string shared = stock_ + "-shared";
  limiter_.define(stock(shared).amount(50)).value();
  std::atomic<int> admitted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Limiter own = open(cluster_.url() + "?timeout=20s").value();
      for (int j = 0; j < 25; ++j) {
        const std::string key = "k" + std::to_string(i) + "-" + std::to_string(j);
        if (own.take({{shared, "all", 1}, {stock_, key, 1}}).value().allowed()) ++admitted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Usage usage = limiter_.usage(shared, "all").value();
  EXPECT_EQ(usage.used, admitted);
  EXPECT_LE(admitted, 50);
  EXPECT_EQ(usage.held, 0);
}

TEST_F(Clustered, ShiftsReachEveryNode) {
  const auto store = store::open_store(cluster_.url() + "?timeout=20s", {}).value();
  const store::Shift shifts[] = {{"a", 3}, {"b", 4}, {"c", 5}, {"d", 6}, {"a", -1}};
  std::vector<Result<store::Shifted>> answers(std::size(shifts));
  store->shift({.limit = stock_, .since = store->now(), .shifts = shifts, .answers = answers});
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].value().change, shifts[i].change);
  EXPECT_EQ(used("a"), 2);
  EXPECT_EQ(used("d"), 6);
}

TEST_F(Clustered, ListingsGoOverAllNodes) {
  for (int i = 0; i < 50; ++i) limiter_.take(stock_, "user" + std::to_string(i), i % 10 + 1).value();
  EXPECT_EQ(limiter_.top(stock_, 100).value().size(), 50U);
  EXPECT_EQ(limiter_.top(stock_, 1).value()[0].usage.used, 10);
}

}  // namespace
}  // namespace mete::faults
