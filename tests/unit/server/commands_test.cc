// What each command answers, in RESP2 and, where that differs, in RESP3.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/command_table.h"
#include "unit/server/resp_fixture.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CommandsTest : public testing::RespServerFixture {
 protected:
  struct Exchange {
    std::string request;
    std::string reply;
  };

  // HELLO's own answer is looked at elsewhere.
  void expect(const std::vector<Exchange>& exchanges) {
    for (const Exchange& exchange : exchanges) {
      const std::string reply = client.ask(exchange.request);
      if (exchange.request != "HELLO 3") {
        EXPECT_EQ(reply, exchange.reply) << exchange.request;
      }
    }
  }

  testing::RespClient client = connect();
};

TEST_F(CommandsTest, Decisions) {
  define(bucket("api").amount(10).per(1s));
  define(stock("storage").amount(100));
  define(stock("trial").amount(1).shadow());
  expect({
      {"TAKE api alice", "[1, 9, 10, 0, 100, []]"},
      {"take api alice cost 9", "[1, 0, 10, 0, 1000, []]"},
      {"TAKE api alice", "[0, 0, 10, 100, 1000, [\"api\"]]"},
      {"TAKE api alice COST 11", "[0, 0, 10, -1, 1000, [\"api\"]]"},
      {"PEEK api bob COST 10", "[1, 0, 10, 0, 1000, []]"},
      {"PEEK api bob", "[1, 9, 10, 0, 100, []]"},
      {"TAKE api bob COST 4 AND storage bob COST 40", "[1, 6, 10, 0, 400, []]"},
      {"TAKE api bob AND storage bob COST 61", "[0, 6, 10, -1, 400, [\"storage\"]]"},
      {"TAKE api bob COST 7 AND storage bob COST 61", "[0, 6, 10, -1, 400, [\"api\", \"storage\"]]"},
      {"TAKE storage bob COST 70 AND storage bob COST 70", "[0, 60, 100, -1, -1, [\"storage\"]]"},
      {"TAKE storage bob COST 70 UPTO", "[60, 0, 100, 0, -1, []]"},
      {"TAKE storage bob UPTO", "[0, 0, 100, -1, -1, [\"storage\"]]"},
      {"TAKE storage bob COST 5 FORCE", "[1, 0, 100, 0, -1, []]"},
      {"TAKE trial x COST 2", "[1, 1, 1, 0, -1, [\"trial\"]]"},
      {"TAKE api carol ID op-1", "[1, 9, 10, 0, 100, []]"},
      {"TAKE api carol ID op-1", "[1, 9, 10, 0, 100, []]"},
      {"USAGE api carol", "[1, 0, 9, 10, 100]"},
      {"TAKE api carol COST 2 ID op-1",
       "-MISMATCH id 'op-1' was used for an operation with other parameters: give each operation an id of its own"},
      {"GIVE storage bob COST 15", "[15, 10, 100]"},
      {"GIVE storage bob COST 100 ID give-1", "[90, 100, 100]"},
      {"GIVE storage bob COST 100 ID give-1", "[90, 100, 100]"},
      {"USAGE storage bob", "[0, 0, 100, 100, -1]"},
      {"RECONCILE storage bob 30", "[0, 30]"},
      {"USAGE storage bob", "[30, 0, 70, 100, -1]"},
      {"TAKE nope x", "-NOLIMIT unknown limit 'nope'"},
      {"USAGE nope x", "-NOLIMIT unknown limit 'nope'"},
      {"TAKE api x ID \"\"", "-ERR id must not be empty"},
      {"GIVE api x ID \"\"", "-ERR id must not be empty"},
      {"TAKE api x UPTO FORCE", "-ERR syntax error"},
      {"TAKE api x AND", "-ERR syntax error"},
      {"TAKE api x COST 1 COST 1", "-ERR syntax error"},
      {"RECONCILE storage bob x", "-ERR value is not an integer or out of range"},
  });
}

