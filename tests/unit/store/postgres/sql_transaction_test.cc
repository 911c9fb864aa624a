// The functions inside of a transaction of their caller's: it is done with it, or not at all.
#include <gtest/gtest.h>

#include <string>

#include "store/postgres/migrate.h"
#include "support/postgres_server.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using support::PostgresServer;
using support::shared_postgres;
using namespace std::chrono_literals;

void make_tables(const PostgresServer& postgres) {
  postgres.query(
      "drop table if exists public.jobs; create table public.jobs (id text primary key);"
      "select mete.define('credits', 'stock', 10), mete.define('api', 'bucket', 10, '1 minute')");
}

PostgresServer& server_with_tables() {
  PostgresServer& postgres = shared_postgres();
  make_tables(postgres);
  return postgres;
}

// What is used and held, by whom there are jobs, ids, events.
constexpr const char* kState =
    "select u.used, u.held, (select count(*) from public.jobs), (select count(*) from mete.operations), "
    "(select count(*) from mete.events) from mete.usage('credits', 'a') u";

TEST(SqlTransaction, RolledBackNothingHasHappened) {
  const char* const calls[] = {
      "mete.take('credits', 'a', 4)",
      "mete.take('credits', 'a', 4, 'id')",
      "mete.take('credits', 'a', 11, 'a denial')",
      "mete.take('credits', 'a', 11, mode => 'force')",
      "mete.hold('credits', 'a', 4, '1 hour')",
      "mete.hold('credits', 'a', 4, '1 hour', tag => 'job')",
      R"(mete.take_all('[{"limit": "credits", "key": "a"}, {"limit": "api", "key": "a"}]'))",
      "mete.give('credits', 'a', 1, 'gift')",
      "mete.commit('open', '{2}')",
      "mete.cancel('open')",
      "mete.extend('open', '1 day')",
      "mete.reconcile('credits', 'a', 7)",
      "mete.override('credits', 'a', 100)",
      "mete.define('credits', 'stock', 1000)",
      "mete.drop_limit('credits')",
  };
  PostgresServer& postgres = server_with_tables();
  SqlSession session(postgres);
  EXPECT_EQ(session.ask("select allowed from mete.take('credits', 'a')"), "t");
  EXPECT_EQ(session.ask("select allowed from mete.hold('credits', 'a', 3, '1 hour', 'open')"), "t");
  const std::string all =
      "select m, o, l from mete.meters m, mete.operations o, mete.limits l where l.name = 'credits'";
  const std::string before = session.ask(all);
  ASSERT_FALSE(before.empty());
  for (const std::string call : calls) {
    session.ask("begin; insert into public.jobs values ('job')");
    EXPECT_EQ(session.ask("select count(*) from (select " + call + ") x"), "1") << call;
    EXPECT_EQ(session.ask("rollback"), "");
    EXPECT_EQ(session.ask(kState), "1|3|0|1|1") << call;
    EXPECT_EQ(session.ask(all), before) << call;
  }
}

TEST(SqlTransaction, CommittedAllOfItHas) {
  PostgresServer& postgres = server_with_tables();
  SqlSession session(postgres);
  SqlSession other(postgres);
  EXPECT_EQ(session.ask("begin; select held from mete.hold('credits', 'a', 4, '1 hour', tag => 'job') h, "
                        "mete.usage('credits', 'a') u"),
            "0")
      << "one statement sees what was before it";
  EXPECT_EQ(session.ask("insert into public.jobs values ('job'); select held from mete.usage('credits', 'a')"), "4");
  EXPECT_EQ(other.ask(kState), "0|0|0|0|0");
  EXPECT_EQ(session.ask("select allowed from mete.take('credits', 'a', 6, 'id')"), "t");
  EXPECT_EQ(session.ask("select allowed from mete.take('credits', 'a')"), "f");
  EXPECT_EQ(session.ask("commit"), "");
  EXPECT_EQ(other.ask(kState), "6|4|1|2|1");
}

