// Who may do what (sql/110_access.sql, mete.restrict), and what nobody can do who tries.
#include <gtest/gtest.h>

#include <string>

#include "support/postgres_server.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using support::PostgresServer;
using support::shared_postgres;

// `nobody` may log in; `worker` and `billing` have mete_use, `boss` has mete_admin. All may make things in public.
PostgresServer& server_with_roles() {
  PostgresServer& postgres = shared_postgres();
  postgres.query(
      "do $$ begin create role nobody login; create role worker login; create role billing login; create role boss "
      "login;"
      "exception when duplicate_object then null; end $$;"
      "grant mete_use to worker, billing; grant mete_admin to boss; grant create on schema public to public;"
      "select mete.define('disk', 'stock', 100), mete.define('secret', 'stock', 100),"
      "  mete.restrict('secret', '{billing}')");
  return postgres;
}

TEST(SqlAccess, FunctionsAreForWhomTheyAreMeant) {
  SqlSession session(server_with_roles());
  const auto functions = [&session](const std::string& role, const std::string& schema) {
    return session.ask("select string_agg(distinct proname, ' ' order by proname) from pg_proc where pronamespace = '" +
                       schema + "'::regnamespace and has_schema_privilege('" + role + "', '" + schema +
                       "', 'usage') and has_function_privilege('" + role + "', oid, 'execute')");
  };
  // What servers call is there for those of the version before, too.
  const std::string served =
      "store_close store_each store_find_hold store_give store_hold_one store_holds store_holds_tagged store_limits "
      "store_oldest_holds store_override_of store_peek store_recall store_scan store_statistics store_take "
      "store_take_one store_usage";
  const std::string served_all =
      "store_clear store_close store_define store_each store_expire store_find_hold store_give store_hold_one "
      "store_holds store_holds_tagged store_limits store_oldest_holds store_override store_override_of store_peek "
      "store_recall store_reconcile store_scan store_shift store_statistics store_take store_take_one store_usage";
  EXPECT_EQ(functions("nobody", "mete"), "null");
  EXPECT_EQ(functions("nobody", "mete_private"), "null");
  EXPECT_EQ(functions("worker", "mete"),
            "cancel commit extend give give_all hold hold_all peek peek_all " + served + " take take_all usage");
  EXPECT_EQ(functions("worker", "mete_private"), "_is_reserved_id _may_use _may_use_hold _now_us _timestamp " + served);
  EXPECT_EQ(functions("boss", "mete"),
            "audit cancel commit define drop_limit expire extend give give_all hold hold_all override peek peek_all "
            "prune reconcile restrict " +
                served_all + " take take_all usage");
  EXPECT_EQ(functions("boss", "mete_private"),
            "_is_reserved_id _may_use _may_use_hold _now_us _timestamp " + served_all);
}

TEST(SqlAccess, NobodyTouchesTheTables) {
  SqlSession session(server_with_roles());
  EXPECT_EQ(session.ask("select rolname, relname, privilege from pg_class, pg_roles, "
                        "unnest('{select,insert,update,delete,truncate,references,trigger}'::text[]) privilege "
                        "where relnamespace = 'mete'::regnamespace and relkind in ('r', 'p', 'v') and "
                        "rolname in ('nobody', 'worker', 'boss') and has_table_privilege(rolname, pg_class.oid, "
                        "privilege) order by 1, 2"),
            "boss|holds|select;boss|orphans|select;boss|usage_events|select;"
            "worker|holds|select;worker|orphans|select;worker|usage_events|select");
  EXPECT_EQ(session.ask("select rolname from pg_roles where rolname in ('nobody', 'worker', 'boss') and "
                        "has_schema_privilege(rolname, 'mete', 'create')"),
            "");
}

