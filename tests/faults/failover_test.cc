// A master is killed under Sentinel and in a Cluster, and a slot moves. Redis replicates behind its answers, so a
// master that dies may take acknowledged charges with it: nothing beyond these is admitted over the limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "faults/load.h"
#include "support/redis_cluster.h"
#include "support/redis_sentinels.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;

constexpr Amount kStockAmount = 20'000;

// The limit itself must be with the replicas before anything is killed: what Redis loses is not ours to keep.
void define_stock(Limiter& limiter, const std::function<void()>& await_replicas) {
  ASSERT_TRUE(limiter.define(stock("stock").amount(kStockAmount)).has_value());
  await_replicas();
}

// Load on a key until its master is killed, more of it meanwhile, and the rest from the new master.
void expect_nothing_over(const std::string& url, const std::function<void()>& await_replicas,
                         const std::function<void()>& kill, const std::function<void()>& await_new) {
  Limiter limiter = open_when_calm(url);
  Limiter patient = open(url + kPatient).value();
  define_stock(patient, await_replicas);
  ASSERT_TRUE(support::becomes_true(10s, [&] { return limiter.usage("stock", "k").has_value(); }));
  const auto take = [&] { return limiter.take("stock", "k"); };
  Load before(kThreads, take);
  before.await_allowed(1000);
  kill();
  const Tally first = before.stop();

  Load meanwhile(kThreads, [&] { return limiter.take("stock", "meanwhile"); });
  await_new();
  ASSERT_TRUE(support::becomes_true(10s, [&] { return limiter.usage("stock", "k").has_value(); }));
  meanwhile.await_allowed(100);
  const Tally second = meanwhile.stop();

  // It has not been asked since, and learns of the new master by asking.
  ASSERT_TRUE(support::becomes_true(10s, [&] { return patient.usage("stock", "k").has_value(); }));
  const Amount survived = patient.usage("stock", "k").value().used;
  const Tally third = exhaust(kThreads, take);
  for (const Tally* tally : {&first, &second, &third}) {
    EXPECT_EQ(tally->wrong, "");
    EXPECT_LT(tally->slowest, kInTime);
  }
  EXPECT_GE(third.allowed + third.unavailable, kStockAmount - survived);
  EXPECT_LE(third.allowed, kStockAmount - survived);
  const Amount lost = std::max<Amount>(0, first.allowed - survived);
  EXPECT_LE(first.allowed + third.allowed, kStockAmount + lost);
  EXPECT_EQ(patient.usage("stock", "k").value().used, kStockAmount);
}

TEST(Failover, ASentinelsMasterIsKilled) {
  support::RedisSentinels world;
  expect_nothing_over(
      world.url(), [&] { world.server(0).await_replica(); }, [&] { world.server(0).kill_hard(); },
      [&] { world.await_master(1); });
}

// What has reached the replica is not lost: then it is exact.
TEST(Failover, WhatIsReplicatedStays) {
  support::RedisSentinels world;
  Limiter limiter = open(world.url() + kPatient).value();
  define_stock(limiter, [&] { world.server(0).await_replica(); });
  ASSERT_TRUE(limiter.take("stock", "k", 5000).value().allowed());
  const auto held = limiter.hold({{"stock", "k", 100}}, 1h).value();
  world.server(0).await_replica();
  world.server(0).kill_hard();
  world.await_master(1);
  ASSERT_TRUE(support::becomes_true(10s, [&] { return limiter.usage("stock", "k").has_value(); }));
  EXPECT_EQ(limiter.usage("stock", "k")->used, 5000);
  EXPECT_EQ(limiter.usage("stock", "k")->held, 100);
  EXPECT_EQ(limiter.commit(held.id, 60).value().amount, 60);
  EXPECT_EQ(exhaust(kThreads, [&] { return limiter.take("stock", "k"); }).allowed, kStockAmount - 5060);
}

TEST(Failover, AClustersMasterIsKilled) {
  support::RedisCluster cluster({.node_timeout = support::RedisCluster::kFailsOver});
  const std::size_t master = cluster.master_of(cluster.slot_of("k"));
  expect_nothing_over(
      cluster.url(), [&] { cluster.await_replicas(); }, [&] { cluster.node(master).kill_hard(); },
      [&] { cluster.await_health(); });
}

TEST(Failover, ASlotMovesUnderLoad) {
  const support::RedisCluster& cluster = support::shared_cluster();
  Limiter limiter = open_when_calm(cluster.url());
  Limiter patient = open(cluster.url() + kPatient).value();
  const auto take = [&] { return limiter.take("stock", "k"); };
  ASSERT_TRUE(patient.define(stock("stock").amount(kStockAmount)).has_value());
  ASSERT_TRUE(support::becomes_true(10s, [&] { return limiter.usage("stock", "k").has_value(); }));
  Load load(kThreads, take);
  const int slot = cluster.slot_of("k");
  std::size_t moved = 0;
  for (Amount moves = 1; moves <= 3; ++moves) {
    load.await_allowed(moves * 500);
    const std::size_t from = cluster.master_of(slot);
    const support::RedisCluster::Move move = {slot, from, (from + 1) % support::RedisCluster::kMasters};
    cluster.begin_move(move);
    load.await_allowed(load.allowed() + 50);
    while (const std::size_t keys = cluster.move_keys(move, 10)) moved += keys;
    load.await_allowed(load.allowed() + 50);
    cluster.end_move(move);
  }
  Tally tally = load.stop();
  tally += exhaust(kThreads, take);
  EXPECT_GE(moved, 3U) << "nothing was there to be moved";
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LT(tally.slowest, kInTime);
  EXPECT_EQ(patient.usage("stock", "k").value().used, kStockAmount);
  EXPECT_LE(tally.allowed, kStockAmount);
  EXPECT_GE(tally.allowed + tally.unavailable, kStockAmount);
}

}  // namespace
}  // namespace mete::faults
