// What the commands on keys answer: counters, quotas and throttles, in RESP2 and, where that differs, in RESP3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/fiber.h"
#include "server/doors/resp/command_table.h"
#include "server/doors/resp/commands/context.h"
#include "unit/server/doors/resp/commands_fixture.h"

namespace mete::server {
namespace {

using ::testing::StartsWith;

class KeyCommandsTest : public testing::CommandsTest {
 protected:
  // Carries a command out on a fiber; what comes behind it is noted in `order` when it has its turn.
  std::string order_beside(const std::vector<std::string_view>& words) {
    net::EventLoop loop;
    net::Fibers fibers(loop);
    std::string order;
    const Command& command = *find_command(words).command;
    fibers.run([&] {
      LoopMetrics metrics(loop);
      base::Output output;
      wire::RespWriter reply(output, wire::RespVersion::k2);
      Arguments arguments;
      EXPECT_TRUE(arguments.read(command, std::span(words).subspan(1)).has_value());
      store::Execution execution;
      CommandContext context{service, {nullptr, store, execution}, arguments, reply, metrics, nullptr, true};
      command.handler(context);
      order += "command ";
    });
    fibers.run([&] { order += "other "; });
    while (fibers.under_way() > 0) {
      loop.stop();
      loop.run();
    }
    return order;
  }
};

// A thousand keys at a time, others have their turn.
TEST_F(KeyCommandsTest, WhatGoesThroughManyKeysLetsOthersGoFirst) {
  std::vector<std::string> names;
  for (int i = 0; i < 2'500; ++i) names.push_back("key " + std::to_string(i));
  store::Execution execution;
  for (const std::string& name : names) {
    EXPECT_TRUE(store.run(core::AddToCounter{.key = name, .by = 1}, execution).has_value());
  }
  for (const std::string_view command : {"MGET", "EXISTS", "DEL"}) {
    std::vector<std::string_view> words{command};
    words.insert(words.end(), names.begin(), names.begin() + 999);
    EXPECT_EQ(order_beside(words), "command other ") << command;
    words.insert(words.end(), names.begin() + 999, names.end());
    EXPECT_EQ(order_beside(words), "other command ") << command;
  }
  EXPECT_EQ(order_beside({"KEYS", "*"}), "other command ");
}

TEST_F(KeyCommandsTest, Counters) {
  expect({
      {"GET a", "nil"},
      {"SET a 5", "+OK"},
      {"GET a", "\"5\""},
      {"SET a x", "-ERR value is not an integer or out of range"},
      {"SET a 6 NX", "nil"},
      {"SET a 6 XX GET", "\"5\""},
      {"SET b 1 XX", "nil"},
      {"SET b 1 NX GET", "nil"},
      {"INCR a", "7"},
      {"INCRBY a 10", "17"},
      {"DECR a", "16"},
      {"DECRBY a 6", "10"},
      {"INCRBY a 9223372036854775807", "-ERR increment or decrement would overflow"},
      {"DECRBY a -9223372036854775808", "-ERR decrement would overflow"},
      {"MGET a b c", "[\"10\", \"1\", nil]"},
      {"EXISTS a a c", "2"},
      {"TYPE a", "+string"},
      {"TYPE c", "+none"},
      {"TTL a", "-1"},
      {"TTL c", "-2"},
      {"EXPIRE a 100", "1"},
      {"TTL a", "100"},
      {"PTTL a", "100000"},
      {"PEXPIRE a 1500", "1"},
      {"TTL a", "2"},
      {"PEXPIRE a 1499", "1"},
      {"TTL a", "1"},
      {"EXPIREAT a 1700000060", "1"},
      {"TTL a", "60"},
      {"PERSIST a", "1"},
      {"PERSIST a", "0"},
      {"EXPIRE c 5", "0"},
      {"SET e 1", "+OK"},
      {"EXPIRE e 100 XX", "0"},
      {"EXPIRE e 100 GT", "0"},
      {"EXPIRE e 100 XX LT", "0"},
      {"TTL e", "-1"},
      {"EXPIRE e 100 nx", "1"},
      {"EXPIRE e 200 NX", "0"},
      {"EXPIRE e 90 GT", "0"},
      {"PEXPIRE e 100001 xx GT", "1"},
      {"EXPIREAT e 1700000100 LT", "1"},
      {"TTL e", "100"},
      {"EXPIRE e 101 LT", "0"},
      {"EXPIRE e 99 XX LT XX", "1"},
      {"TTL e", "99"},
      {"EXPIRE e 0 GT", "0"},
      {"EXPIRE e 5 NX XX", "-ERR NX and XX, GT or LT options at the same time are not compatible"},
      {"EXPIRE e 5 LT NX", "-ERR NX and XX, GT or LT options at the same time are not compatible"},
      {"PEXPIRE e 5 GT LT", "-ERR GT and LT options at the same time are not compatible"},
      {"EXPIREAT nobody 5 SOON", "-ERR Unsupported option SOON"},
      {"TTL e", "99"},
      {"EXPIRE e 0 LT", "1"},
      {"TTL e", "-2"},
      {"SET a 1 EX 10", "+OK"},
      {"PTTL a", "10000"},
      {"SET a 2 KEEPTTL", "+OK"},
      {"PTTL a", "10000"},
      {"SET a 2 PXAT 1700000000500", "+OK"},
      {"PTTL a", "500"},
      {"SET a 2 EX 0", "-ERR invalid expire time in 'set' command"},
      {"SET a 2 EX 9223372036854775807", "-ERR invalid expire time in 'set' command"},
      {"EXPIRE a 9223372036854775807", "-ERR invalid expire time in 'expire' command"},
      {"SET a 2 EX 5 PX 5", "-ERR syntax error"},
      {"SET a 2 NX XX", "-ERR syntax error"},
      {"EXPIREAT a 9999999999", "1"},
      {"TTL a", "8299999999"},
      {"EXPIRETIME a", "9999999999"},
      {"EXPIRE a 9999999999", "1"},
      {"PTTL a", "9999999999000"},
      {"PEXPIREAT a 18446744073709", "1"},
      {"PEXPIRETIME a", "18446744073709"},
      {"PEXPIREAT a 18446744073710", "-ERR invalid expire time in 'pexpireat' command"},
      {"EXPIREAT a -9223372036854775807", "-ERR invalid expire time in 'expireat' command"},
      {"PEXPIREAT a 1700000000500 LT", "1"},
      {"PTTL a", "500"},
      {"EXPIRETIME a", "1700000001"},
      {"PEXPIRETIME a", "1700000000500"},
      {"PEXPIRETIME nope", "-2"},
      {"SET s 1", "+OK"},
      {"EXPIRETIME s", "-1"},
      {"SETNX s 2", "0"},
      {"SETNX s2 2", "1"},
      {"SETEX s 100 3", "+OK"},
      {"TTL s", "100"},
      {"PSETEX s 1500 4", "+OK"},
      {"PTTL s", "1500"},
      {"SETEX s 0 5", "-ERR invalid expire time in 'setex' command"},
      {"PSETEX s -1 5", "-ERR invalid expire time in 'psetex' command"},
      {"SETEX s x 5", "-ERR value is not an integer or out of range"},
      {"SETEX s 5 x", "-ERR value is not an integer or out of range"},
      {"MGET s s2", "[\"4\", \"2\"]"},
      {"INFO keyspace", "\"# Keyspace\\r\\ndb0:keys=4,expires=2\\r\\n\""},
      {"UNLINK s s2 s3", "2"},
      {"GETDEL a", "\"2\""},
      {"GETDEL a", "nil"},
      {"SET a 1", "+OK"},
      {"EXPIRE a -1", "1"},
      {"EXISTS a", "0"},
      {"DEL a b c", "1"},
      {"DBSIZE", "0"},
      {"INCREX n", "[1, 1]"},
      {"INCREX n BYINT 5 UBOUND 4", "[1, 0]"},
      {"INCREX n BYINT 5 UBOUND 4 SATURATE", "[4, 3]"},
      {"INCREX n BYINT -9 LBOUND 0 SATURATE EX 10", "[0, -4]"},
      {"INCREX n EX 100 ENX", "[1, 1]"},
      {"TTL n", "10"},
      {"INCREX n PERSIST", "[2, 1]"},
      {"TTL n", "-1"},
      {"INCREX n ENX", "-ERR ENX needs one of EX, PX, EXAT and PXAT"},
      {"INCREX n LBOUND 5 UBOUND 4", "-ERR LBOUND is above UBOUND"},
      {"INCREX n BYFLOAT 0.5", "-ERR syntax error"},
  });
}

// An error changes nothing: not even the keys that came before the bad one.
TEST_F(KeyCommandsTest, ABadKeyAmongOthersRemovesNone) {
  expect({{"SET a 1", "+OK"}});
  EXPECT_THAT(client.ask("DEL a " + std::string(513, 'k')), StartsWith("-ERR key"));
  expect({{"EXISTS a", "1"}});
}

TEST_F(KeyCommandsTest, KeysAreListed) {
  expect({
      {"SET a:1 1", "+OK"},
      {"SET b:1 1", "+OK"},
      {"QUOTASET a:2 5 60", "+OK"},
      {"KEYS b*", "[\"b:1\"]"},
      {"KEYS [^ab]*", "[]"},
      {"SCAN 0 MATCH b* COUNT 1000", "[\"0\", [\"b:1\"]]"},
      {"SCAN 0 TYPE QUOTA COUNT 1000", "[\"0\", [\"a:2\"]]"},
      {"SCAN 0 MATCH " + std::string(1025, '*'), "-ERR a pattern may have 1024 bytes"},
      {"KEYS " + std::string(1025, '*'), "-ERR a pattern may have 1024 bytes"},
      {"SCAN x", "-ERR invalid cursor"},
      {"SCAN \"\"", "-ERR invalid cursor"},
      {"SCAN -1", "-ERR invalid cursor"},
      {"SCAN 0 COUNT 0", "-ERR syntax error"},
      {"SCAN 0 MATCH b* COUNT 9223372036854775807", "[\"0\", [\"b:1\"]]"},
      {"DBSIZE", "3"},
      {"FLUSHDB ASYNC", "+OK"},
      {"DBSIZE", "0"},
  });
}

TEST_F(KeyCommandsTest, QuotasAndThrottles) {
  expect({
      {"QUOTAGET q", "nil"},
      {"QUOTASET q 3 60", "+OK"},
      {"QUOTAGET q", "[3, 60, 3]"},
      {"INCR q", "2"},
      {"INCRBY q 3", "-1"},
      {"GET q", "\"2\""},
      {"QUOTASET q 5 60", "+OK"},
      {"QUOTAGET q", "[5, 60, 4]"},
      {"TYPE q", "+quota"},
      {"QUOTAINCR q 5 60", "3"},
      {"QUOTAINCR q2 5 60 5", "0"},
      {"QUOTAINCR q2 5 60", "-1"},
      {"QUOTADEL q", "+OK"},
      {"QUOTADEL q", "+OK"},
      {"QUOTAGET q", "nil"},
      {"CL.THROTTLE t 15 30 60", "[0, 16, 15, -1, 2]"},
      {"CL.THROTTLE t 15 30 60 15", "[0, 16, 0, -1, 32]"},
      {"CL.THROTTLE t 15 30 60", "[1, 16, 0, 2, 32]"},
      {"CL.THROTTLE t 15 30 60 0", "[0, 16, 0, -1, 32]"},
      {"CL.THROTTLE t 15 30 60 17", "[1, 16, 0, -1, 32]"},
      {"TYPE t", "+throttle"},
      {"THROTTLE u 10 10 60", "[1, 10, 9, 6, 0]"},
      {"THROTTLE u 10 10 60 10", "[0, 10, 9, 6, 6]"},
      {"GCRA v 1 1 0.5", "[0, 2, 1, -1, 1]"},
      {"GCRA v 1 1 0.5 TOKENS 2", "[1, 2, 1, 1, 1]"},
      {"GCRA v 1 1 x", "-ERR value is not a valid number of seconds"},
      {"CL.THROTTLE w 9223372036854775807 1 1", "-ERR max_burst is out of range"},
      {"CL.THROTTLE w -1 1 1", "-ERR max_burst is out of range"},
  });
  for (const std::string request : {"DECR q2", "QUOTASET x 5 9223372036854775807", "QUOTASET x 5 0", "QUOTASET x -1 1",
                                    "CL.THROTTLE w 1 1 9223372036854775807", "CL.THROTTLE w 1 1 -5", "THROTTLE w 0 1 1",
                                    "GCRA v 1 1 0", "CL.THROTTLE w 1 1 1 -1"}) {
    EXPECT_THAT(client.ask(request), StartsWith("-ERR ")) << request;
  }
  EXPECT_THAT(client.ask("GETDEL t"), StartsWith("-WRONGTYPE "));
  expect({{"MGET t", "[nil]"}});
}

}  // namespace
}  // namespace mete::server