TEST(SqlAccess, AsEachRoleMeetsIt) {
  PostgresServer& postgres = server_with_roles();
  const struct {
    const char* role;
    const char* sql;
    const char* answer;
  } rows[] = {
      {"nobody", "select mete.take('disk', 'a')", "42501 permission denied for schema mete"},
      {"nobody", "select * from mete.holds", "42501 permission denied for schema mete"},
      {"nobody", "select * from mete.meters", "42501 permission denied for schema mete"},
      {"worker", "select remaining from mete.take('disk', 'a')", "99"},
      {"worker", "select id from mete.hold('disk', 'a', 5, '1 hour', tag => 'job')", "job"},
      {"worker", "select id, state from mete.holds", "job|held"},
      {"worker", "select amount from mete.commit(tag => 'job')", "5"},
      {"worker", "select kind, amount from mete.usage_events order by 2", "take|1;commit|5"},
      {"worker", "select * from mete.orphans", ""},
      {"worker", "select * from mete.meters", "42501 permission denied for table meters"},
      {"worker", "update mete.meters set units = 0", "42501 permission denied for table meters"},
      {"worker", "delete from mete.events", "42501 permission denied for table events"},
      {"worker", "delete from mete.events_other", "42501 permission denied for table events_other"},
      {"worker", "delete from mete.operations", "42501 permission denied for table operations"},
      {"worker", "select mete_private._uncharge(1, 'a', 5)", "42501 permission denied for function _uncharge"},
      {"worker", "select mete.define('mine', 'stock', 1)", "42501 permission denied for function define"},
      {"worker", "select mete.override('disk', 'a', 1000)", "42501 permission denied for function override"},
      {"worker", "select mete.reconcile('disk', 'a', 0)", "42501 permission denied for function reconcile"},
      {"worker", "select mete.drop_limit('disk')", "42501 permission denied for function drop_limit"},
      {"worker", "select mete.restrict('disk', null)", "42501 permission denied for function restrict"},
      {"worker", "select mete.expire()", "42501 permission denied for function expire"},
      {"worker", "select mete.prune(now())", "42501 permission denied for function prune"},
      {"worker", "select mete.audit()", "42501 permission denied for function audit"},
      {"worker", "select mete_private.store_clear()", "42501 permission denied for function store_clear"},
      {"worker", "create table mete.mine (i int)", "42501 permission denied for schema mete"},
      {"boss", "select mete.define('mine', 'stock', 1)", ""},
      {"boss", "select used_now from mete.reconcile('disk', 'a', 3)", "3"},
      {"boss", "select remaining from mete.take('disk', 'a')", "96"},
      {"boss", "select expired from mete.expire()", "0"},
      {"boss", "select * from mete.audit()", ""},
      {"boss", "select mete.prune('2023-01-01')", "0"},
      {"boss", "select mete.drop_limit('mine')", "t"},
      {"boss", "update mete.meters set units = 0", "42501 permission denied for table meters"},
      {"boss", "select mete_private._clear()", "42501 permission denied for function _clear"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(SqlSession(postgres, row.role).ask(row.sql), row.answer) << row.role << ": " << row.sql;
}

TEST(SqlAccess, ARestrictedLimitIsKeptFromOthers) {
  PostgresServer& postgres = server_with_roles();
  SqlSession billing(postgres, "billing");
  SqlSession worker(postgres, "worker");
  SqlSession boss(postgres, "boss");
  EXPECT_EQ(billing.ask("select remaining from mete.hold('secret', 'a', 10, '1 hour', 'h', 'tag')"), "90");
  EXPECT_EQ(billing.ask("select remaining from mete.take('secret', 'a', 10, 'known')"), "80");
  const std::string refusal = "42501 limit 'secret' is not for role worker";
  const char* const calls[] = {
      "take('secret', 'a')",
      "take('secret', 'b', 0)",
      "take('secret', 'a', 10, 'known')",
      R"(take_all('[{"limit": "disk", "key": "a"}, {"limit": "secret", "key": "a"}]'::jsonb))",
      "peek('secret', 'a')",
      "give('secret', 'a')",
      "hold('secret', 'a', 1, '1 hour')",
      "hold('secret', 'a', 10, '1 hour', 'h', 'tag')",
      "commit('h')",
      "commit(tag => 'tag')",
      "cancel('h')",
      "extend('h', '1 hour')",
      "usage('secret', 'a')",
      "store_each('{secret}', '{a}', '{1}', null, null, null, 0, 0)",
      "store_take('{secret}', '{a}', '{1}', 'take', null, null, null, false, true, 0, 0, true)",
      "store_recall('{secret}', '{a}', '{10}', 'take', 'known', 1000, 0)",
      "store_scan('secret', 0, 10, 0)",
      "store_holds('secret', 'a', 10, 0)",
      "store_override_of('secret', 'a')",
  };
  for (const std::string call : calls) EXPECT_EQ(worker.ask("select mete." + call), refusal) << call;
  EXPECT_EQ(worker.hint_of("select mete.take('secret', 'a')"), "mete.restrict() says who may use it");
  const char* const views[] = {
      "mete.holds",
      "mete.usage_events",
      "mete_private.store_find_hold('h', 86400000000, 0)",
      "mete_private.store_oldest_holds(10, 0)",
      "mete_private.store_holds_tagged('tag', 0)",
      "mete_private.store_limits() where name = 'secret'",
  };
  for (const std::string view : views) {
    EXPECT_EQ(worker.ask("select count(*) from " + view), "0") << view;
    EXPECT_EQ(billing.ask("select count(*) from " + view), "1") << view;
    EXPECT_EQ(boss.ask("select count(*) from " + view), "1") << view;
  }
  EXPECT_EQ(boss.ask("select used, held from mete.usage('secret', 'a')"), "10|10") << "nothing has changed";
  EXPECT_EQ(boss.ask("select mete.restrict(\"limit\" => 'secret', roles => null)"), "");
  EXPECT_EQ(worker.ask("select remaining from mete.take('secret', 'a')"), "79");
  EXPECT_EQ(boss.ask("select mete.restrict('secret', '{}')"), "");
  EXPECT_EQ(billing.ask("select mete.take('secret', 'a')"), "42501 limit 'secret' is not for role billing");
  EXPECT_EQ(boss.ask("select remaining from mete.take('secret', 'a')"), "78");
}

// Who ends a node's draw takes from the limit what the node goes on to spend.
TEST(SqlAccess, WhatNodesKeepIsForTheAdminAlone) {
  PostgresServer& postgres = server_with_roles();
  SqlSession worker(postgres, "worker");
  SqlSession boss(postgres, "boss");
  EXPECT_EQ(boss.ask("select mete.define('mete.nodes', 'stock', 100)"), "");
  EXPECT_EQ(boss.ask("select remaining from mete.take('mete.nodes', 'a')"), "99");
  const std::string refusal = "42501 limit 'mete.nodes' is not for role worker";
  for (const std::string call :
       {"mete.take('mete.nodes', 'a')", "mete.give('mete.nodes', 'a')", "mete.usage('mete.nodes', 'a')",
        "mete_private.store_take_one('mete.nodes', 'a', 1, 0)"}) {
    EXPECT_EQ(worker.ask("select " + call), refusal) << call;
  }
  // An id may begin with a part in braces: by it a draw lies with its key.
  for (const std::string id : {"mete-1", "{k}mete-1", "{mete}mete-x", "{}mete-1"}) {
    ASSERT_EQ(boss.ask("select allowed from mete.hold('disk', 'k', 30, '1 hour', '" + id + "', 'mete-a')"), "t");
    const auto unknown = [](const std::string& name) {
      return "MT003 no hold '" + name + "': it is unknown, or was forgotten";
    };
    const std::string of_id = "'" + id + "'";
    for (const std::string& call : {"mete.commit(" + of_id + ")", "mete.commit(" + of_id + ", '{1}')",
                                    "mete.cancel(" + of_id + ")", "mete.extend(" + of_id + ", '1 s')",
                                    "mete_private.store_close(" + of_id + ", 'cancel', null, false, null, 0, 0)",
                                    "mete_private.store_close(" + of_id + ", 'extend', null, false, 1000000, 0, 0)"}) {
      EXPECT_EQ(worker.ask("select " + call), unknown(id)) << call;
    }
    // Nor is its id told to who asks by its tag.
    for (const std::string call : {"mete.commit(tag => 'mete-a')", "mete.cancel(tag => 'mete-a')",
                                   "mete.extend(ttl => '1 s', tag => 'mete-a')"}) {
      EXPECT_EQ(worker.ask("select " + call), unknown("mete-a")) << call;
    }
    for (const std::string& view :
         {std::string("mete.holds where state = 'held'"), "mete_private.store_find_hold(" + of_id + ", 86400000000, 0)",
          std::string("mete_private.store_oldest_holds(10, 0)"),
          std::string("mete_private.store_holds_tagged('mete-a', 0)"),
          std::string("mete_private.store_holds('disk', 'k', 10, 0)")}) {
      EXPECT_EQ(worker.ask("select count(*) from " + view), "0") << view;
      EXPECT_EQ(boss.ask("select count(*) from " + view), "1") << view;
    }
    EXPECT_EQ(boss.ask("select amount, remaining from mete.commit(" + of_id + ", '{20}')"), "20|80") << id;
    EXPECT_EQ(boss.ask("select remaining from mete.give('disk', 'k', 20)"), "100");
  }
  // Braces alone hide nothing.
  for (const std::string id : {"{mete-1", "x{k}mete-1", "{k}x-mete-1"}) {
    EXPECT_EQ(worker.ask("select allowed from mete.hold('disk', 'k', 1, '1 hour', '" + id + "')"), "t");
    EXPECT_EQ(worker.ask("select remaining from mete.cancel('" + id + "')"), "100") << id;
  }
}

// The amount of that key is a number of the nodes', and no bound.
TEST(SqlAccess, TheKeyOfTheGenerationIsNobodys) {
  PostgresServer& postgres = server_with_roles();
  SqlSession worker(postgres, "worker");
  SqlSession boss(postgres, "boss");
  const std::string refusal = "MT001 key 'mete-generation' is for what nodes keep for themselves";
  for (const std::string limit : {"plain", "moving", "drip"}) {
    const std::string rule = limit == "plain"    ? "'window', 100, '1 hour'"
                             : limit == "moving" ? "'sliding', 100, '1 hour'"
                                                 : "'bucket', 100, '1 hour'";
    ASSERT_EQ(boss.ask("select mete.define('" + limit + "', " + rule + ")"), "");
    ASSERT_NE(boss.ask("select mete_private.store_override('" + limit + "', 'mete-generation', 1000000, 0)"), "");
    const std::string of_key = "'" + limit + "', 'mete-generation'";
    const std::string each = "array['" + limit + "'], array['mete-generation'], array[5]::bigint[]";
    const std::string charges = R"('[{"limit": ")" + limit + R"(", "key": "mete-generation"}]')";
    for (SqlSession* session : {&worker, &boss}) {
      for (const std::string& call :
           {"mete.take(" + of_key + ", 5)",
            "mete.take(" + of_key + ", 5, id => 'once')",
            "mete.take(" + of_key + ", 5, mode => 'force')",
            "mete.take(" + of_key + ", 5, mode => 'up_to')",
            "mete.take_all(" + charges + ")",
            "mete.peek(" + of_key + ")",
            "mete.peek_all(" + charges + ")",
            "mete.give(" + of_key + ")",
            "mete.give_all(" + charges + ")",
            "mete.hold(" + of_key + ", 5, '1 hour')",
            "mete.hold(" + of_key + ", 5, '1 hour', tag => 'job')",
            "mete.hold_all(" + charges + ", '1 hour')",
            "mete.usage(" + of_key + ")",
            "mete_private.store_take_one(" + of_key + ", 5, 0)",
            "mete_private.store_take(" + each + ", 'take', null, null, null, false, false, 0, 0, false)",
            "mete_private.store_hold_one(" + of_key + ", 5, 'h', 1000000, null, false, 0, 0)",
            "mete_private.store_each(" + each + ", array[''], array[0]::bigint[], array[''], 0, 0)",
            "mete_private.store_each(" + each + ", array['h'], array[1000000]::bigint[], array[''], 0, 0)",
            "mete_private.store_peek(" + each + ", 0, true)",
            "mete_private.store_give(" + each + ", null, 0, 0)",
            "mete_private.store_usage(" + of_key + ", 0)"}) {
        EXPECT_EQ(session->ask("select " + call), refusal) << call;
      }
    }
    for (const std::string& call : {"mete.override(" + of_key + ", 5)", "mete.reconcile(" + of_key + ", 5)"}) {
      EXPECT_EQ(boss.ask("select " + call), refusal) << call;
    }
    EXPECT_EQ(boss.ask("select mete_private.store_override_of(" + of_key + ")"), "1000000");
    EXPECT_EQ(boss.ask("select count(*) from mete_private.store_scan('" + limit + "', 0, 10, 0) where key is not null"),
              "0");
    EXPECT_EQ(worker.ask("select remaining from mete.take('" + limit + "', 'a')"), "99");
  }
}

// What the worker makes, in the hope that it is taken for PostgreSQL's own.
constexpr const char* kShadows =
    "set search_path = public, pg_catalog;"
    "create or replace function public.pg_has_role(name, name, text) returns boolean language sql as 'select true';"
    "create or replace function public.pg_has_role(name, text, text) returns boolean language sql as 'select true';"
    "create or replace function public.clock_timestamp() returns timestamptz language sql as $$ select timestamptz "
    "'2099-01-01' $$;"
    "create or replace function public.unnest(name[]) returns setof name language sql as $$ select 'worker'::name $$;"
    "create or replace function public.least(bigint, bigint) returns bigint language sql as 'select 0::bigint';"
    "create or replace function public.octet_length(text) returns integer language sql as 'select 1';"
    "create or replace function public.anything(bigint, bigint) returns boolean language sql as 'select true';"
    "create or replace function public.shout(bigint, interval) returns interval language plpgsql as "
    "$$ begin raise 'run as %', current_user; end $$;"
    "do $$ begin"
    "  create operator public.<= (function = public.anything, leftarg = bigint, rightarg = bigint);"
    "  create operator public.* (function = public.shout, leftarg = bigint, rightarg = interval);"
    "exception when duplicate_function then null; end $$;"
    "create temp table limits as select 'secret'::text as name, 1000000 as amount;"
    "create temp table meters (limit_id int, key text, units bigint);"
    "create temp table pg_roles as select 'billing'::name as rolname;";

TEST(SqlAccess, ShadowsOfPostgresOwnDoNothing) {
  PostgresServer& postgres = server_with_roles();
  SqlSession billing(postgres, "billing");
  SqlSession worker(postgres, "worker");
  EXPECT_EQ(billing.ask("select allowed from mete.hold('secret', 'a', 10, '1 hour', 'h')"), "t");
  ASSERT_EQ(worker.ask(kShadows), "");
  ASSERT_EQ(worker.ask("select pg_has_role('worker'::name, 'mete_admin'::name, 'member'), 2::bigint <= 1::bigint"),
            "t|t")
      << "they are found, where nobody takes care";
  const Exchange rows[] = {
      {"select count(*) from mete.holds", "0"},
      {"select mete.usage('secret', 'a')", "42501 limit 'secret' is not for role worker"},
      {"select allowed from mete.take('disk', 'a', 101)", "f"},
      {"select remaining from mete.take('disk', 'a', 99)", "1"},
      {"select allowed from mete.hold('disk', 'a', 2, '1 hour')", "f"},
      {"select id, remaining from mete.hold('disk', 'a', 1, '1 hour', 'mine')", "mine|0"},
      {"select amount from mete.commit('mine')", "1"},
      {"select mete.take('disk', '')", "MT001 key must have 1 to 512 bytes, not 0"},
      {"select id, made_at from mete.holds", "mine|2023-11-14 22:15:23.456789+00"},
  };
  for (const Exchange& row : rows) EXPECT_EQ(worker.ask(row.sql), row.answer) << row.sql;
  // Whoever has more rights and looks must not run them either.
  SqlSession boss(postgres, "boss");
  EXPECT_EQ(boss.ask("set search_path = public, pg_catalog; select count(at), max(charged_at) from mete.usage_events"),
            "2|2023-11-14 22:15:23.456789+00");
  EXPECT_EQ(boss.ask("select count(made_at) from mete.holds"), "2");
  EXPECT_EQ(boss.ask("select expired from mete.expire()"), "0");
  worker.ask(
      "drop operator public.<= (bigint, bigint); drop operator public.* (bigint, interval); drop function "
      "public.pg_has_role(name, name, text), public.pg_has_role(name, text, text), public.clock_timestamp(), "
      "public.unnest(name[]), public.least(bigint, bigint), public.octet_length(text), "
      "public.anything(bigint, bigint), public.shout(bigint, interval)");
}

// A condition that costs next to nothing would be asked first, and could tell what it sees.
TEST(SqlAccess, AConditionSeesNoRowThatIsKeptFromItsReader) {
  PostgresServer& postgres = server_with_roles();
  EXPECT_EQ(SqlSession(postgres, "billing").ask("select allowed from mete.hold('secret', 'hush', 10, '1 second', 'h')"),
            "t");
  EXPECT_EQ(SqlSession(postgres, "billing").ask("select allowed from mete.take('secret', 'hush', 10)"), "t");
  SqlSession worker(postgres, "worker");
  ASSERT_EQ(
      worker.ask("create or replace function pg_temp.tell(t text) returns boolean language plpgsql cost 0.0000001 as "
                 "$$ begin raise 'seen: %', t; end $$"),
      "");
  ASSERT_EQ(worker.ask("select pg_temp.tell('x')"), "P0001 seen: x");
  for (const std::string view : {"holds", "usage_events", "orphans"}) {
    EXPECT_EQ(worker.ask("select * from mete." + view + " where pg_temp.tell(key)"), "") << view;
  }
}

TEST(SqlAccess, WhatRunsWithMoreRightsIsPinned) {
  SqlSession session(server_with_roles());
  // What roles may call runs as the owner on a path of its own; or it is one of those that views are made of, which
  // have a path of their own too, or say in full what they mean.
  EXPECT_EQ(
      session.ask(
          "select proname from pg_proc p where pronamespace in ('mete'::regnamespace, 'mete_private'::regnamespace) "
          "and "
          "(has_function_privilege('mete_use', oid, 'execute') or has_function_privilege('boss', oid, 'execute')) "
          "and not (prosecdef and proconfig @> array['search_path=pg_catalog, pg_temp']) "
          "and not (proname in ('_may_use', '_may_use_hold') and proconfig @> array['search_path=pg_catalog, "
          "pg_temp']) "
          "and not (proname in ('_now_us', '_timestamp', '_is_reserved_id') and prosrc ~ 'operator\\(pg_catalog') "
          // Nothing but a call of what is pinned.
          "and not (proname ~ '^store_' and prosrc ~ '^\\s*select (\\* from )?mete_private\\.store_\\w+\\([$0-9, "
          "]*\\)\\s*$')"),
      "");
  EXPECT_EQ(session.ask("select count(*) > 20 from pg_proc where pronamespace in ('mete'::regnamespace, "
                        "'mete_private'::regnamespace) and prosecdef"),
            "t");
  EXPECT_EQ(session.ask("select proname from pg_proc where pronamespace in ('mete'::regnamespace, "
                        "'mete_private'::regnamespace) and prosecdef and "
                        "not coalesce(proconfig @> array['search_path=pg_catalog, pg_temp'], false)"),
            "");
  // No text becomes a statement.
  EXPECT_EQ(session.ask("select proname from pg_proc where pronamespace in ('mete'::regnamespace, "
                        "'mete_private'::regnamespace) and prosrc ~* '\\mexecute\\M'"),
            "");
  EXPECT_EQ(session.ask("select relname from pg_class where relnamespace = 'mete'::regnamespace and relkind = 'v' and "
                        "not coalesce(reloptions @> '{security_barrier=true}', false)"),
            "");
}

}  // namespace
}  // namespace mete::store::postgres
