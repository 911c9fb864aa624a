// What is done now and then: mete.expire, and what the views show before and after (sql/080_upkeep.sql).
#include <gtest/gtest.h>

#include <string>

#include "support/postgres_server.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using support::PostgresServer;
using support::shared_postgres;
using namespace std::chrono_literals;

PostgresServer& server_with_stocks() {
  PostgresServer& postgres = shared_postgres();
  postgres.query("select mete.define('disk', 'stock', 100), mete.define('dark', 'stock', 1, shadow => true)");
  return postgres;
}

constexpr const char* kExpireQuery = "select * from mete.expire()";  // expired, swept, orphans

TEST(SqlUpkeep, AnOrphanFromItsEndUntilItIsForgotten) {
  PostgresServer& postgres = server_with_stocks();
  SqlSession session(postgres);
  const std::string holds =
      "select id, charge, tag, \"limit\", key, amount, state, made_at, expires_at, final_at from mete.holds";
  const std::string orphans = "select id, tag, \"limit\", key, amount, made_at, expired_at from mete.orphans";
  const std::string orphan = "h|job|disk|a|30|2023-11-14 22:15:23.456789+00|2023-11-14 22:16:23.456789+00";
  EXPECT_EQ(session.ask("select allowed from mete.hold('disk', 'a', 30, '1 minute', 'h', 'job')"), "t");
  EXPECT_EQ(session.ask(holds),
            "h|0|job|disk|a|30|held|2023-11-14 22:15:23.456789+00|2023-11-14 22:16:23.456789+00|null");
  EXPECT_EQ(session.ask(orphans), "");
  EXPECT_EQ(session.ask(kExpireQuery), "0|0|0");
  let_pass(postgres, 59'999'999us);
  EXPECT_EQ(session.ask("select held from mete.usage('disk', 'a')"), "30");
  EXPECT_EQ(session.ask(orphans), "");
  let_pass(postgres, 1us);
  EXPECT_EQ(session.ask("select held, remaining from mete.usage('disk', 'a')"), "0|100")
      << "at once, without anybody's help";
  EXPECT_EQ(session.ask(orphans), orphan);
  EXPECT_EQ(session.ask("select id, state from mete.holds"), "h|expired");
  EXPECT_EQ(session.ask("select remaining from mete.take('disk', 'a', 100)"), "0");
  EXPECT_EQ(session.ask(kExpireQuery), "1|0|1");
  EXPECT_EQ(session.ask(orphans), orphan) << "for as long as ids are remembered";
  EXPECT_EQ(session.ask(holds),
            "h|0|job|disk|a|30|expired|2023-11-14 22:15:23.456789+00|null|2023-11-14 22:16:23.456789+00");
  EXPECT_EQ(session.ask(kExpireQuery), "0|0|1") << "nothing is done twice";
  EXPECT_EQ(session.ask("select mete.commit('h')"),
            "MT004 hold 'h' has expired: make a new one, and extend it in time");
  let_pass(postgres, 24h);
  EXPECT_EQ(session.ask(kExpireQuery), "0|1|0");
  EXPECT_EQ(session.ask(orphans), "");
  EXPECT_EQ(session.ask(holds), "");
  EXPECT_EQ(session.ask("select mete.commit('h')"), "MT003 no hold 'h': it is unknown, or was forgotten");
  EXPECT_EQ(session.ask("select used, held from mete.usage('disk', 'a')"), "100|0");
}

// What has come to nothing is no orphan.
TEST(SqlUpkeep, WhatWasClosedIsNoOrphan) {
  PostgresServer& postgres = server_with_stocks();
  SqlSession session(postgres);
  session.ask(
      "select mete.hold('disk', 'a', 1, '1 minute', 'one'), mete.hold('disk', 'a', 1, '1 minute', 'two'), "
      "mete.hold('disk', 'a', 1, '1 minute', 'three')");
  session.ask("select mete.commit('one'), mete.cancel('two'), mete.extend('three', '1 hour')");
  let_pass(postgres, 59min);
  EXPECT_EQ(session.ask(kExpireQuery), "0|0|0");
  EXPECT_EQ(session.ask("select id, state from mete.holds order by id"), "one|committed;three|held;two|cancelled");
  EXPECT_EQ(session.ask("select id from mete.orphans"), "");
}