TEST_F(CommandsTest, Holds) {
  define(stock("credits").amount(10));
  expect({
      {"HOLD credits al COST 4 TTL 1m ID h1 TAG job", "[1, \"h1\", 6, 10, 0, -1, []]"},
      {"HOLD credits al COST 7 TTL 1m ID h2", "[0, \"h2\", 6, 10, 60000, -1, [\"credits\"]]"},
      {"HOLD credits al COST 7 TTL 1m", "[0, \"\", 6, 10, 60000, -1, [\"credits\"]]"},
      {"HOLD.GET h1",
       "[\"state\", \"held\", \"expires_in_ms\", 60000, \"tag\", \"job\", \"charges\", [[\"credits\", \"al\", 4]]]"},
      {"HOLDS credits al", "[\"h1\"]"},
      {"HOLDS credits al COUNT 1", "[\"h1\"]"},
      {"HOLDS credits nobody", "[]"},
      {"HOLDS TAG job", "[\"h1\"]"},
      {"HOLDS TAG other", "[]"},
      {"EXTEND h1 TTL 2m", "120000"},
      {"USAGE credits al", "[0, 4, 6, 10, -1]"},
      {"COMMIT h1 5", "-EXCEEDS amount 5 for 'credits' exceeds the 4 held: commit less, or allow overage"},
      {"COMMIT h1 3", "[3, 7, 10]"},
      {"HOLD credits al COST 2 TTL 1m ID h3", "[1, \"h3\", 5, 10, 0, -1, []]"},
      {"CANCEL h3", "[2, 7, 10]"},
      {"HOLD.GET nope", "nil"},
      {"COMMIT nope", "-NOHOLD no hold 'nope': it is unknown, or was forgotten"},
      {"HOLD credits al", "-ERR wrong number of arguments for 'hold' command"},
      {"HOLD credits al ID x", "-ERR HOLD needs TTL duration: how long the hold lasts if nobody ends it"},
      {"HOLD credits al TTL 1m ID \"\"", "-ERR id must not be empty"},
      {"HOLDS credits al COUNT 0", "-ERR COUNT must be from 1 to 100000"},
      {"COMMIT h3 x", "-ERR value is not an integer or out of range"},
      {"COMMIT h3 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", "-ERR more amounts than a hold can have charges"},
      {"EXTEND h3", "-ERR wrong number of arguments for 'extend' command"},
      {"EXTEND h3 1 2", "-ERR syntax error"},
      {"HELLO 3", ""},
      {"HOLD credits al TTL 1h ID h4", "[1, \"h4\", 6, 10, 0, -1, []]"},
      {"HOLD.GET h4",
       "{\"state\": \"held\", \"expires_in_ms\": 3600000, \"tag\": \"\", \"charges\": [[\"credits\", \"al\", 1]]}"},
      {"HOLD.GET nope", "nil"},
  });
}