TEST(SqlTransaction, SavepointsAreKeptTo) {
  PostgresServer& postgres = server_with_tables();
  SqlSession session(postgres);
  const Exchange rows[] = {
      {"begin; select held from mete.usage('credits', 'a')", "0"},
      {"select remaining from mete.hold('credits', 'a', 4, '1 hour', 'kept')", "6"},
      {"savepoint one; select remaining from mete.hold('credits', 'a', 5, '1 hour', 'undone')", "1"},
      {"select amount from mete.commit('kept')", "4"},
      {"rollback to one", ""},
      {kState, "0|4|0|1|0"},
      {"select mete.commit('undone')", "MT003 no hold 'undone': it is unknown, or was forgotten"},
      // A refusal is an error as any other: a transaction goes on behind the savepoint before it.
      {"select 1", "25P02 current transaction is aborted, commands ignored until end of transaction block"},
      {"rollback to one", ""},
      {"select remaining from mete.hold('credits', 'a', 6, '1 hour', 'undone')", "0"},
      {"release one; commit", ""},
      {kState, "0|10|0|2|0"},
      {"select string_agg(id || ' ' || state, ', ' order by id) from mete.holds", "kept held, undone held"},
  };
  for (const Exchange& row : rows) EXPECT_EQ(session.ask(row.sql), row.answer) << row.sql;
}

// In PL/pgSQL a block with an exception handler is such a savepoint.
TEST(SqlTransaction, ABlockThatFailsTakesItBack) {
  PostgresServer& postgres = server_with_tables();
  SqlSession session(postgres);
  session.ask(
      "do $$ begin"
      "  perform mete.hold('credits', 'a', 4, '1 hour', tag => 'job');"
      "  insert into public.jobs values ('job'), ('job');"
      "exception when unique_violation then insert into public.jobs values ('failed'); end $$");
  EXPECT_EQ(session.ask(kState), "0|0|1|0|0");
  EXPECT_EQ(
      session.ask("do $$ begin perform mete.take('nothing', 'a'); exception when sqlstate 'MT002' then null; end $$"),
      "");
}

// As a trigger: what does not fit is not inserted.
TEST(SqlTransaction, ATriggerKeepsATableWithinItsLimit) {
  PostgresServer& postgres = server_with_tables();
  SqlSession session(postgres);
  session.ask(
      "create or replace function public.charge() returns trigger language plpgsql as $$ begin"
      "  if not (mete.take('credits', 'a')).allowed then raise 'too many' using errcode = 'MT429'; end if;"
      "  return new; end $$;"
      "create trigger charge before insert on public.jobs for each row execute function public.charge()");
  EXPECT_EQ(session.ask("insert into public.jobs select generate_series(1, 11)"), "MT429 too many");
  EXPECT_EQ(session.ask(kState), "0|0|0|0|0");
  EXPECT_EQ(session.ask("insert into public.jobs select generate_series(1, 10)"), "");
  EXPECT_EQ(session.ask(kState), "10|0|10|0|10");
}

TEST(SqlTransaction, PreparedItIsHeldUntilItIsDecided) {
  PostgresServer postgres({.settings = {"max_prepared_transactions=2"}});
  postgres.query(migration_text(std::nullopt));
  make_tables(postgres);
  SqlSession session(postgres);
  const std::string work =
      "begin; select mete.hold('credits', 'a', 10, '1 hour', tag => 'job'); "
      "insert into public.jobs values ('job'); prepare transaction 'both'";
  EXPECT_EQ(session.ask(work), "");
  SqlSession other(postgres);
  auto answer = other.ask_meanwhile("select allowed from mete.take('credits', 'a')");
  ASSERT_TRUE(somebody_waits(postgres));
  EXPECT_EQ(session.ask("rollback prepared 'both'"), "");
  EXPECT_EQ(answer.get(), "t");
  EXPECT_EQ(session.ask("select amount from mete.give('credits', 'a')"), "1");
  EXPECT_EQ(session.ask(work), "");
  EXPECT_EQ(session.ask("commit prepared 'both'"), "");
  EXPECT_EQ(session.ask("select u.held, (select count(*) from public.jobs) from mete.usage('credits', 'a') u"), "10|1");
}

}  // namespace
}  // namespace mete::store::postgres
