// What the commands on connections and on the server answer, in RESP2 and, where that differs, in RESP3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/doors/resp/command_table.h"
#include "unit/server/doors/resp/commands_fixture.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ServerCommandsTest : public testing::CommandsTest {};

TEST_F(ServerCommandsTest, Connection) {
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

TEST_F(ServerCommandsTest, ClientsCanBeKilled) {
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

TEST_F(ServerCommandsTest, Server) {
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

TEST_F(ServerCommandsTest, StatisticsCanStartAgain) {
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

TEST_F(ServerCommandsTest, TopTellsBusyKeysAndOldHolds) {
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

TEST_F(ServerCommandsTest, ShutDown) {
  client.send("SHUTDOWN NOSAVE\r\nPING\r\n");
  EXPECT_EQ(client.next(), "(closed)");
  EXPECT_TRUE(was_shut_down);
}

TEST_F(ServerCommandsTest, MonitorShowsCommandsAndHidesSecrets) {
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

TEST_F(ServerCommandsTest, CommandDescribesTheTable) {
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

// Each name costs time and room for its answer.
TEST_F(ServerCommandsTest, CommandAnswersSoManyNamesAndNoMore) {
  const auto named = [](std::string command, const std::string& name, int count) {
    for (int i = 0; i < count; ++i) command += " " + name;
    return command;
  };
  EXPECT_EQ(client.ask(named("COMMAND DOCS", "echo", 1'000)), client.ask("COMMAND DOCS echo")) << "each once";
  EXPECT_EQ(client.ask(named("COMMAND INFO", "nope", 3)), "[nil, nil, nil]");
  for (const char* const command : {"COMMAND DOCS", "COMMAND INFO"}) {
    EXPECT_EQ(client.ask(named(command, "echo", 1'001)), "-ERR more than 1000 names in one command");
  }
  EXPECT_EQ(client.ask("COMMAND LIST FILTERBY PATTERN " + std::string(1'025, 'a')),
            "-ERR a pattern may have 1024 bytes");
  EXPECT_EQ(client.ask("COMMAND LIST FILTERBY PATTERN " + std::string(1'024, 'a')), "[]");
}

// A client that ends its side gets its answers all the same: those of slow commands too.
TEST_F(ServerCommandsTest, AHalfClosedClientIsAnswered) {
  client.send("SET a 1\r\nKEYS *\r\nLIMIT SET x STOCK 5\r\nGET a\r\n");
  client.end_sending();
  EXPECT_EQ(client.next(), "+OK");
  EXPECT_EQ(client.next(), "[\"a\"]");
  EXPECT_EQ(client.next(), "+OK");
  EXPECT_EQ(client.next(), "\"1\"");
  EXPECT_EQ(client.next(), "(closed)");
}

TEST_F(ServerCommandsTest, AWaitingTakeIsAnsweredWhenItFits) {
  define(stock("s").amount(1));
  client.ask("TAKE s k");
  auto waiting = connect();
  waiting.send("TAKE s k WAIT 1h\r\nPING\r\n");
  while (service.waits.size() == 0) std::this_thread::yield();
  EXPECT_EQ(client.ask("GIVE s k"), "[1, 1, 1]");
  EXPECT_EQ(waiting.next(), "[1, 0, 1, 0, -1, []]");
  EXPECT_EQ(waiting.next(), "+PONG");
}

TEST_F(ServerCommandsTest, AWaitingTakeEndsWithItsClient) {
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
