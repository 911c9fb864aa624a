// Sentinels and a Cluster stand, and survive the loss of a master.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "support/redis_cluster.h"
#include "support/redis_sentinels.h"
#include "support/waiting.h"

namespace mete::support {
namespace {

using namespace std::chrono_literals;

TEST(RedisSentinelsTest, TheReplicaTakesOver) {
  RedisSentinels world;
  EXPECT_EQ(world.server(0).call({"SET", "k", "v"}).text, "OK");
  world.server(0).await_replica();
  EXPECT_EQ(world.server(1).call({"SET", "k", "w"}).text.substr(0, 8), "READONLY");
  world.server(0).kill_hard();
  world.await_master(1);
  EXPECT_EQ(world.server(1).call({"GET", "k"}).text, "v");
  EXPECT_EQ(world.server(1).call({"SET", "k", "w"}).text, "OK");
}

TEST(RedisClusterTest, AReplicaTakesOver) {
  RedisCluster cluster({.node_timeout = RedisCluster::kFailsOver});
  const int slot = cluster.slot_of("k");
  const std::size_t master = cluster.master_of(slot);
  EXPECT_LT(master, RedisCluster::kMasters);
  EXPECT_EQ(cluster.node(master).call({"SET", "k", "v"}).text, "OK");
  cluster.await_replicas();
  cluster.node(master).kill_hard();
  cluster.await_health();
  EXPECT_EQ(cluster.master_of(slot), master + RedisCluster::kMasters);
  EXPECT_EQ(cluster.node(master + RedisCluster::kMasters).call({"GET", "k"}).text, "v");
}

TEST(RedisClusterTest, ASlotMovesInSteps) {
  RedisCluster& cluster = shared_cluster();
  const int slot = cluster.slot_of("k");
  const std::size_t from = cluster.master_of(slot);
  const RedisCluster::Move move = {.slot = slot, .from = from, .to = (from + 1) % RedisCluster::kMasters};
  EXPECT_EQ(cluster.node(move.from).call({"SET", "k", "v"}).text, "OK");
  EXPECT_EQ(cluster.node(move.to).call({"GET", "k"}).text.substr(0, 5), "MOVED");
  cluster.begin_move(move);
  EXPECT_EQ(cluster.node(move.from).call({"GET", "k"}).text, "v");
  EXPECT_EQ(cluster.move_keys(move, 10), 1U);
  EXPECT_EQ(cluster.node(move.from).call({"GET", "k"}).text.substr(0, 3), "ASK");
  cluster.end_move(move);
  EXPECT_EQ(cluster.master_of(slot), move.to);
  EXPECT_EQ(cluster.node(move.to).call({"GET", "k"}).text, "v");
}

TEST(RedisClusterTest, ItStaysWholeWhileTheTimeJumps) {
  RedisCluster& cluster = shared_cluster_on_time();
  const auto pings = [&] {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < RedisCluster::kMasters; ++i) {
      sum += std::stoll(cluster.node(i).cluster_info("cluster_stats_messages_ping_sent"));
    }
    return sum;
  };
  const Instant start = cluster.time();
  EXPECT_EQ(start, kServerStart);
  const RedisServer& master = cluster.node(cluster.master_of(cluster.slot_of("k")));
  for (const Duration jump : {Duration(1us), Duration(24h * 365 * 60), Duration(0s)}) {
    cluster.set_time(start + jump);
    for (std::size_t i = 0; i < RedisCluster::kMasters; ++i) {
      EXPECT_EQ(cluster.node(i).call({"TIME"}).elements.at(0).text, std::to_string(cluster.time().unix_seconds()));
    }
    const std::int64_t before = pings();
    EXPECT_TRUE(becomes_true(20s, [&] { return pings() > before; })) << "they speak with each other";
    cluster.await_health();
    EXPECT_EQ(master.call({"SET", "k", "v"}).text, "OK");
  }
}

}  // namespace
}  // namespace mete::support
