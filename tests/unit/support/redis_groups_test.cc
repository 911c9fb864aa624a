// Sentinels and a Cluster stand, and survive the loss of a master.
#include <gtest/gtest.h>

#include <string>

#include "support/redis_cluster.h"
#include "support/redis_sentinels.h"

namespace mete::support {
namespace {

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
  RedisCluster cluster(RedisCluster::kFailsOver);
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

}  // namespace
}  // namespace mete::support
