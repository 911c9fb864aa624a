// Usage events, and the books that they prove: mete.audit, mete.prune, and what a clear leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/postgres_server.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using support::PostgresServer;
using support::shared_postgres;
using namespace std::chrono_literals;

PostgresServer& server_to_audit() {
  PostgresServer& postgres = shared_postgres();
  postgres.query(
      "select mete.define('disk', 'stock', 100), mete.define('links', 'calendar', 100, 'hour'),"
      "mete.define('sms', 'window', 100, '1 hour'), mete.define('kept', 'window', 100, '1 hour', durable => 'always')");
  return postgres;
}

TEST(SqlAudit, WhichOperationsAreRecorded) {
  const struct {
    const char* sql;
    const char* event;  // kind, amount, operation, tag
  } rows[] = {
      {"mete.take('disk', 'a', 40)", "take|40|null|null"},
      {"mete.take('disk', 'a', 10, 'id')", "take|10|id|null"},
      {"mete.take('disk', 'a', 10, 'id')", ""},
      {"mete.take('disk', 'a', 51)", ""},
      {"mete.take('disk', 'a', 0)", ""},
      {"mete.peek('disk', 'a', 1)", ""},
      {"mete.take('disk', 'a', 60, mode => 'up_to')", "take|50|null|null"},
      {"mete.take('disk', 'a', 7, mode => 'force')", "take|7|null|null"},
      {"mete.give('disk', 'a', 57, 'back')", "give|-57|back|null"},
      {"mete.give('disk', 'nobody', 57)", ""},
      {R"(mete.take_all('[{"limit": "disk", "key": "b"}, {"limit": "sms", "key": "b"}, {"limit": "kept", "key": "b", "cost": 3}]'))",
       "take|1|null|null;take|3|null|null"},
      {"mete.hold('disk', 'a', 20, '1 hour', 'h1', 'job')", ""},
      {"mete.extend('h1', '2 hours')", ""},
      {"mete.commit('h1', '{15}')", "commit|15|h1|job"},
      {"mete.hold('disk', 'a', 20, '1 hour', 'h2')", ""},
      {"mete.cancel('h2')", ""},
      {"mete.hold('disk', 'a', 5, '1 hour', 'h3')", ""},
      {"mete.commit('h3', '{0}')", ""},
      {"mete.hold('disk', 'a', 5, '1 hour', 'h4')", ""},
      {"mete.commit('h4', '{7}', true)", "commit|2|h4|null;commit|5|h4|null"},
      {"mete.reconcile('disk', 'a', 30)", "reconcile|-42|null|null"},
      {"mete.reconcile('disk', 'a', 30)", ""},
      {"mete_private.store_shift('disk', '{a,b,c}', '{5,-1,0}', 1700000000000000, 0)",
       "reconcile|-1|null|null;reconcile|5|null|null"},
      {"mete.override('disk', 'a', 1000)", ""},
      {"mete.take('sms', 'a', 5)", ""},  // not durable: not recorded
      {"mete.take('kept', 'a', 5)", "take|5|null|null"},
      {"mete.define('disk', 'stock', 200)", ""},
      {"mete.take('disk', 'a')", "carry|35|null|null;take|1|null|null"},  // the sums of the new revision begin
      {"mete_private.store_clear()", "carry|-36|null|null;carry|-5|null|null;carry|-3|null|null"},
  };
  PostgresServer& postgres = server_to_audit();
  SqlSession session(postgres);
  for (const auto& row : rows) {
    let_pass(postgres, 1s);
    EXPECT_EQ(session.ask("select count(*) > 0 from (select " + std::string(row.sql) + ") x"), "t") << row.sql;
    EXPECT_EQ(session.ask("select kind, amount, operation, tag from mete.usage_events where at = clock_timestamp() "
                          "order by kind, amount"),
              row.event)
        << row.sql;
    EXPECT_EQ(session.ask("select * from mete.audit()"), "") << row.sql;
  }
}