TEST(SqlUpkeep, InSmallBatches) {
  PostgresServer& postgres = server_with_stocks();
  SqlSession session(postgres);
  session.ask("select mete.hold('disk', 'many', 1, make_interval(secs => i)) from generate_series(1, 25) i");
  session.ask("select mete.hold('disk', 'key ' || i, 1, '1 minute') from generate_series(1, 5) i");
  session.ask("select mete.hold('dark', 'a', 2, '1 minute') from generate_series(1, 3) i");  // charged to no meter
  session.ask(
      "select mete.define('gone', 'stock', 10); select mete.hold('gone', 'a', 2, '1 minute'); "
      "select mete.drop_limit('gone')");
  EXPECT_EQ(session.ask("select count(*) from mete.operations where state = 'held'"), "34");
  let_pass(postgres, 2min);
  int total = 0;
  for (const int expected : {10, 10, 10, 4, 0}) {
    EXPECT_EQ(session.ask("select expired from mete.expire(10)"), std::to_string(expected)) << "after " << total;
    total += expected;
    EXPECT_EQ(session.ask("select count(*) from mete.operations where state = 'expired'"), std::to_string(total));
    EXPECT_EQ(session.ask("select * from mete.usage('disk', 'many')"), "0|0|100|100|null");
    EXPECT_EQ(session.ask("select * from mete.audit()"), "");
  }
}

// Whoever is at a meter is not waited for, and keeps nobody else from being put away.
TEST(SqlUpkeep, WaitsForNobody) {
  PostgresServer& postgres = server_with_stocks();
  SqlSession session(postgres);
  SqlSession busy(postgres);
  session.ask("select mete.hold('disk', key, 1, '1 minute') from unnest('{a,b,c}'::text[]) key");
  let_pass(postgres, 2min);
  EXPECT_EQ(busy.ask("begin; select remaining from mete.take('disk', 'b')"), "99");
  EXPECT_EQ(session.ask("set statement_timeout = '10s'; select expired from mete.expire()"), "2");
  EXPECT_EQ(busy.ask("commit"), "");
  EXPECT_EQ(session.ask("select expired from mete.expire()"), "1");
}

TEST(SqlUpkeep, MetersThatAreAsFreshOnesAreSwept) {
  PostgresServer& postgres = server_with_stocks();
  SqlSession session(postgres);
  session.ask(
      "select mete.define('api', 'bucket', 10, '1 minute'), mete.define('sms', 'window', 10, '1 hour'), "
      "mete.define('login', 'sliding', 10, '1 hour'), mete.define('links', 'calendar', 10, 'day')");
  session.ask("select mete.take(l, 'a', 5) from unnest('{disk,api,sms,login,links}'::text[]) l");
  session.ask("select mete.take('disk', 'b'), mete.give('disk', 'b'), mete.override('disk', 'c', 7)");
  const std::string meters =
      "select string_agg(l.name || ' ' || m.key, ', ' order by l.name, m.key) from mete.meters m "
      "join mete.limits l on l.id = m.limit_id";
  EXPECT_EQ(session.ask("select swept from mete.expire()"), "1");
  EXPECT_EQ(session.ask(meters), "api a, disk a, disk c, links a, login a, sms a");
  let_pass(postgres, 32s);
  EXPECT_EQ(session.ask("select swept from mete.expire()"), "1");
  EXPECT_EQ(session.ask(meters), "disk a, disk c, links a, login a, sms a");
  let_pass(postgres, 1h);
  EXPECT_EQ(session.ask("select swept from mete.expire()"), "1");
  EXPECT_EQ(session.ask(meters), "disk a, disk c, links a, login a");
  let_pass(postgres, 1h);
  EXPECT_EQ(session.ask("select swept from mete.expire()"), "2");
  EXPECT_EQ(session.ask(meters), "disk a, disk c");
  EXPECT_EQ(session.ask("select used from mete.usage('disk', 'a')"), "5");
  EXPECT_EQ(session.ask("select \"limit\" from mete.usage('disk', 'c')"), "7");
}