TEST_F(CommandsTest, Limits) {
  expect({
      {"LIMIT LIST", "[]"},
      {"LIMIT SET api BUCKET 100 PER 1m BURST 200", "+OK"},
      {"LIMIT SET links calendar 20 per MONTH zone Europe/Berlin anchor 15", "+OK"},
      {"LIMIT SET storage STOCK 5 SHADOW", "+OK"},
      {"LIMIT LIST", "[\"api\", \"links\", \"storage\"]"},
      {"LIMIT GET api",
       "[\"name\", \"api\", \"kind\", \"bucket\", \"amount\", 100, \"period\", \"1m\", \"burst\", 200]"},
      {"LIMIT GET links",
       "[\"name\", \"links\", \"kind\", \"calendar\", \"amount\", 20, \"period\", \"month\", \"zone\", "
       "\"Europe/Berlin\", "
       "\"anchor\", 15]"},
      {"LIMIT GET storage", "[\"name\", \"storage\", \"kind\", \"stock\", \"amount\", 5, \"shadow\", 1]"},
      {"LIMIT GET nope", "nil"},
      {"LIMIT OVERRIDE storage vip 50", "+OK"},
      {"PEEK storage vip COST 50", "[1, 0, 50, 0, -1, []]"},
      {"LIMIT OVERRIDE storage vip none", "+OK"},
      {"PEEK storage vip", "[1, 4, 5, 0, -1, []]"},
      {"LIMIT OVERRIDE storage vip x", "-ERR value is not an integer or out of range"},
      {"LIMIT OVERRIDE nope vip 5", "-NOLIMIT unknown limit 'nope'"},
      {"LIMIT DEL storage", "1"},
      {"LIMIT DEL storage", "0"},
      {"LIMIT SET x PER 1m",
       "-ERR LIMIT SET needs a kind and an amount: BUCKET n, WINDOW n, SLIDING n, CALENDAR n or STOCK n"},
      {"LIMIT SET x STOCK 5 BUCKET 5", "-ERR syntax error"},
      {"LIMIT SET x STOCK 5 STOCK 5", "-ERR syntax error"},
      {"LIMIT SET x STOCK", "-ERR wrong number of arguments for 'limit|set' command"},
      {"LIMIT SET x BUCKET 10 PER 1M",
       "-ERR period: \"1M\" is not a duration: unknown unit; write it as 250ms, 1s, 5m, 1h or 30d"},
      {"LIMIT SET x CALENDAR 10 PER Day", "+OK"},
      {"LIMIT DEL x", "1"},
      {"LIMIT SET Tag STOCK 5", "-ERR limit name must not be 'Tag': HOLDS TAG lists the holds with a tag"},
      {"HELLO 3", ""},
      {"LIMIT GET api",
       "{\"name\": \"api\", \"kind\": \"bucket\", \"amount\": 100, \"period\": \"1m\", \"burst\": 200}"},
      {"LIMIT GET nope", "nil"},
  });
  EXPECT_THAT(client.ask("LIMIT SET x BUCKET 5"), StartsWith("-ERR "));
  EXPECT_THAT(client.ask("LIMIT SET x STOCK 0"), StartsWith("-ERR "));
  EXPECT_THAT(client.ask("LIMIT HELP"), HasSubstr("+LIMIT DEL name, +    Removes a limit and its meters"));
}