// Somebody's hand in the tables is found, whichever way it went.
TEST(SqlAudit, FindsWhatSomebodyHasChanged) {
  PostgresServer& postgres = server_to_audit();
  SqlSession session(postgres);
  session.ask(
      "select mete.take('disk', key, 10), mete.hold('disk', key, 5, '1 hour') from unnest('{a,b}'::text[]) key; "
      "select mete.take('links', 'a', 3)");
  const Exchange rows[] = {
      // limit, key, balance, recorded, held
      {"update mete.meters set units = units - 1 where key = 'b'", "disk|b|14|10|5"},
      {"update mete.meters set units = 0 where units = 3", "links|a|0|3|0"},
      {"delete from mete.events where key = 'b'", "disk|b|15|0|5"},
      {"update mete.events set amount = 11 where key = 'b'", "disk|b|15|11|5"},
      {"delete from mete.operations where key = 'b'", "disk|b|15|10|0"},
      {"update mete.operations set state = 'cancelled', held_us = null where key = 'b'", "disk|b|15|10|0"},
      {"update mete.operations set part_units = 6 where key = 'b'", "disk|b|15|10|6"},
      {"update mete.limits set amount = 1 where name = 'disk'", ""},  // no balance
  };
  for (const Exchange& row : rows) {
    EXPECT_EQ(session.ask("begin; " + row.sql + "; select * from mete.audit()"), row.answer) << row.sql;
    session.ask("rollback");
  }
  EXPECT_EQ(session.ask("select * from mete.audit()"), "");
}

// A clear forgets what is used now; what was used in windows that have passed stays on the books.
TEST(SqlAudit, AClearTouchesNoWindowThatHasPassed) {
  PostgresServer& postgres = server_to_audit();
  SqlSession session(postgres);
  session.ask("select mete.take('links', 'past', 5), mete.take('disk', 'a', 5)");
  let_pass(postgres, 1h);
  session.ask("select mete.take('links', 'present', 6)");
  session.ask("select mete_private.store_clear()");
  EXPECT_EQ(session.ask("select key, sum(amount) from mete.usage_events group by 1 order by 1"),
            "a|0;past|5;present|0");
  session.ask("select mete.take('links', key, 2) from unnest('{past,present}'::text[]) key");
  EXPECT_EQ(session.ask("select * from mete.audit()"), "");
  EXPECT_EQ(session.ask("select used from mete.usage('links', 'past')"), "2");
}

TEST(SqlAudit, PruningChangesNoBalance) {
  PostgresServer& postgres = server_to_audit();
  SqlSession session(postgres);
  session.ask("select mete.take('disk', 'a', 1) from generate_series(1, 20); select mete.give('disk', 'a', 5)");
  session.ask(
      "select mete.take('links', 'a', 1) from generate_series(1, 4); select mete.hold('disk', 'a', 7, '3 hours', 'h')");
  let_pass(postgres, 2h);
  session.ask("select mete.take('disk', 'a', 2); select mete.take('links', 'a')");
  const std::string events = "select \"limit\", kind, amount from mete.usage_events order by at, 1, 2";
  EXPECT_EQ(session.ask("select mete.prune(clock_timestamp() - interval '2 hours')"), "0");
  EXPECT_EQ(session.ask("select mete.prune(clock_timestamp() - interval '1 hour')"), "25");
  EXPECT_EQ(session.ask(events), "disk|carry|15;disk|take|2;links|take|1");
  EXPECT_EQ(session.ask("select * from mete.audit()"), "");
  EXPECT_EQ(session.ask("select mete.prune(clock_timestamp() - interval '1 hour')"), "0") << "nothing is done twice";
  EXPECT_EQ(session.ask("select amount from mete.commit('h')"), "7");
  EXPECT_EQ(session.ask("select used, held from mete.usage('disk', 'a')"), "24|0");
  let_pass(postgres, 1s);
  EXPECT_EQ(session.ask("select mete.prune(before => clock_timestamp())"), "4");
  EXPECT_EQ(session.ask(events), "disk|carry|24;links|carry|1");
  EXPECT_EQ(session.ask("select * from mete.audit()"), "");
}

// Operations of every kind in random order, at instants that fall into and across windows.
class RandomOperations {
 public:
  explicit RandomOperations(std::uint32_t seed) : random_(seed) {}

