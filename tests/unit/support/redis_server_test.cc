// The servers that tests run against do what tests rely on.
#include "support/redis_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace mete::support {
namespace {

using namespace std::chrono_literals;

// What TIME says, asked directly and inside a script, in microseconds.
std::vector<std::uint64_t> times_of(const RedisServer& server) {
  std::vector<std::uint64_t> times;
  for (const auto& told : {server.call({"TIME"}), server.call({"EVAL", "return redis.call('TIME')", "0"})}) {
    EXPECT_EQ(told.elements.size(), 2U);
    times.push_back(std::stoull(told.elements[0].text) * 1'000'000 + std::stoull(told.elements[1].text));
  }
  return times;
}

TEST(RedisServerTest, AnswersAndGoesOnAfterEachWayToEnd) {
  RedisServer server;
  const auto port = server.port();
  EXPECT_EQ(server.call({"PING"}).text, "PONG");
  EXPECT_EQ(server.call({"SET", "k", "v"}).text, "OK");
  server.kill_hard();
  server.start_again();
  EXPECT_EQ(server.port(), port);
  EXPECT_EQ(server.call({"EXISTS", "k"}).integer, 0) << "nothing is kept on disk";
  server.stop();
  server.start_again();
  server.pause();
  server.resume();
  EXPECT_EQ(server.call({"PING"}).text, "PONG");
}

TEST(RedisServerTest, ArgumentsAreTheServersOwn) {
  const RedisServer server({.arguments = {"--maxmemory", "4mb", "--appendonly", "yes"}});
  EXPECT_EQ(server.call({"CONFIG", "GET", "maxmemory"}).elements[1].text, "4194304");
  EXPECT_EQ(server.call({"CONFIG", "GET", "appendonly"}).elements[1].text, "yes");
}

TEST(RedisServerTest, ABadArgumentIsToldInItsWords) {
  try {
    const RedisServer server({.arguments = {"--no-such-setting", "1"}});
    FAIL() << "it started";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-setting"), std::string::npos) << error.what();
  }
}

TEST(RedisServerTest, TimeIsWhatTheTestSays) {
  RedisServer server({.arguments = {}, .has_settable_clock = true});
  EXPECT_EQ(times_of(server), (std::vector<std::uint64_t>{1'700'000'123'456'789, 1'700'000'123'456'789}));
  // 1970, 2023, 2200, and as far as Lua's numbers are whole: 2^53 - 1 µs. Backwards too.
  for (const std::uint64_t us : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{999'999}, std::uint64_t{1'000'000},
                                 std::uint64_t{1'700'000'000'000'001}, std::uint64_t{7'258'118'400'000'000},
                                 std::uint64_t{9'007'199'254'740'991}, std::uint64_t{1}}) {
    server.set_time(Instant::from_ns(us * 1000));
    EXPECT_EQ(times_of(server), (std::vector<std::uint64_t>{us, us}));
    // A key expires when that time has come, and not before.
    EXPECT_EQ(server.call({"SET", "k", "v", "PX", "100"}).text, "OK");
    EXPECT_EQ(server.call({"PTTL", "k"}).integer, 100);
    server.set_time(server.time() + 99ms);
    EXPECT_EQ(server.call({"EXISTS", "k"}).integer, 1) << us;
    server.set_time(server.time() + 2ms);
    EXPECT_EQ(server.call({"EXISTS", "k"}).integer, 0) << us;
  }
}

TEST(RedisServerTest, TimeThatGoesBackKeepsKeysForLonger) {
  RedisServer server({.arguments = {}, .has_settable_clock = true});
  EXPECT_EQ(server.call({"SET", "k", "v", "PX", "100"}).text, "OK");
  server.set_time(kServerStart + -1h);
  EXPECT_EQ(server.call({"PTTL", "k"}).integer, 3'600'100);
  server.set_time(kServerStart + 1h);
  EXPECT_EQ(server.call({"EXISTS", "k"}).integer, 0);
}

TEST(RedisServerTest, TimeStandsWhileItIsDown) {
  RedisServer server({.arguments = {}, .has_settable_clock = true});
  server.set_time(kServerStart + 5s);
  server.kill_hard();
  server.start_again();
  EXPECT_EQ(times_of(server)[0], 1'700'000'128'456'789U);
}

TEST(RedisServerTest, TheSharedOneIsAsNewWhateverATestHasDoneToIt) {
  RedisServer& server = shared_redis();
  EXPECT_EQ(server.call({"SET", "k", "v", "PX", "100"}).text, "OK");
  server.set_time(kServerStart + 5s);
  EXPECT_EQ(shared_redis().call({"DBSIZE"}).integer, 0);
  EXPECT_EQ(server.time(), kServerStart);
  server.kill_hard();
  EXPECT_EQ(&shared_redis(), &server);
  EXPECT_EQ(server.call({"PING"}).text, "PONG");
  EXPECT_EQ(times_of(server)[0], 1'700'000'123'456'789U);
}

}  // namespace
}  // namespace mete::support
