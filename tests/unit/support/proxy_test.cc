// The proxy does what its name for each fault says.
#include "support/proxy.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <stdexcept>

#include "support/ports.h"
#include "support/redis_client.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace mete::support {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class ProxyTest : public ::testing::Test {
 protected:
  RedisServer server_;
  Proxy proxy_{server_.port()};
};

TEST_F(ProxyTest, PassesBothWays) {
  RedisClient client(proxy_.port());
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(client.call({"SET", "k", large}).text, "OK");
  EXPECT_EQ(client.call({"GET", "k"}).text, large);
  EXPECT_EQ(proxy_.accepted(), 1U);
}

TEST_F(ProxyTest, DelaysReplies) {
  RedisClient client(proxy_.port());
  proxy_.delay_replies(60ms);
  const auto start = steady_clock::now();
  EXPECT_EQ(client.call({"PING"}).text, "PONG");
  EXPECT_GE(steady_clock::now() - start, 60ms);
}

TEST_F(ProxyTest, CutsWhatIsConnectedNow) {
  RedisClient cut(proxy_.port());
  EXPECT_EQ(cut.call({"PING"}).text, "PONG");
  proxy_.cut();
  EXPECT_THROW(cut.call({"PING"}), std::runtime_error);
  EXPECT_EQ(RedisClient(proxy_.port()).call({"PING"}).text, "PONG");
}

TEST_F(ProxyTest, CutsWhenTheReplyComes) {
  proxy_.cut_at_replies();
  EXPECT_THROW(RedisClient(proxy_.port()).call({"INCR", "n"}), std::runtime_error);
  proxy_.pass();
  EXPECT_EQ(RedisClient(proxy_.port()).call({"GET", "n"}).text, "1") << "the request must have arrived";
}

TEST_F(ProxyTest, RefusesAndAcceptsAgain) {
  RedisClient connected(proxy_.port());
  proxy_.refuse();
  EXPECT_THROW(connected.call({"PING"}), std::runtime_error);
  EXPECT_THROW(RedisClient(proxy_.port()), std::runtime_error);
  proxy_.pass();
  EXPECT_EQ(RedisClient(proxy_.port()).call({"PING"}).text, "PONG");
}

TEST_F(ProxyTest, SwallowsReplies) {
  const net::Descriptor client = connect_to(proxy_.port());
  const auto ask = [&](std::string_view line) {
    EXPECT_EQ(::send(client.get(), line.data(), line.size(), 0), static_cast<ssize_t>(line.size()));
  };
  proxy_.swallow_replies();
  ask("INCR n\r\n");
  ASSERT_TRUE(becomes_true(10s, [&] { return server_.call({"GET", "n"}).text == "1"; }));
  server_.call({"PING"});  // one more round of its loop: the reply to INCR has left it
  proxy_.pass();
  ask("PING\r\n");
  char reply[16] = {};
  EXPECT_EQ(::recv(client.get(), reply, sizeof(reply), 0), 7);
  EXPECT_STREQ(reply, "+PONG\r\n");
}

}  // namespace
}  // namespace mete::support