  std::string next() {
    const std::string meter = "'" + limit() + "', '" + pick({"a", "b", "c"}) + "'";
    switch (number(0, 15)) {
      case 0:
      case 1:
        return "mete.take(" + meter + ", " + amount() + ")";
      case 2:
        return "mete.take(" + meter + ", " + amount() + ", mode => '" + pick({"force", "up_to", "take"}) + "', id => " +
               new_id() + ")";
      case 3:
        return "mete.take_all('" + charges() + "'::jsonb, " + new_id() + ")";
      case 4:
      case 5:
        return "mete.hold(" + meter + ", " + amount() + ", '" + std::to_string(number(1, 90)) + " minutes', " +
               new_id() + ")";
      case 6:
        return "mete.hold_all('" + charges() + "'::jsonb, '" + std::to_string(number(1, 90)) + " minutes', tag => " +
               new_id() + ")";
      case 7:
      case 8:
        return "mete.commit(" + earlier_id() +
               pick({"", ", '{" + amount() + "}'", ", '{" + amount() + "}', true", ", '{1, 9}', true"}) + ")";
      case 9:
        return "mete.cancel(" + earlier_id() + ")";
      case 10:
        return "mete.extend(" + earlier_id() + ", '1 hour')";
      case 11:
        return "mete.give(" + meter + ", " + amount() + ")";
      case 12:
        return pick({"mete.reconcile(" + meter + ", " + amount() + ")",
                     "mete_private.store_shift('disk', '{a,b,c}', '{1,-2,3}', (extract(epoch from clock_timestamp()) * "
                     "1e6)::bigint, 0)"});
      case 13:
        return "mete.override(" + meter + ", " + pick({"null", "5", "60"}) + ")";
      case 14:
        return "mete.define('" + limit() + "', " + rule() + ", durable => 'always')";
      default:
        return pick({"mete.expire(2)", "mete.expire()", "mete.prune(clock_timestamp() - interval '20 minutes')",
                     "mete_private.store_clear()"});
    }
  }

  Duration pause() { return number(0, 3) == 0 ? Duration(number(1, 40) * 1min) : Duration(1s); }

 private:
  std::int64_t number(std::int64_t lowest, std::int64_t highest) {
    return std::uniform_int_distribution<std::int64_t>(lowest, highest)(random_);
  }
  std::string pick(const std::vector<std::string>& words) {
    return words[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(words.size()) - 1))];
  }
  std::string limit() { return pick({"disk", "links", "kept", "slide"}); }
  std::string amount() { return std::to_string(number(1, 30)); }
  // Mostly one that was not used before; sometimes the same operation with other parameters.
  std::string new_id() { return number(0, 20) == 0 ? earlier_id() : "'id " + std::to_string(++ids_) + "'"; }
  std::string earlier_id() { return "'id " + std::to_string(std::max<std::int64_t>(ids_ - number(0, 8), 0)) + "'"; }
  std::string rule() {
    return pick({"'stock', 100", "'stock', 40", "'calendar', 80, 'hour'", "'calendar', 80, 'day'",
                 "'window', 60, '1 hour'", "'window', 60, '7 minutes'", "'sliding', 70, '1 hour'",
                 "'bucket', 50, '1 hour'"});
  }
  std::string charges() {
    return R"([{"limit": ")" + limit() + R"(", "key": "a", "cost": )" + amount() + R"(}, {"limit": ")" + limit() +
           R"(", "key": "b", "cost": )" + amount() + "}]";
  }

  std::mt19937 random_;
  std::int64_t ids_ = 0;
};

class SqlAuditRandom : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(SqlAuditRandom, TheBooksBalance) {
  PostgresServer& postgres = server_to_audit();
  SqlSession session(postgres);
  session.ask("select mete.define('slide', 'sliding', 100, '1 hour', durable => 'always')");
  RandomOperations operations(GetParam());
  int done = 0;
  std::string history;
  std::set<std::string> kinds;  // of events
  for (int step = 0; step < 400; ++step) {
    let_pass(postgres, operations.pause());
    const std::string operation = operations.next();
    const std::string answer = session.ask("select count(*) from (select " + operation + ") x");
    history.append(std::to_string(step)).append(" ").append(operation).append(" → ").append(answer).append("\n");
    if (answer.starts_with("MT")) continue;  // a refusal, which changes nothing
    ASSERT_EQ(answer.find_first_not_of("0123456789"), std::string::npos) << history;
    ++done;
    ASSERT_EQ(session.ask("select * from mete.audit()"), "") << history;
    kinds.insert(session.ask("select kind from mete.events order by at desc limit 1"));
  }
  EXPECT_GT(done, 200) << "most are done";
  EXPECT_TRUE(std::ranges::includes(kinds, std::set<std::string>{"carry", "commit", "give", "reconcile", "take"}));
}

INSTANTIATE_TEST_SUITE_P(SqlAudit, SqlAuditRandom, ::testing::Range<std::uint32_t>(1, 5));

}  // namespace
}  // namespace mete::store::postgres
