// The link to the master that Sentinels name, against real ones.
#include <thread>

#include "link_fixture.h"
#include "support/redis_sentinels.h"
#include "support/waiting.h"

namespace mete::store::redis {
namespace {

using namespace std::chrono_literals;
using support::becomes_true;

constexpr Duration kFailoverMax = 60s;

TEST(SentinelLink, FollowsTheMaster) {
  support::RedisSentinels world;
  const auto link = must_open(world.url() + "?timeout=10s");
  EXPECT_EQ(text_of(run_one(*link, {"SET", "a", "1"})), "OK");
  EXPECT_EQ(link->status().shape, "sentinel");
  EXPECT_EQ(link->status().nodes, std::vector<std::string>{world.server(0).address()});
  EXPECT_FALSE(link->is_cluster());

  // One Sentinel that is gone is not missed.
  world.sentinel(0).kill_hard();
  EXPECT_EQ(text_of(run_one(*must_open(world.url() + "?timeout=10s"), {"GET", "a"})), "1");
  world.sentinel(0).start_again();

  // The master crashes: until the replica takes over each call ends in time, and then all is well.
  world.server(0).kill_hard();
  EXPECT_TRUE(becomes_true(kFailoverMax, [&] {
    Result<wire::RespValue> reply;
    EXPECT_LT(time_of([&] { reply = run_one(*link, {"SET", "a", "2"}); }), 2s);
    EXPECT_TRUE(reply || reply.error().code == ErrorCode::kUnavailable);
    return reply.has_value();
  }));
  EXPECT_EQ(text_of(world.server(1).call({"GET", "a"})), "2");
  EXPECT_EQ(link->status().nodes, std::vector<std::string>{world.server(1).address()});
  EXPECT_TRUE(link->wait_for_message("news", 1ms).has_value());
}

TEST(SentinelLink, DoesNotWriteToAMasterThatWasDemoted) {
  support::RedisSentinels world;
  const auto link = must_open(world.url() + "?timeout=10s");
  EXPECT_EQ(text_of(run_one(*link, {"SET", "a", "1"})), "OK");
  ASSERT_EQ(world.sentinel(0).call({"SENTINEL", "FAILOVER", "mymaster"}).text, "OK");
  world.await_master(1);
  // The old one goes on taking writes for eight seconds, until it is told; what is written there is lost.
  const std::vector<std::string> expected = {world.server(1).address()};
  EXPECT_TRUE(becomes_true(4s, [&] { return link->status().nodes == expected; }));
  EXPECT_EQ(text_of(run_one(*link, {"SET", "a", "2"})), "OK");
  EXPECT_EQ(text_of(world.server(1).call({"GET", "a"})), "2");
}

TEST(SentinelLink, SaysWhyItCannotBeOpened) {
  support::RedisServer server;
  const struct {
    std::string url;
    std::string_view reason;
  } rows[] = {
      {"redis+sentinel://127.0.0.1:1,127.0.0.1:2/name", "connection refused"},
      {"redis+sentinel://127.0.0.1:1," + server.address() + "/name?timeout=20s", "refused: ERR unknown command"},
  };
  for (const auto& row : rows) {
    const auto link = open_link(row.url, store_scripts());
    ASSERT_FALSE(link) << row.url;
    EXPECT_NE(link.error().message.find(row.reason), std::string::npos) << link.error().message;
  }
  support::RedisSentinels world;
  std::string url = world.url();
  const auto link = open_link(url.replace(url.rfind('/'), std::string::npos, "/other?timeout=20s"), store_scripts());
  ASSERT_FALSE(link);
  EXPECT_NE(link.error().message.find("knows no master of the name \"other\""), std::string::npos)
      << link.error().message;
}

}  // namespace
}  // namespace mete::store::redis