TEST_F(CommandsTest, Counters) {
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
TEST_F(CommandsTest, ABadKeyAmongOthersRemovesNone) {
  expect({{"SET a 1", "+OK"}});
  EXPECT_THAT(client.ask("DEL a " + std::string(513, 'k')), StartsWith("-ERR key"));
  expect({{"EXISTS a", "1"}});
}

TEST_F(CommandsTest, KeysAreListed) {
  expect({
      {"SET a:1 1", "+OK"},
      {"SET b:1 1", "+OK"},
      {"QUOTASET a:2 5 60", "+OK"},
      {"KEYS b*", "[\"b:1\"]"},
      {"KEYS [^ab]*", "[]"},
      {"SCAN 0 MATCH b* COUNT 1000", "[\"0\", [\"b:1\"]]"},
      {"SCAN 0 TYPE QUOTA COUNT 1000", "[\"0\", [\"a:2\"]]"},
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

TEST_F(CommandsTest, QuotasAndThrottles) {
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

TEST_F(CommandsTest, Connection) {
  expect({
      {"PING", "+PONG"},
      {"PING hi", "\"hi\""},
      {"ECHO \"a b\"", "\"a b\""},
      {"SELECT 0", "+OK"},
      {"SELECT 1", "-ERR DB index is out of range"},
      {"CLIENT ID", "1"},
      {"CLIENT GETNAME", "nil"},
      {"CLIENT SETNAME joe", "+OK"},
      {"CLIENT GETNAME", "\"joe\""},
      {"CLIENT SETNAME \"a b\"", "-ERR Client names cannot contain spaces, newlines or special characters."},
      {"CLIENT SETINFO LIB-NAME lib", "+OK"},
      {"CLIENT SETINFO lib-ver 1.2", "+OK"},
      {"CLIENT SETINFO FOO 1", "-ERR Unrecognized option 'FOO'"},
      {"HELLO 2 FOO", "-ERR Syntax error in HELLO option 'FOO'"},
      {"AUTH default anything", "+OK"},
      {"AUTH nobody x", "-WRONGPASS invalid username-password pair or user is disabled."},
      {"HELLO 2 AUTH nobody x", "-WRONGPASS invalid username-password pair or user is disabled."},
      {"AUTH x",
       "-ERR AUTH <password> called without any password configured for the default user. Are you sure your "
       "configuration is correct?"},
      {"CLIENT KILL 1.2.3.4:5", "-ERR No such client"},
      {"CLIENT KILL ID 99", "0"},
      {"CLIENT KILL ID 1", "0"},
      {"CLIENT KILL ID 0", "-ERR client-id should be greater than 0"},
      {"CLIENT KILL ID 1 FOO", "-ERR syntax error"},
      {"CLIENT KILL ID 1 FOO x", "-ERR syntax error"},
      {"CLIENT KILL TYPE pubsub", "0"},
      {"CLIENT KILL TYPE foo", "-ERR Unknown client type 'foo'"},
      {"CLIENT KILL USER use SKIPME no", "0"},
      {"CLIENT KILL USER default", "0"},
      {"CLIENT KILL USER joe", "-ERR No such user 'joe'"},
      {"CLIENT LIST TYPE pubsub", "\"\""},
      {"CLIENT LIST TYPE foo", "-ERR Unknown client type 'foo'"},
      {"CLIENT LIST ID 2 3", "\"\""},
      {"CLIENT LIST ID x", "-ERR Invalid client ID"},
      {"CLIENT LIST ID", "-ERR syntax error"},
      {"CLIENT LIST FOO 1", "-ERR syntax error"},
  });
  const std::string info = client.ask("CLIENT INFO");
  EXPECT_THAT(info,
              HasSubstr("id=1 addr=127.0.0.1:40001 laddr=127.0.0.1:6380 fd=5 name=joe age=0 idle=0 flags=N db=0 "));
  EXPECT_THAT(info, HasSubstr(" user=default redir=-1 resp=2 lib-name=lib lib-ver=1.2 cmd=client|info"));
  for (const std::string request : {"CLIENT LIST", "CLIENT LIST TYPE NORMAL", "CLIENT LIST ID 7 1"}) {
    EXPECT_THAT(client.ask(request), HasSubstr("cmd=client|list")) << request;
  }
  EXPECT_THAT(client.ask("HELLO 2 AUTH default anything"), StartsWith("[\"server\", \"mete\""));
  expect({{"QUIT", "+OK"}});
  EXPECT_EQ(client.next(), "(closed)");
}

TEST_F(CommandsTest, ClientsCanBeKilled) {
  auto victim = connect();
  EXPECT_EQ(victim.ask("CLIENT ID"), "2");
  EXPECT_EQ(client.ask("CLIENT KILL 127.0.0.1:40002"), "+OK");
  EXPECT_EQ(victim.next(), "(closed)");
  auto other = connect();
  EXPECT_EQ(other.ask("CLIENT ID"), "3");
  EXPECT_EQ(client.ask("CLIENT KILL LADDR 127.0.0.1:6380"), "1");
  EXPECT_EQ(other.next(), "(closed)");
  auto third = connect();
  EXPECT_EQ(third.ask("CLIENT ID"), "4");
  EXPECT_EQ(client.ask("CLIENT KILL TYPE normal USER default"), "1");
  EXPECT_EQ(third.next(), "(closed)");
  EXPECT_EQ(client.ask("CLIENT KILL ID 1 SKIPME no"), "1");
  EXPECT_EQ(client.next(), "(closed)");
}

TEST_F(CommandsTest, Server) {
  expect({
      {"TIME", "[\"1700000000\", \"0\"]"},
      {"LASTSAVE", "1700000000"},
      {"SAVE", "-ERR nothing to save to: the data is in memory only, or in a store of its own"},
      {"BGSAVE", "-ERR nothing to save to: the data is in memory only, or in a store of its own"},
      {"CONFIG GET maxclients", "[\"maxclients\", \"10000\"]"},
      {"CONFIG GET server.slowlog_threshold databases",
       "[\"server.slowlog_threshold\", \"10ms\", \"databases\", \"1\"]"},
      {"CONFIG GET nope", "[]"},
      {"CONFIG SET server.slowlog_threshold 5ms", "+OK"},
      {"CONFIG GET slowlog-log-slower-than", "[\"slowlog-log-slower-than\", \"5000\"]"},
      {"CONFIG SET nope 1", "-ERR unknown setting \"nope\": CONFIG GET * lists them"},
      {"CONFIG SET server.threads 2", "-ERR server.threads can only be set when the server starts"},
      {"CONFIG SET server.slowlog_threshold", "-ERR wrong number of arguments for 'config|set' command"},
      {"CONFIG GET slowlog-log-slower-than", "[\"slowlog-log-slower-than\", \"5000\"]"},
      {"CONFIG SET slowlog-log-slower-than -1", "+OK"},
      {"CONFIG GET server.slowlog_threshold slow*",
       "[\"server.slowlog_threshold\", \"0s\", \"slowlog-log-slower-than\", \"-1\"]"},
      {"CONFIG SET slowlog-log-slower-than 0", "+OK"},
      {"CONFIG GET server.slowlog_threshold slow*",
       "[\"server.slowlog_threshold\", \"1ns\", \"slowlog-log-slower-than\", \"0\"]"},
      {"CONFIG SET slowlog-log-slower-than 2500 MaxClients 77", "+OK"},
      {"CONFIG GET server.slowlog_threshold slow*",
       "[\"server.slowlog_threshold\", \"2500us\", \"slowlog-log-slower-than\", \"2500\"]"},
      {"CONFIG GET server.max_connections", "[\"server.max_connections\", \"77\"]"},
      {"CONFIG SET maxclients 10000", "+OK"},
      {"CONFIG SET slowlog-log-slower-than -2",
       "-ERR slowlog-log-slower-than: \"-2\" is out of range; it must be -1 (none), 0 (all) or microseconds up to "
       "86400000000"},
      {"CONFIG SET maxclients 0", "-ERR maxclients: \"0\" is out of range; it must be 1 to 1000000"},
      {"CONFIG SET timeout 5", "-ERR timeout can only be set when the server starts, as server.idle_timeout"},
      {"CONFIG SET maxmemory 5mb", "-ERR maxmemory can only be set when the server starts, as server.max_memory"},
      {"CONFIG SET databases 2", "-ERR databases cannot be changed"},
      {"CONFIG SET maxclients 5 maxclients 6", "-ERR \"maxclients\" stands there twice"},
      {"CONFIG SET server.slowlog_threshold 1h", "+OK"},
      {"SLOWLOG RESET", "+OK"},
      {"SLOWLOG LEN", "0"},
      {"SLOWLOG GET abc", "-ERR count should be greater than or equal to -1"},
      {"SLOWLOG GET -2", "-ERR count should be greater than or equal to -1"},
      {"SLOWLOG GET -1", "[]"},
      {"SLOWLOG RESET", "+OK"},
      {"TOP COUNT 0", "-ERR COUNT must be from 1 to 100"},
      {"TOP", "[\"keys\", [], \"holds\", []]"},
      {"FLUSHALL SYNC ASYNC", "-ERR syntax error"},
      {"HELLO 3", ""},
      {"CONFIG GET maxclients", "{\"maxclients\": \"10000\"}"},
      {"TOP", "{\"keys\": [], \"holds\": []}"},
  });
  EXPECT_THAT(client.ask("INFO server"), StartsWith("=# Server\r\nredis_version:7.0.0\r\n"));
  EXPECT_THAT(client.ask("INFO"), HasSubstr("total_commands_processed:"));
  EXPECT_EQ(client.ask("INFO nope"), "=");
}

TEST_F(CommandsTest, StatisticsCanStartAgain) {
  for (int count = 0; count < 20; ++count) client.ask("GET");
  EXPECT_THAT(client.ask("INFO stats"), HasSubstr("total_error_replies:20\\r\\n"));
  const std::uint64_t commands = service.workers[0]->metrics.commands.get();
  EXPECT_EQ(client.ask("CONFIG RESETSTAT"), "+OK");
  client.ask("GET");
  const std::string info = client.ask("INFO stats");
  EXPECT_THAT(info, HasSubstr("total_error_replies:1\\r\\n"));
  EXPECT_THAT(info, HasSubstr("total_commands_processed:2\\r\\n")) << "CONFIG RESETSTAT itself, and GET";
  EXPECT_GT(service.workers[0]->metrics.commands.get(), commands) << "the metrics go on";
}

TEST_F(CommandsTest, TopTellsBusyKeysAndOldHolds) {
  define(stock("s").amount(100));
  for (int count = 0; count < 200; ++count) client.ask("TAKE s busy");
  client.ask("HOLD s alice TTL 1m ID h FOO");
  client.ask("RECONCILE s alice 0");
  client.ask("HOLD s alice TTL 1m ID h");
  clock.advance(5s);
  const std::string top = client.ask("TOP COUNT 1");
  EXPECT_THAT(top, StartsWith("[\"keys\", [[\"s\", \"busy\", "));
  EXPECT_THAT(top, HasSubstr("\"holds\", [[\"h\", \"s\", \"alice\", 5000, 55000]]]"));
}

TEST_F(CommandsTest, ShutDown) {
  client.send("SHUTDOWN NOSAVE\r\nPING\r\n");
  EXPECT_EQ(client.next(), "(closed)");
  EXPECT_TRUE(was_shut_down);
}

TEST_F(CommandsTest, MonitorShowsCommandsAndHidesSecrets) {
  EXPECT_EQ(client.ask("MONITOR"), "+OK");
  auto other = connect();
  other.ask("SET \"a b\" 1");
  other.ask("AUTH hunter2");
  other.ask("NOPE");
  other.ask("PING");
  EXPECT_EQ(client.next(), R"(+1700000000.000000 [0 127.0.0.1:40002] "SET" "a b" "1")");
  EXPECT_EQ(client.next(), R"_(+1700000000.000000 [0 127.0.0.1:40002] "AUTH" "(redacted)")_");
  EXPECT_EQ(client.next(), R"(+1700000000.000000 [0 127.0.0.1:40002] "PING")");
}

TEST_F(CommandsTest, CommandDescribesTheTable) {
  EXPECT_EQ(client.ask("COMMAND INFO get nope"),
            "[[\"get\", 2, [+readonly, +fast], 1, 1, 1, [+@keys], [], [], []], nil]");
  EXPECT_EQ(client.ask("COMMAND INFO take"), "[[\"take\", -3, [+write, +fast], 2, 2, 1, [+@decisions], [], [], []]]");
  EXPECT_EQ(client.ask("COMMAND INFO mget"), "[[\"mget\", -2, [+readonly, +fast], 1, -1, 1, [+@keys], [], [], []]]");
  EXPECT_EQ(client.ask("COMMAND INFO limit|get"), "[[\"limit|get\", 3, [+readonly], 0, 0, 0, [+@limits], [], [], []]]");
  EXPECT_EQ(client.ask("COMMAND DOCS echo"),
            "[\"echo\", [\"summary\", \"Answers with the message\", \"since\", \"0.1.0\", \"group\", \"connection\", "
            "\"arguments\", [[\"name\", \"message\", \"type\", \"string\"]]]]");
  expect({
      {"COMMAND LIST FILTERBY PATTERN slowlog*",
       "[\"slowlog\", \"slowlog|get\", \"slowlog|len\", \"slowlog|reset\", \"slowlog|help\"]"},
      {"COMMAND LIST filterby aclcat quotas", "[\"quotaset\", \"quotaget\", \"quotadel\", \"quotaincr\"]"},
      {"COMMAND LIST FILTERBY ACLCAT nope", "[]"},
      {"COMMAND LIST FILTERBY MODULE any", "[]"},
      {"COMMAND LIST FILTERBY FOO x", "-ERR syntax error"},
      {"COMMAND LIST FILTERBY", "-ERR syntax error"},
  });
  client.ask("HELLO 3");
  EXPECT_EQ(client.ask("COMMAND DOCS nope"), "{}");
  EXPECT_THAT(client.ask("COMMAND DOCS shutdown"),
              HasSubstr("[{\"name\": \"choice-1\", \"type\": \"oneof\", \"flags\": <+optional>, \"arguments\": "
                        "[{\"name\": \"nosave\", \"type\": \"pure-token\", \"token\": \"NOSAVE\"}, "
                        "{\"name\": \"save\", \"type\": \"pure-token\", \"token\": \"SAVE\"}]}, "
                        "{\"name\": \"now\", \"type\": \"pure-token\", \"token\": \"NOW\", \"flags\": <+optional>}"));
  EXPECT_THAT(client.ask("COMMAND DOCS limit|set"), HasSubstr("\"type\": \"oneof\", \"arguments\": "));
  EXPECT_THAT(client.ask("COMMAND DOCS holds"), HasSubstr("\"subcommands\": {\"holds|tag\": {\"summary\": "));
  EXPECT_THAT(client.ask("COMMAND DOCS limit"), HasSubstr("\"subcommands\": {\"limit|set\": {\"summary\": "));
  EXPECT_EQ(client.ask("COMMAND INFO get"), "[[\"get\", 2, <+readonly, +fast>, 1, 1, 1, <+@keys>, [], [], []]]");
  const std::string count = client.ask("COMMAND COUNT");
  const std::string names = client.ask("COMMAND LIST");
  EXPECT_EQ(std::count(names.begin(), names.end(), ',') + 1, std::stoi(count));
  EXPECT_GT(std::stoi(count), 60);
}

// A client that ends its side gets its answers all the same: those of slow commands too.
TEST_F(CommandsTest, AHalfClosedClientIsAnswered) {
  client.send("SET a 1\r\nKEYS *\r\nLIMIT SET x STOCK 5\r\nGET a\r\n");
  client.end_sending();
  EXPECT_EQ(client.next(), "+OK");
  EXPECT_EQ(client.next(), "[\"a\"]");
  EXPECT_EQ(client.next(), "+OK");
  EXPECT_EQ(client.next(), "\"1\"");
  EXPECT_EQ(client.next(), "(closed)");
}

TEST_F(CommandsTest, AWaitingTakeIsAnsweredWhenItFits) {
  define(stock("s").amount(1));
  client.ask("TAKE s k");
  auto waiting = connect();
  waiting.send("TAKE s k WAIT 1h\r\nPING\r\n");
  while (service.waits.size() == 0) std::this_thread::yield();
  EXPECT_EQ(client.ask("GIVE s k"), "[1, 1, 1]");
  EXPECT_EQ(waiting.next(), "[1, 0, 1, 0, -1, []]");
  EXPECT_EQ(waiting.next(), "+PONG");
}

TEST_F(CommandsTest, AWaitingTakeEndsWithItsClient) {
  define(stock("s").amount(1));
  client.ask("TAKE s k");
  auto waiting = connect();
  waiting.send("TAKE s k WAIT 1h\r\n");
  while (service.waits.size() == 0) std::this_thread::yield();
  waiting.close();
  while (service.waits.size() > 0) std::this_thread::yield();
  client.ask("GIVE s k");
  EXPECT_EQ(client.ask("USAGE s k"), "[0, 0, 1, 1, -1]");
}

}  // namespace
}  // namespace mete::server
