// The link to a Cluster, against a real one.
#include <thread>

#include "link_fixture.h"
#include "support/redis_cluster.h"
#include "support/waiting.h"

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;
using support::becomes_true;
using support::RedisCluster;

constexpr Duration kClusterPatience = 30s;

std::string key_number(int number) { return "{" + std::to_string(number) + "}"; }

TEST(ClusterLink, SplitsABatchByNodes) {
  RedisCluster& cluster = support::shared_cluster();
  EXPECT_EQ(slot_of("{alice}"), cluster.slot_of("{alice}"));
  const auto link = must_open("redis+cluster://" + cluster.node(4).address() + "?timeout=20s");
  Batch batch;
  constexpr int kKeys = 200;
  for (int i = 0; i < kKeys; ++i) batch.add(key_number(i), {"SET", key_number(i), std::to_string(i)});
  Replies replies;
  link->run(batch, replies);
  for (const auto& reply : replies) ASSERT_EQ(text_of(reply), "OK");
  batch.clear();
  for (int i = 0; i < kKeys; ++i) batch.add(key_number(i), {"GET", key_number(i)});
  link->run(batch, replies);
  for (int i = 0; i < kKeys; ++i) ASSERT_EQ(text_of(replies[static_cast<std::size_t>(i)]), std::to_string(i));

  std::int64_t keys = 0;
  Batch size;
  size.add("", {"DBSIZE"});
  for (std::size_t node = 0; node < RedisCluster::kMasters; ++node) {
    ASSERT_EQ(link->run_on_node(node, size, replies).value(), RedisCluster::kMasters);
    keys += replies[0]->integer;
  }
  EXPECT_EQ(keys, kKeys);
  EXPECT_TRUE(link->is_cluster());
  EXPECT_EQ(link->status().nodes.size(), RedisCluster::kMasters);
  EXPECT_EQ(link->status().shape, "cluster");
}

TEST(ClusterLink, FollowsASlotOnItsWay) {
  RedisCluster& cluster = support::shared_cluster();
  const auto link = must_open(cluster.url() + "?timeout=20s");
  const auto unaware = must_open(cluster.url() + "?timeout=20s");
  const int slot = cluster.slot_of("{a}");
  const std::size_t from = cluster.master_of(slot);
  const RedisCluster::Move move{.slot = slot, .from = from, .to = (from + 1) % RedisCluster::kMasters};
  ASSERT_EQ(text_of(run_one(*link, {"MSET", "{a}1", "1", "{a}2", "2"}, "{a}")), "OK");

  cluster.begin_move(move);
  ASSERT_EQ(cluster.move_keys(move, 1), 1U);
  // Both are found, one of them by ASK; and so is what is new, scripts included.
  EXPECT_EQ(text_of(run_one(*link, {"GET", "{a}1"}, "{a}")), "1");
  EXPECT_EQ(text_of(run_one(*link, {"GET", "{a}2"}, "{a}")), "2");
  EXPECT_EQ(text_of(run_one(*link, {"SET", "{a}3", "3"}, "{a}")), "OK");
  cluster.node(move.to).call({"SCRIPT", "FLUSH"});
  const std::string_view words[] = {"{a}4"};
  Batch batch;
  batch.add_script("{a}", script(StoreScript::kLook), 1, words);
  Replies replies;
  link->run(batch, replies);
  ASSERT_TRUE(replies[0]) << replies[0].error().message;
  EXPECT_FALSE(replies[0]->text.starts_with("NOSCRIPT") || replies[0]->text.starts_with("MOVED"));

  // Both at once are on no node: this must wait.
  const auto hasty = open_when_calm(cluster.url() + "?timeout=300ms");
  expect_refusal(*hasty, "TRYAGAIN", {"MGET", "{a}1", "{a}2"}, "{a}");
  const auto tries = [&] { return std::stoi(cluster.node(move.from).info("errorstat_TRYAGAIN").substr(6)); };
  const int tries_before = tries();
  std::thread mover([&] {
    EXPECT_TRUE(becomes_true(kClusterPatience, [&] { return tries() > tries_before; })) << "it was not asked meanwhile";
    while (cluster.move_keys(move, 10) > 0) {
    }
    cluster.end_move(move);
  });
  const auto later = run_one(*link, {"MGET", "{a}1", "{a}2"}, "{a}");
  ASSERT_TRUE(later) << later.error().message;
  ASSERT_EQ(later->elements.size(), 2U);
  EXPECT_EQ(later->elements[1].text, "2");
  mover.join();
  // The move is over: MOVED, once.
  EXPECT_EQ(text_of(run_one(*link, {"GET", "{a}3"}, "{a}")), "3");
  EXPECT_EQ(text_of(run_one(*unaware, {"GET", "{a}3"}, "{a}")), "3");
}

TEST(ClusterLink, FollowsAReplicaThatTakesOver) {
  RedisCluster cluster({.node_timeout = RedisCluster::kFailsOver});
  const auto link = must_open(cluster.url() + "?timeout=10s");
  const std::size_t master = cluster.master_of(cluster.slot_of("{a}"));
  EXPECT_EQ(text_of(run_one(*link, {"SET", "{a}", "1"}, "{a}")), "OK");
  ASSERT_TRUE(link->wait_for_message("news", 1ms).has_value());
  cluster.node(master).kill_hard();
  EXPECT_TRUE(becomes_true(kClusterPatience, [&] {
    Result<wire::RespValue> reply;
    EXPECT_LT(time_of([&] { reply = run_one(*link, {"SET", "{a}", "2"}, "{a}"); }), 2s);
    EXPECT_TRUE(reply || reply.error().code == ErrorCode::kUnavailable);
    return reply.has_value();
  }));
  cluster.await_health();
  EXPECT_EQ(text_of(run_one(*link, {"GET", "{a}"}, "{a}")), "2");
  EXPECT_TRUE(becomes_true(kClusterPatience, [&] { return link->wait_for_message("news", 1ms).has_value(); }));
}

TEST(ClusterLink, SaysThatTheUrlIsForAnotherShape) {
  support::RedisServer alone;
  const auto no_cluster = open_link("redis+cluster://" + alone.address() + "?timeout=20s", store_scripts());
  ASSERT_FALSE(no_cluster);
  EXPECT_NE(no_cluster.error().message.find("one server alone is redis://host"), std::string::npos)
      << no_cluster.error().message;

  RedisCluster& cluster = support::shared_cluster();
  const std::size_t other = (cluster.master_of(cluster.slot_of("{a}")) + 1) % RedisCluster::kMasters;
  const auto link = must_open("redis://" + cluster.node(other).address() + "?timeout=20s");
  const auto reply = run_one(*link, {"GET", "{a}"}, "{a}");
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message.find("redis+cluster://"), std::string::npos) << reply.error().message;
}

}  // namespace
}  // namespace mete::store::redis