// Also those that nobody has looked at since their limit was redefined, with the history of its numbers.
TEST(SqlUpkeep, RedefinedLimitsKeepNoOldMeters) {
  PostgresServer& postgres = server_with_stocks();
  SqlSession session(postgres);
  session.ask("select mete.define('links', 'calendar', 10, 'day')");
  session.ask("select mete.take('links', 'key ' || i) from generate_series(1, 20) i");
  session.ask("select mete.define('links', 'calendar', 20, 'day')");
  session.ask("select mete.define('links', 'calendar', 30, 'day')");
  EXPECT_EQ(session.ask("select mete.expire(); select count(*), min(revision) from mete.meters"), "20|3");
  EXPECT_EQ(session.ask("select used, \"limit\" from mete.usage('links', 'key 7')"), "1|30");
  EXPECT_EQ(session.ask("select * from mete.audit()"), "");
  const std::string revisions =
      "select count(*) from mete.revisions r join mete.limits l on l.id = r.limit_id and l.name = 'links'";
  EXPECT_EQ(session.ask(revisions), "3") << "for a day, since transactions may still be open that know them";
  let_pass(postgres, 25h);
  EXPECT_EQ(session.ask("select mete.expire(); " + revisions), "1");
  session.ask("select mete.take('links', 'key ' || i) from generate_series(1, 20) i");
  session.ask("select mete.define('links', 'calendar', 40, 'day')");
  let_pass(postgres, 24h);
  for (int times = 0; times < 3; ++times) session.ask("select mete.expire(7)");
  EXPECT_EQ(session.ask("select count(*) from mete.meters"), "0");
}

TEST(SqlUpkeep, IdsAreForgottenAfterADay) {
  PostgresServer& postgres = server_with_stocks();
  SqlSession session(postgres);
  session.ask(
      "select mete.take('disk', 'a', 1, 'take'), mete.give('disk', 'a', 1, 'give'), "
      "mete.take('disk', 'a', 101, 'denied')");
  let_pass(postgres, 24h - 1us);
  EXPECT_EQ(session.ask("select mete.expire(); select count(*) from mete.operations"), "3");
  let_pass(postgres, 1us);
  EXPECT_EQ(session.ask("select mete.expire(2); select count(*) from mete.operations"), "1");
  EXPECT_EQ(session.ask("select mete.expire(2); select count(*) from mete.operations"), "0");
  EXPECT_EQ(session.ask("select allowed from mete.take('disk', 'a', 2, 'take')"), "t") << "the id is free again";
}

// A limit that was dropped is gone for its users at once; its events keep its name until they are pruned.
TEST(SqlUpkeep, WhatDroppedLimitsLeave) {
  PostgresServer& postgres = server_with_stocks();
  SqlSession session(postgres);
  session.ask("select mete.take('disk', 'a', 5); select mete.hold('disk', 'b', 5, '1 hour', 'h')");
  EXPECT_EQ(session.ask("select mete.drop_limit('disk')"), "t");
  EXPECT_EQ(session.ask("select amount from mete.commit('h')"), "5") << "of what is not there any more, in peace";
  EXPECT_EQ(session.ask("select swept from mete.expire()"), "2");
  EXPECT_EQ(session.ask("select count(*) from mete.meters"), "0");
  EXPECT_EQ(session.ask("select \"limit\", kind, amount from mete.usage_events"), "disk|take|5");
  let_pass(postgres, 25h);
  EXPECT_EQ(session.ask("select mete.expire(); select name from mete.limits order by 1"), "dark;disk");
  EXPECT_EQ(session.ask("select mete.prune(clock_timestamp())"), "1");
  EXPECT_EQ(session.ask("select mete.expire(); select name from mete.limits order by 1"), "dark");
}

}  // namespace
}  // namespace mete::store::postgres
