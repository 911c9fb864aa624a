// The functions for applications (sql/090_functions.sql): what they take, what they answer, what they refuse.
#include <gtest/gtest.h>

#include <string>

#include "support/postgres_server.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using support::PostgresServer;
using support::shared_postgres;
using namespace std::chrono_literals;

// Some limits of each kind. It is 22:15:23.456789 on 14 November 2023, UTC.
PostgresServer& server_with_each_kind() {
  PostgresServer& postgres = shared_postgres();
  postgres.query(
      "select mete.define('disk', 'stock', 100), mete.define('jobs', 'calendar', 10, 'month', zone => 'Europe/Berlin'),"
      "mete.define('api', 'bucket', 10, '1 minute', burst => 20), mete.define('sms', 'window', 5, '1 hour'),"
      "mete.define('login', 'sliding', 10, '15 minutes'), mete.define('dark', 'stock', 1, shadow => true)");
  return postgres;
}

template <std::size_t kCount>
void expect_all(PostgresServer& postgres, const Exchange (&rows)[kCount]) {
  SqlSession session(postgres);
  for (const Exchange& row : rows) EXPECT_EQ(session.ask(row.sql), row.answer) << row.sql;
}

TEST(SqlFunctions, Take) {
  const Exchange rows[] = {
      // allowed, remaining, limit, retry_after, reset_after, violated, amount, id
      {"select * from mete.take('disk', 'a')", "t|99|100|00:00:00|null|{}|1|null"},
      {"select * from mete.take('disk', 'a', 9)", "t|90|100|00:00:00|null|{}|9|null"},
      {"select * from mete.take(\"limit\" => 'disk', key => 'a', cost => 10, id => 'first', mode => 'take')",
       "t|80|100|00:00:00|null|{}|10|null"},
      {"select * from mete.take(key => 'a', cost => 10, id => 'first', \"limit\" => 'disk')",
       "t|80|100|00:00:00|null|{}|10|null"},
      {"select * from mete.take('disk', 'a', 11, 'first')",
       "MT006 id 'first' was used for an operation with other parameters: give each operation an id of its own"},
      {"select * from mete.take('disk', 'a', 81, 'denied')", "f|80|100|null|null|{disk}|0|null"},
      {"select * from mete.take('disk', 'a', 101)", "f|80|100|null|null|{disk}|0|null"},
      {"select * from mete.take('disk', 'a', 0)", "t|80|100|00:00:00|null|{}|0|null"},
      {"select * from mete.take('disk', 'a', 81, mode => 'up_to')", "t|0|100|00:00:00|null|{}|80|null"},
      {"select * from mete.take('disk', 'a', 1, mode => 'up_to')", "f|0|100|null|null|{disk}|0|null"},
      {"select * from mete.take('disk', 'a', 50, mode => 'force')", "t|0|100|00:00:00|null|{}|50|null"},
      {"select * from mete.usage('disk', 'a')", "150|0|0|100|null"},
      {"select * from mete.take('jobs', 'a', 4)", "t|6|10|00:00:00|384:44:36.543211|{}|4|null"},
      {"select * from mete.take('jobs', 'a', 7)", "f|6|10|384:44:36.543211|384:44:36.543211|{jobs}|0|null"},
      {"select * from mete.take('api', 'a', 20)", "t|0|20|00:00:00|00:02:00|{}|20|null"},
      {"select * from mete.take('api', 'a')", "f|0|20|00:00:06|00:02:00|{api}|0|null"},
      {"select * from mete.take('api', 'a', 21)", "f|0|20|null|00:02:00|{api}|0|null"},
      {"select * from mete.take('sms', 'a', 5)", "t|0|5|00:00:00|00:44:36.543211|{}|5|null"},
      {"select * from mete.take('login', 'a', 10)", "t|0|10|00:00:00|00:15:00|{}|10|null"},
      {"select * from mete.take('dark', 'a', 2)", "t|1|1|00:00:00|null|{dark}|2|null"},
      // Names are any text.
      {"select mete.define('O''Reilly \"ü\" \\ ;', 'stock', 3)", ""},
      {"select * from mete.take('O''Reilly \"ü\" \\ ;', '{ключ, NULL}', id => '\"')", "t|2|3|00:00:00|null|{}|1|null"},
      {"select * from mete.take('O''Reilly \"ü\" \\ ;', '{ключ, NULL}', 4)",
       R"(f|2|3|null|null|{"O'Reilly \"ü\" \\ ;"}|0|null)"},
      {"select * from mete.take('disk', 'A')", "t|99|100|00:00:00|null|{}|1|null"},
      {"select (mete.take('disk', repeat('k', 512))).allowed", "t"},
      // As a condition, in one word.
      {"select (mete.take('disk', 'b')).remaining", "99"},
  };
  expect_all(server_with_each_kind(), rows);
}

TEST(SqlFunctions, SeveralChargesAreAllOrNothing) {
  const Exchange rows[] = {
      {R"(select * from mete.take_all('[{"limit": "disk", "key": "a", "cost": 60}, {"limit": "sms", "key": "a"}]'::jsonb))",
       "t|4|5|00:00:00|00:44:36.543211|{}|61|null"},
      {R"(select * from mete.take_all('[{"limit": "disk", "key": "a", "cost": 41}, {"limit": "sms", "key": "a"}]'))",
       "f|4|5|null|00:44:36.543211|{disk}|0|null"},
      {R"(select * from mete.take_all('[{"limit": "disk", "key": "a", "cost": 41}, {"limit": "sms", "key": "a", "cost": 5}]'))",
       "f|4|5|null|00:44:36.543211|{disk,sms}|0|null"},
      {"select used from mete.usage('sms', 'a')", "1"},
      // The same meter twice is one charge.
      {R"(select * from mete.take_all('[{"limit": "disk", "key": "b", "cost": 50}, {"limit": "disk", "key": "b", "cost": 51}]'))",
       "f|100|100|null|null|{disk,disk}|0|null"},
      {R"(select * from mete.take_all(charges => '[{"limit": "disk", "key": "b"}]', id => 'several', mode => 'force'))",
       "t|99|100|00:00:00|null|{}|1|null"},
      {R"(select * from mete.take_all('[{"limit": "disk", "key": "b"}]'::jsonb, 'several', 'force'))",
       "t|99|100|00:00:00|null|{}|1|null"},
      {R"(select * from mete.peek_all('[{"limit": "disk", "key": "b", "cost": 100}]'))",
       "f|99|100|null|null|{disk}|0|null"},
      {R"(select * from mete.give_all('[{"limit": "disk", "key": "b", "cost": 9}, {"limit": "sms", "key": "a"}]'))",
       "t|5|5|00:00:00|00:00:00|{}|2|null"},
      {R"(select * from mete.hold_all('[{"limit": "disk", "key": "c", "cost": 9}, {"limit": "sms", "key": "c"}]', '1 min', 'h'))",
       "t|4|5|00:00:00|00:44:36.543211|{}|10|h"},
      {"select * from mete.commit('h', '{4, 0}')", "t|5|5|00:00:00|00:00:00|{}|4|h"},
      {"select used, held from mete.usage('disk', 'c')", "4|0"},
  };
  expect_all(server_with_each_kind(), rows);
}

TEST(SqlFunctions, PeekGiveUsageReconcile) {
  const Exchange rows[] = {
      {"select * from mete.peek('disk', 'a')", "t|99|100|00:00:00|null|{}|1|null"},
      {"select * from mete.peek(\"limit\" => 'disk', key => 'a', cost => 101)", "f|100|100|null|null|{disk}|0|null"},
      {"select * from mete.usage('disk', 'a')", "0|0|100|100|null"},
      {"select * from mete.give('disk', 'a')", "t|100|100|00:00:00|null|{}|0|null"},
      {"select allowed from mete.take('disk', 'a', 30)", "t"},
      {"select * from mete.give('disk', 'a', 10, 'back')", "t|80|100|00:00:00|null|{}|10|null"},
      {"select * from mete.give(\"limit\" => 'disk', key => 'a', cost => 10, id => 'back')",
       "t|80|100|00:00:00|null|{}|10|null"},
      {"select * from mete.give('disk', 'a', 10, 'back2')", "t|90|100|00:00:00|null|{}|10|null"},
      {"select * from mete.give('disk', 'a', 1000)", "t|100|100|00:00:00|null|{}|10|null"},
      {"select allowed from mete.hold('disk', 'a', 7, '1 hour')", "t"},
      {"select * from mete.give('disk', 'a', 7)", "t|93|100|00:00:00|null|{}|0|null"},
      {"select * from mete.reconcile('disk', 'a', 50)", "0|50"},
      {"select * from mete.reconcile(\"limit\" => 'disk', key => 'a', used => 20)", "50|20"},
      {"select * from mete.usage(\"limit\" => 'disk', key => 'a')", "20|7|73|100|null"},
      {"select * from mete.reconcile('disk', 'a', 200)", "20|200"},
      {"select * from mete.usage('disk', 'a')", "200|7|0|100|null"},
      {"select * from mete.usage('api', 'nobody')", "0|0|20|20|00:00:00"},
  };
  expect_all(server_with_each_kind(), rows);
}

TEST(SqlFunctions, HoldsAndWhatBecomesOfThem) {
  const Exchange rows[] = {
      {"select * from mete.hold('disk', 'a', 30, '1 hour', 'one')", "t|70|100|00:00:00|null|{}|30|one"},
      {"select * from mete.hold(\"limit\" => 'disk', key => 'a', cost => 30, ttl => '1 hour', id => 'one')",
       "t|70|100|00:00:00|null|{}|30|one"},
      {"select * from mete.usage('disk', 'a')", "0|30|70|100|null"},
      {"select length(id), id <> 'one' from mete.hold('disk', 'a', 1, interval '1 minute')", "32|t"},
      {"select * from mete.hold('disk', 'a', 70, '1 hour', id => 'two')", "f|69|100|00:01:00|null|{disk}|0|two"},
      {"select * from mete.extend('one', '2 hours')", "t|69|100|00:00:00|null|{}|0|one"},
      {"select * from mete.extend(ttl => '2 hours', id => 'one')", "t|69|100|00:00:00|null|{}|0|one"},
      {"select * from mete.commit('one', '{31}')",
       "MT005 amount 31 for 'disk' exceeds the 30 held: commit less, or allow overage"},
      {"select * from mete.commit('one', '{100}', true)",
       "MT005 the overage of 70 for 'disk' does not fit: commit what is held, or less"},
      {"select * from mete.commit('one', '{32}', overage => true)", "t|67|100|00:00:00|null|{}|32|one"},
      {"select * from mete.commit('one', '{32}')", "t|67|100|00:00:00|null|{}|32|one"},
      {"select * from mete.commit('one')",
       "MT006 hold 'one' is committed already, with other amounts: a hold is final once"},
      {"select * from mete.cancel('one')", "MT003 hold 'one' is committed already: a hold is final once"},
      {"select * from mete.hold('disk', 'b', 5, '1 hour', tag => 'job 7')", "t|95|100|00:00:00|null|{}|5|job 7"},
      {"select * from mete.cancel(tag => 'job 7')", "t|100|100|00:00:00|null|{}|5|job 7"},
      {"select * from mete.cancel(tag => 'job 7')", "t|100|100|00:00:00|null|{}|5|job 7"},
      {"select * from mete.commit(tag => 'job 7')", "MT003 hold 'job 7' is cancelled already: a hold is final once"},
      {"select * from mete.hold('disk', 'b', 5, '1 hour', 'x', 'job 8')", "t|95|100|00:00:00|null|{}|5|x"},
      {"select * from mete.extend(tag => 'job 8', ttl => '1 minute')", "t|95|100|00:00:00|null|{}|0|x"},
      {"select * from mete.commit(tag => 'job 8', amounts => '{4}')", "t|96|100|00:00:00|null|{}|4|x"},
      {"select * from mete.commit(tag => 'job 8', amounts => '{4}')", "t|96|100|00:00:00|null|{}|4|x"},
      {"select allowed from mete.hold('disk', 'b', 1, '1 hour', 'y1', 'job 9'); "
       "select allowed from mete.hold('disk', 'b', 1, '1 hour', 'y2', 'job 9')",
       "t"},
      {"select * from mete.commit(tag => 'job 9')", "MT001 tag 'job 9' has 2 open holds: name one by its id"},
      {"select * from mete.commit()", "MT001 give the id of the hold, or its tag"},
      {"select * from mete.commit('y1', tag => 'job 9')", "MT001 give the id of the hold, or its tag"},
      {"select * from mete.commit('nobody''s')", "MT003 no hold 'nobody's': it is unknown, or was forgotten"},
      {"select * from mete.extend(tag => 'nobody', ttl => '1 hour')",
       "MT003 no hold 'nobody': it is unknown, or was forgotten"},
      {"select allowed from mete.take('disk', 'b', id => 'a take')", "t"},
      {"select * from mete.commit('a take')", "MT003 no hold 'a take': it is unknown, or was forgotten"},
  };
  expect_all(server_with_each_kind(), rows);
}

// A job that was denied asks again with the same tag; an operation with an id of its own has got its answer.
TEST(SqlFunctions, ADenialIsRememberedByItsIdAlone) {
  SqlSession session(server_with_each_kind());
  const std::string by_tag = "select allowed, id from mete.hold('disk', 'a', 50, '1 hour', tag => 'job')";
  const std::string by_id = "select allowed, id from mete.hold('disk', 'a', 50, '1 hour', id => 'operation')";
  EXPECT_EQ(session.ask("select allowed from mete.take('disk', 'a', 80)"), "t");
  EXPECT_EQ(session.ask(by_tag), "f|job");
  EXPECT_EQ(session.ask(by_id), "f|operation");
  EXPECT_EQ(session.ask("select amount from mete.give('disk', 'a', 80)"), "80");
  EXPECT_EQ(session.ask(by_tag), "t|job");
  EXPECT_EQ(session.ask(by_id), "f|operation");
}

TEST(SqlFunctions, WhatIsExpired) {
  PostgresServer& postgres = server_with_each_kind();
  SqlSession session(postgres);
  EXPECT_EQ(session.ask("select allowed from mete.hold('disk', 'a', 30, '1 minute', tag => 'late')"), "t");
  let_pass(postgres, 60s);
  for (const char* call : {"commit(tag => 'late')", "cancel('late')", "extend('late', '1 hour')"}) {
    EXPECT_EQ(session.ask("select mete." + std::string(call)),
              "MT004 hold 'late' has expired: make a new one, and extend it in time");
  }
  EXPECT_EQ(session.ask("select * from mete.usage('disk', 'a')"), "0|0|100|100|null");
}

TEST(SqlFunctions, RefusesBadArguments) {
  const std::string no_array =
      R"(MT001 charges must be an array of objects: [{"limit": "api", "key": "alice", "cost": 1}])";
  const std::string not_whole = "MT001 charges: a cost is a whole number, 0 to 9007199254740991";
  const Exchange rows[] = {
      {"take('unknown', 'a')", "MT002 unknown limit 'unknown'"},
      {"take(null, 'a')", "MT001 limit name is missing"},
      {"take('', 'a')", "MT001 limit name must have 1 to 128 bytes, not 0"},
      {"take('disk', null)", "MT001 key is missing"},
      {"take('disk', '')", "MT001 key must have 1 to 512 bytes, not 0"},
      {"take('disk', repeat('ü', 257))", "MT001 key must have 1 to 512 bytes, not 514"},
      {"take('disk', 'a', null::bigint)", "MT001 cost of 'disk' is missing"},
      {"take('disk', 'a', -500)", "MT001 cost of 'disk' must be 0 to 9007199254740991, not -500"},
      {"take('disk', 'a', 9007199254740992)",
       "MT001 cost of 'disk' must be 0 to 9007199254740991, not 9007199254740992"},
      {"take('disk', 'a', id => '')", "MT001 id must have 1 to 128 bytes, not 0"},
      {"take('disk', 'a', id => repeat('i', 129))", "MT001 id must have 1 to 128 bytes, not 129"},
      {"take('disk', 'a', mode => null)", "MT001 mode must be take, up_to or force, not null"},
      {"take('disk', 'a', mode => 'Force')", "MT001 mode must be take, up_to or force, not Force"},
      {"take_all(null::jsonb)", no_array},
      {"take_all('null'::jsonb)", no_array},
      {"take_all('{\"limit\": \"disk\", \"key\": \"a\"}'::jsonb)", no_array},
      {"take_all('[7]'::jsonb)", no_array},
      {"take_all('[]'::jsonb)", "MT001 charges: an operation has 1 to 16, not 0"},
      {"take_all((select jsonb_agg('{\"limit\": \"disk\", \"key\": \"a\"}'::jsonb) from generate_series(1, 17)))",
       "MT001 charges: an operation has 1 to 16, not 17"},
      {R"(take_all('[{"limit": "disk"}]'::jsonb))", "MT001 key is missing"},
      {R"(take_all('[{"key": "disk"}]'::jsonb))", "MT001 limit name is missing"},
      {R"(take_all('[{"limit": "disk", "key": 42}]'::jsonb))", "MT001 charges: a limit and a key are strings"},
      {R"(take_all('[{"limit": null, "key": "a"}]'::jsonb))", "MT001 charges: a limit and a key are strings"},
      {R"(take_all('[{"limit": "disk", "key": "a", "costs": 3}]'::jsonb))", "MT001 charges: unknown field 'costs'"},
      {R"(take_all('[{"limit": "disk", "key": "a", "cost": "3"}]'::jsonb))", not_whole},
      {R"(take_all('[{"limit": "disk", "key": "a", "cost": null}]'::jsonb))", not_whole},
      {R"(take_all('[{"limit": "disk", "key": "a", "cost": 1.5}]'::jsonb))", not_whole},
      {R"(take_all('[{"limit": "disk", "key": "a", "cost": -1}]'::jsonb))", not_whole},
      {R"(take_all('[{"limit": "disk", "key": "a", "cost": 1e300}]'::jsonb))", not_whole},
      {R"(take_all('[{"limit": "disk", "key": "a"}, {"limit": "sms", "key": "a"}]'::jsonb, mode => 'up_to'))",
       "MT001 mode: up_to takes one charge, not 2"},
      {R"(take_all('[{"limit": "disk", "key": "a"}, {"limit": "gone", "key": "a"}]'::jsonb))",
       "MT002 unknown limit 'gone'"},
      {"take('disk', 'a', 9007199254740991, mode => 'force')",
       "MT001 cost: usage of 'disk' would pass 9007199254740991"},
      {"peek('disk', 'a', -1)", "MT001 cost of 'disk' must be 0 to 9007199254740991, not -1"},
      {"peek('unknown', 'a')", "MT002 unknown limit 'unknown'"},
      {"peek_all(null::jsonb)", no_array},
      {"give('disk', 'a', 0)", "MT001 cost of 'disk' must be 1 to 9007199254740991, not 0"},
      {"give('disk', 'a', id => '')", "MT001 id must have 1 to 128 bytes, not 0"},
      {"give_all('[]'::jsonb)", "MT001 charges: an operation has 1 to 16, not 0"},
      {"hold('disk', 'a', 0, '1 hour')", "MT001 cost of 'disk' must be 1 to 9007199254740991, not 0"},
      {"hold('disk', 'a', 1, null)", "MT001 ttl is missing"},
      {"hold('disk', 'a', 1, '0 seconds')", "MT001 ttl must be above 0 and at most 1 year (366 days), not 00:00:00"},
      {"hold('disk', 'a', 1, '-1 hour')", "MT001 ttl must be above 0 and at most 1 year (366 days), not -01:00:00"},
      {"hold('disk', 'a', 1, '367 days')", "MT001 ttl must be above 0 and at most 1 year (366 days), not 367 days"},
      {"hold('disk', 'a', 1, '400000 years')",
       "MT001 ttl must be above 0 and at most 1 year (366 days), not 400000 years"},
      {"hold('disk', 'a', 1, '1 hour', tag => '')",
       "MT001 tag, where it is the id as well, must have 1 to 128 bytes, not 0"},
      {"hold('disk', 'a', 1, '1 hour', tag => repeat('t', 129))",
       "MT001 tag, where it is the id as well, must have 1 to 128 bytes, not 129"},
      {"hold('disk', 'a', 1, '1 hour', 'i', repeat('t', 513))", "MT001 tag must have 1 to 512 bytes, not 513"},
      {"commit('open', '{}')", "MT001 amounts: the hold has 1 charge, not 0"},
      {"commit('open', '{1, 2}')", "MT001 amounts: the hold has 1 charge, not 2"},
      {"commit('open', '{null}')", "MT001 amount is missing"},
      {"commit('open', '{-1}')", "MT001 amount must be 0 to 9007199254740991, not -1"},
      {"extend('open')", "MT001 ttl is missing"},
      {"extend('open', '-1 second')", "MT001 ttl must be above 0 and at most 1 year (366 days), not -00:00:01"},
      {"cancel()", "MT001 give the id of the hold, or its tag"},
      {"usage('disk', null)", "MT001 key is missing"},
      {"usage('unknown', 'a')", "MT002 unknown limit 'unknown'"},
      {"reconcile('disk', 'a', null)", "MT001 amount is missing"},
      {"reconcile('disk', 'a', -1)", "MT001 amount must be 0 to 9007199254740991, not -1"},
      {"reconcile('disk', 'a', 9007199254740991)", "MT001 amount: usage of 'disk' would pass 9007199254740991"},
      {"override('disk', 'a', 0)", "MT001 amount must be 1 to 9007199254740991, not 0"},
      {"override('unknown', 'a', 1)", "MT002 unknown limit 'unknown'"},
      {"drop_limit(null)", "MT001 limit name is missing"},
      {"restrict(null, '{}')", "MT001 limit name is missing"},
      {"restrict('unknown', '{}')", "MT002 unknown limit 'unknown'"},
      {"restrict('disk', '{nobody_here}')", "MT001 roles: there is no role nobody_here"},
      {"restrict('disk', '{null}')", "MT001 roles: there is no role null"},
      {"expire(0)", "MT001 batch must be at least 1"},
      {"expire(null)", "MT001 batch must be at least 1"},
      {"prune(null)", "MT001 before is missing"},
      {"prune('2023-11-15 00:00+00')", "MT001 before must not be to come: 2023-11-15 00:00:00+00 is"},
  };
  PostgresServer& postgres = server_with_each_kind();
  SqlSession session(postgres);
  EXPECT_EQ(session.ask("select allowed from mete.hold('disk', 'a', 30, '1 hour', 'open')"), "t");
  for (const Exchange& row : rows) EXPECT_EQ(session.ask("select mete." + row.sql), row.answer) << row.sql;
  EXPECT_EQ(session.ask("select * from mete.usage('disk', 'a')"), "0|30|70|100|null") << "nothing has changed";
  EXPECT_EQ(session.ask("select count(*) from mete.meters"), "1");
  EXPECT_EQ(session.hint_of("select mete.take('unknown', 'a')"), "define it: select mete.define(…)");
}

// The library checks its arguments itself, but whoever has mete_use may call what it calls.
TEST(SqlFunctions, TheStoresFunctionsMintNothing) {
  const Exchange rows[] = {
      {"store_take('{disk}', '{a}', '{-500}', 'take', null, null, null, false, true, 0, 0, false)",
       "MT001 cost of 'disk' must be 0 to 9007199254740991, not -500"},
      {"store_each('{disk}', '{a}', '{-500}', null, null, null, 0, 0)", "MT001 costs must be 0 to 9007199254740991"},
      {"store_give('{disk}', '{a}', '{-500}', null, 0, 0)",
       "MT001 cost of 'disk' must be 0 to 9007199254740991, not -500"},
      {"store_close('open', 'commit', '{-500}', false, null, 0, 0)",
       "MT001 amount must be 0 to 9007199254740991, not -500"},
      {"store_close('open', 'commit', '{1, 2}', false, null, 0, 0)", "MT001 amounts: the hold has 1 charge, not 2"},
  };
  SqlSession session(server_with_each_kind());
  EXPECT_EQ(session.ask("select allowed from mete.hold('disk', 'a', 30, '1 hour', 'open')"), "t");
  for (const Exchange& row : rows) EXPECT_EQ(session.ask("select mete." + row.sql), row.answer) << row.sql;
  EXPECT_EQ(session.ask("select * from mete.usage('disk', 'a')"), "0|30|70|100|null");
}

}  // namespace
}  // namespace mete::store::postgres
