// What the native commands answer: decisions, holds and limits, in RESP2 and, where that differs, in RESP3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/waiting.h"
#include "sync/worker.h"
#include "unit/server/doors/resp/commands_fixture.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LimitCommandsTest : public testing::CommandsTest {};

TEST_F(LimitCommandsTest, Decisions) {
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

TEST_F(LimitCommandsTest, Holds) {
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

TEST_F(LimitCommandsTest, Limits) {
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
      {"LIMIT SET x STOCK 5 SCOPE escrow",
       "-ERR scope: escrow needs shared and node in [escrow] of mete.toml: use node or shared"},
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

TEST_F(LimitCommandsTest, Syncs) {
  define(stock("storage").amount(100));
  service.syncs.set_plans({{.limit = "storage", .source = "postgres://127.0.0.1:1/x", .query = "select 1, 2"}}).value();
  expect({
      {"LIMIT SYNCS", "[]"},
      {"LIMIT SYNC seats", "-NOLIMIT the configuration has no [[sync]] for limit 'seats'"},
      {"LIMIT SYNC storage NOW", "-ERR syntax error"},
      {"LIMIT SYNC storage DRYRUN FORCE", "1"},
  });
  const auto has_failed = [&] { return client.ask("LIMIT SYNCS").find("\"failed\"") != std::string::npos; };
  EXPECT_TRUE(support::becomes_true(20s, has_failed));
  EXPECT_THAT(client.ask("LIMIT SYNCS"),
              StartsWith("[[\"run\", 1, \"state\", \"failed\", \"stage\", \"\", \"trigger\", \"demand\", \"limit\", "
                         "\"storage\", \"dry_run\", 1, \"forced\", 1, \"message\", \"the source: "));
}

}  // namespace
}  // namespace mete::server
