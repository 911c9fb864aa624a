#include "store/postgres/migrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "store/postgres/parameters.h"
#include "support/files.h"
#include "support/postgres_server.h"
#include "unit/store/postgres/postgres_fixture.h"

namespace mete::store::postgres {
namespace {

using support::has;
using support::PostgresServer;
using Step = MigrationReport::Step;

constexpr Migration kThree[] = {
    {.version = 1, .name = "first", .up = "create table mete.a (i int);", .down = "drop schema mete cascade"},
    {.version = 2,
     .name = "second",
     .up = "create table mete.b (i int); insert into mete.a values (2);",
     .down = "drop table mete.b; delete from mete.a where i = 2",
     .check_down = "select 'row ' || i from mete.b order by i"},
    {.version = 3, .name = "third", .up = "alter table mete.b add column j int default 3;"},
};

// One server for all of them, without a schema.
PostgresServer& server_without_schema() {
  static PostgresServer server;
  server.query("drop schema if exists mete cascade; drop schema if exists mete_private cascade");
  return server;
}

std::string outcome_of(const Result<MigrationReport>& report) {
  if (!report) return "refused: " + report.error().message;
  std::string text = std::to_string(report->from) + "→" + std::to_string(report->to);
  for (const Step& step : report->steps) {
    text += (step.is_up ? " +" : " -") + std::to_string(step.version) + " " + step.name;
  }
  return text;
}

TEST(PostgresMigrate, GoesUpAndDown) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  const struct {
    std::optional<int> to;
    std::string expected;
    std::string tables;
  } rows[] = {
      {0, "0→0", ""},
      {1, "0→1 +1 first", "a schema_version"},
      {1, "1→1", "a schema_version"},
      {2, "1→2 +2 second", "a b schema_version"},
      {0, "2→0 -2 second -1 first", ""},
      {2, "0→2 +1 first +2 second", "a b schema_version"},
      {1, "2→1 -2 second", "a schema_version"},
      {std::nullopt, "1→3 +2 second +3 third", "a b schema_version"},
      {std::nullopt, "3→3", "a b schema_version"},
      {2,
       "refused: version 3 (third) cannot be taken back, and nothing was changed: it cannot be undone without loss; "
       "restore a backup",
       "a b schema_version"},
      {4, "refused: there is no version 4; there are 0 (nothing installed) to 3", "a b schema_version"},
      {-1, "refused: there is no version -1; there are 0 (nothing installed) to 3", "a b schema_version"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(outcome_of(migrate(connection, kThree, row.to)), row.expected);
    EXPECT_EQ(text_of(connection.run_text("select string_agg(relname, ' ' order by relname) from pg_class where "
                                          "relnamespace = to_regnamespace('mete') and relkind = 'r'",
                                          patience())),
              row.tables);
    EXPECT_TRUE(connection.is_idle());
  }
  EXPECT_EQ(installed_version(connection), 3);
  EXPECT_EQ(postgres.query("select version, name, applied_at is not null from mete.schema_version order by version"),
            (PostgresServer::Rows{{"1", "first", "t"}, {"2", "second", "t"}, {"3", "third", "t"}}));
}

TEST(PostgresMigrate, LosesNothingOnTheWayDown) {
  Connection connection = must_open(server_without_schema().url());
  const std::span<const Migration> two = std::span(kThree).first(2);
  ASSERT_TRUE(migrate(connection, two, std::nullopt));
  ASSERT_TRUE(connection.run_text("insert into mete.b values (7), (8)", patience()));
  EXPECT_EQ(outcome_of(migrate(connection, two, 0)),
            "refused: version 2 (second) cannot be taken back, and nothing was changed, since this would be lost: row "
            "7, row 8");
  EXPECT_EQ(installed_version(connection), 2);
  ASSERT_TRUE(connection.run_text("delete from mete.b", patience()));
  EXPECT_EQ(outcome_of(migrate(connection, two, 0)), "2→0 -2 second -1 first");
  EXPECT_EQ(installed_version(connection), 0);
}

TEST(PostgresMigrate, AFailureLeavesEverythingAsItWas) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  const Migration list[] = {
      kThree[0],
      kThree[1],
      {.version = 3, .name = "broken", .up = "drop table mete.a; select 1 / 0;", .down = "select 1"},
  };
  EXPECT_EQ(outcome_of(migrate(connection, list, std::nullopt)),
            "refused: version 3 (broken) cannot be installed, and nothing was changed: division by zero");
  EXPECT_EQ(installed_version(connection), 0);
  EXPECT_EQ(outcome_of(migrate(connection, list, 2)), "0→2 +1 first +2 second");
  EXPECT_FALSE(migrate(connection, list, std::nullopt));
  EXPECT_EQ(installed_version(connection), 2);
  EXPECT_EQ(postgres.query("select i from mete.a"), (PostgresServer::Rows{{"2"}}));
}

TEST(PostgresMigrate, TwoAtOnceAreOneAfterTheOther) {
  const std::string url = server_without_schema().url();
  std::vector<std::string> told(4);
  std::vector<std::thread> threads;
  for (std::string& each : told) {
    threads.emplace_back([&url, &each] {
      Connection connection = must_open(url);
      each = outcome_of(migrate(connection, kThree, std::nullopt));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::ranges::sort(told);
  EXPECT_EQ(told, (std::vector<std::string>{"0→3 +1 first +2 second +3 third", "3→3", "3→3", "3→3"}));
}

TEST(PostgresMigrate, RefusesWhatItDoesNotKnow) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  ASSERT_TRUE(migrate(connection, kThree, std::nullopt));
  EXPECT_EQ(outcome_of(migrate(connection, std::span(kThree).first(2), std::nullopt)),
            "refused: the schema mete of this database is at version 3, and this program knows them up to 2; use the "
            "program that installed it, or a later one");
  postgres.query("drop schema mete cascade; create schema mete");
  EXPECT_EQ(outcome_of(migrate(connection, kThree, 1)), "0→1 +1 first") << "one that is empty is used";
  postgres.query(
      "drop schema mete cascade; create schema mete; create function mete.f() returns int language sql as "
      "'select 1'");
  EXPECT_TRUE(has(outcome_of(migrate(connection, kThree, 1)), "a schema mete that is not Mete's"));
  postgres.query("create database latin encoding 'LATIN1' template template0");
  Connection latin = must_open(postgres.url("latin"));
  EXPECT_TRUE(has(outcome_of(migrate(latin, kThree, 1)), "the encoding of this database is LATIN1"));
}

TEST(PostgresMigrate, SaysWhatARoleMayNot) {
  PostgresServer& postgres = server_without_schema();
  postgres.query("drop role if exists guest; create role guest login");
  Connection connection = must_open(postgres.url("postgres", "guest"));
  EXPECT_EQ(outcome_of(migrate(connection, kThree, std::nullopt)),
            "refused: cannot make the schema mete: permission denied for database postgres; run it as a superuser, or "
            "as the owner of the database");
  const Migration list[] = {{.version = 1,
                             .name = "roles",
                             .up = "do $$ begin raise 'no role' using errcode = '42501', hint = 'make it'; end $$;",
                             .down = "drop schema mete cascade"}};
  Connection owner = must_open(postgres.url());
  EXPECT_EQ(outcome_of(migrate(owner, list, std::nullopt)),
            "refused: version 1 (roles) cannot be installed, and nothing was changed: no role; make it");
}

// Whoever runs it by hand gets the same.
TEST(PostgresMigrate, ItsTextDoesWhatItDoes) {
  PostgresServer& postgres = server_without_schema();
  postgres.query(migration_text(kThree, 2));
  Connection connection = must_open(postgres.url());
  EXPECT_EQ(outcome_of(migrate(connection, kThree, std::nullopt)), "2→3 +3 third");
}

TEST(PostgresMigrate, TheSchemaIsWhatItsFilesSay) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(support::repository() / "src/store/postgres/sql/version_1")) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string text;
  for (const auto& file : files) {
    std::istringstream lines(support::read_file(file));
    for (std::string line; std::getline(lines, line);) {
      text += line + "\n";
    }
  }
  EXPECT_EQ(migrations()[0].up, text);
  EXPECT_TRUE(has(migration_text(std::nullopt), text));
}

TEST(PostgresMigrate, TheSchemaIsInstalledAndTakenAway) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  EXPECT_EQ(outcome_of(migrate(connection, std::nullopt)),
            "0→4 +1 tables and functions +2 exact sliding windows +3 commits and cancels again "
            "+4 a schema for private functions");
  EXPECT_EQ(outcome_of(migrate(connection, std::nullopt)), "4→4");
  EXPECT_EQ(outcome_of(migrate(connection, 1)),
            "4→1 -4 a schema for private functions -3 commits and cancels again -2 exact sliding windows");
  EXPECT_EQ(outcome_of(migrate(connection, 2)), "1→2 +2 exact sliding windows");
  EXPECT_EQ(outcome_of(migrate(connection, 0)), "2→0 -2 exact sliding windows -1 tables and functions");
  EXPECT_EQ(postgres.query("select to_regnamespace('mete_private')")[0][0], "");
  postgres.query(migration_text(std::nullopt));
  EXPECT_EQ(installed_version(connection), 4);
  EXPECT_EQ(what_is_wrong(connection).value(), std::vector<std::string>());
  postgres.query("drop schema mete cascade");
  ASSERT_TRUE(migrate(connection, std::nullopt)) << "what is left in mete_private is in nobody's way";
  EXPECT_EQ(what_is_wrong(connection).value(), std::vector<std::string>());
}

TEST(PostgresMigrate, ASchemaMetePrivateOfSomebodyElseIsLeftAlone) {
  PostgresServer& postgres = server_without_schema();
  postgres.query("create schema mete_private; create table mete_private.theirs (i int)");
  Connection connection = must_open(postgres.url());
  EXPECT_TRUE(has(outcome_of(migrate(connection, std::nullopt)), "a schema mete_private that is not Mete's"));
  EXPECT_EQ(postgres.query("select count(*) from mete_private.theirs")[0][0], "0");
  EXPECT_EQ(installed_version(connection), 0);
}

// Databases that were restored from dumps without roles and rights, as pg_dump -O -x makes them: everybody may call
// everything. They are of each version, with a hold that is open, one that is committed, and usage; the files were made
// so and stay.
class PostgresDump : public ::testing::TestWithParam<int> {};

TEST_P(PostgresDump, WithoutRolesIsBroughtUp) {
  PostgresServer& postgres = server_without_schema();
  const int version = GetParam();
  const std::string folder = "tests/golden/postgres-v" + std::to_string(version);
  postgres.query(support::read_file(support::repository() / folder / "dump.sql"));
  EXPECT_EQ(postgres.query("select has_function_privilege('public', 'mete.drop_limit(text)', 'execute')")[0][0], "t");
  Connection connection = must_open(postgres.url());
  EXPECT_EQ(installed_version(connection), version);
  const auto balances = postgres.query("select limit_id, key, units from mete.meters where limit_id = 1");
  const auto report = migrate(connection, std::nullopt);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->steps.size(), migrations().size() - static_cast<std::size_t>(version));
  EXPECT_EQ(what_is_wrong(connection).value(), std::vector<std::string>());
  EXPECT_EQ(postgres.query("select has_function_privilege('public', 'mete.drop_limit(text)', 'execute')")[0][0], "f");
  EXPECT_EQ(postgres.query("select limit_id, key, units from mete.meters where limit_id = 1"), balances);
  EXPECT_EQ(postgres.query("select used, held from mete.usage('credits', 'alice')"),
            (PostgresServer::Rows{{"10", "5"}}));
  EXPECT_EQ(postgres.query("select count(*) from mete.meters where older <> '{}' and older_units <> "
                           "(select sum(u) from unnest(older) with ordinality o (u, i) where i % 2 = 0)")[0][0],
            "0");
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(postgres.query("select amount, remaining from mete.commit('open', '{2}')"),
              (PostgresServer::Rows{{"2", "88"}}));
  }
  // From version 3 on it is known what a commit was answered.
  EXPECT_EQ(text_of(connection.run_text("select amount from mete.commit('committed')", patience())),
            version < 3 ? "failed: MT003 hold 'committed' is committed already: a hold is final once" : "5");
  EXPECT_EQ(postgres.query("select count(*) from mete.audit()")[0][0], "0");
}

INSTANTIATE_TEST_SUITE_P(Versions, PostgresDump, ::testing::Values(1, 2, 3, 4));

TEST(PostgresMigrate, FunctionsRolesAndRightsAreRepaired) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  ASSERT_TRUE(migrate(connection, std::nullopt));
  ASSERT_TRUE(migrate(connection, std::nullopt)->repaired.empty());
  postgres.query("do $$ begin create role somebody; exception when duplicate_object then null; end $$");
  const struct {
    std::string damage;
    std::string_view told;
  } rows[] = {
      {"drop owned by mete_use; drop role mete_use", "role mete_use is missing"},
      {"grant execute on all functions in schema mete to public", "everybody may call mete.take("},
      {"grant execute on all functions in schema mete_private to public", "everybody may call mete_private._write("},
      {"grant usage on schema mete to public", "everybody may use the schema mete"},
      {"grant usage on schema mete_private to public", "everybody may use the schema mete_private"},
      {"grant select on all tables in schema mete to public", "everybody may read or change mete.meters"},
      {"revoke execute on function mete.hold from mete_use", "mete_use may not call mete.hold("},
      {"grant execute on function mete.define to mete_use", "mete_use may call mete.define("},
      {"grant update on mete.meters to mete_admin", "mete_admin may read or change mete.meters"},
      {"revoke select on mete.holds from mete_use", "mete_use may not read mete.holds"},
      {"drop function mete.take(text, text, bigint, text, text)", "function mete.take is missing"},
      {"drop view mete.holds", "view mete.holds is missing"},
      {"create or replace view mete.holds with (security_barrier) as select o.id, o.charge, o.tag, l.name as "
       "\"limit\", "
       "o.key, o.amount, o.state, now() as made_at, now() as expires_at, now() as final_at "
       "from mete.operations o join mete.limits l on l.id = o.limit_id",
       "view mete.holds has another query"},
      {"alter view mete.orphans reset (security_barrier)", "view mete.orphans has other options"},
      {"alter view mete.usage_events owner to somebody", "view mete.usage_events belongs to somebody"},
      {"create function mete.take(text, integer) returns boolean language sql as 'select true'",
       "function mete.take(text,integer) is not of Mete's making"},
      {"drop function mete_private._write", "function mete_private._write is missing"},
      {"create or replace function mete.drop_limit(name text) returns boolean language plpgsql security definer "
       "set search_path = pg_catalog, pg_temp as $$ begin return true; end $$",
       "function mete.drop_limit has another body"},
      {"create or replace function mete_private._uncharge(limit_id integer, key text, cost bigint) returns void "
       "language plpgsql as $$ begin end $$",
       "function mete_private._uncharge has another body"},
      {"alter function mete.take(text, text, bigint, text, text) security invoker",
       "function mete.take runs with the rights of its caller"},
      {"alter function mete_private._write security definer",
       "function mete_private._write runs with the rights of its owner"},
      {"alter function mete.commit set search_path = public", "function mete.commit has other settings: "},
      {"alter function mete.commit reset all", "function mete.commit has other settings: {}"},
      {"alter function mete.cancel owner to somebody", "function mete.cancel belongs to somebody"},
  };
  for (const auto& row : rows) {
    postgres.query(row.damage);
    std::string told;
    for (const std::string& each : what_is_wrong(connection).value()) told += each + "\n";
    EXPECT_TRUE(has(told, row.told)) << row.damage << ": " << told;
    const auto report = migrate(connection, std::nullopt);
    ASSERT_TRUE(report) << row.damage << ": " << report.error().message;
    EXPECT_FALSE(report->repaired.empty()) << row.damage;
    EXPECT_EQ(what_is_wrong(connection).value(), std::vector<std::string>()) << row.damage;
  }
  postgres.query("select mete.define('api', 'stock', 100)");
  EXPECT_EQ(postgres.query("select remaining from mete.take('api', 'k', 3)")[0][0], "97");
}

TEST(PostgresMigrate, WhatApplicationsCallIsInASchemaOfItsOwn) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  ASSERT_TRUE(migrate(connection, std::nullopt));
  EXPECT_EQ(postgres.query("select count(*) from pg_proc p where p.pronamespace = 'mete'::regnamespace and "
                           "obj_description(p.oid, 'pg_proc') is null")[0][0],
            "0")
      << "each has a comment";
  EXPECT_EQ(postgres.query("select count(*) from pg_proc where pronamespace = 'mete'::regnamespace and "
                           "proname ~ '^_'")[0][0],
            "0");
}

// The servers of version 3 call these until they are replaced.
TEST(PostgresMigrate, ServersOfTheVersionBeforeGoOn) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  ASSERT_TRUE(migrate(connection, std::nullopt));
  postgres.query(
      "do $$ begin create role app login; exception when duplicate_object then null; end $$;"
      "grant mete_use to app; select mete.define('api', 'stock', 100)");
  Connection app = must_open(postgres.url("postgres", "app"));
  const struct {
    std::string_view sql;
    std::string_view answer;
  } rows[] = {
      {"select remaining from mete.store_take_one('api', 'k', 3, 0)", "97"},
      {"select remaining from mete.store_take('{api}', '{k}', '{1}', 'take', null, null, null, false, false, 1000, 0, "
       "true)",
       "96"},
      {"select id from mete.store_hold_one('api', 'k', 5, 'h', 3600000000, null, false, 86400000000, 0)", "h"},
      {"select remaining from mete.store_each('{api,api}', '{k,j}', '{1,1}', '{\"\",\"\"}', '{0,0}', "
       "'{\"\",\"\"}', 1000, 0)",
       "90"},
      {"select state from mete.store_find_hold('h', 86400000000, 0)", "held"},
      {"select amount from mete.store_close('h', 'commit', '{2}', false, null, 86400000000, 0)", "2"},
      {"select used from mete.store_usage('api', 'k', 0)", "7"},
      {"select name from mete.store_limits()", "api"},
      {"select limits from mete.store_statistics()", "1"},
      {"select mete.store_clear()", "failed: 42501 permission denied for function store_clear"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(text_of(app.run_text(std::string(row.sql), patience())), row.answer) << row.sql;
  }
}

// As node-postgres sends them: no parameter has a type.
TEST(PostgresMigrate, ParametersNeedNoTypes) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  ASSERT_TRUE(migrate(connection, std::nullopt));
  postgres.query("select mete.define('api', 'stock', 100)");
  const struct {
    Statement statement;
    std::vector<std::string> parameters;
  } rows[] = {
      {{"a", "select allowed from mete.take($1, $2)"}, {"api", "k"}},
      {{"b", "select allowed from mete.take($1, $2, $3)"}, {"api", "k", "2"}},
      {{"c", "select allowed from mete.take($1, $2, $3, $4)"}, {"api", "k", "2", "id"}},
      {{"d", "select allowed from mete.peek($1, $2, $3)"}, {"api", "k", "2"}},
      {{"e", "select allowed from mete.give($1, $2)"}, {"api", "k"}},
      {{"f", "select allowed from mete.give($1, $2, $3)"}, {"api", "k", "1"}},
      {{"g", "select allowed from mete.hold($1, $2, $3, $4)"}, {"api", "k", "2", "1 hour"}},
      {{"h", "select allowed from mete.hold($1, $2, $3, $4, $5)"}, {"api", "k", "2", "1 hour", "job"}},
      {{"i", "select allowed from mete.extend($1, $2)"}, {"job", "2 hours"}},
      {{"j", "select allowed from mete.commit($1, $2)"}, {"job", "{1}"}},
      {{"k", "select allowed from mete.take_all($1, $2)"}, {R"([{"limit": "api", "key": "k"}])", "other id"}},
      {{"l", "select allowed from mete.hold_all($1, $2, $3)"}, {R"([{"limit": "api", "key": "k"}])", "1 hour", "j2"}},
      {{"m", "select allowed from mete.cancel($1)"}, {"j2"}},
  };
  for (const auto& row : rows) {
    Parameters parameters;
    for (const std::string& each : row.parameters) parameters.add(each);
    const auto answer = connection.run(row.statement, parameters, patience());
    ASSERT_TRUE(answer) << row.statement.text << ": " << answer.error().message;
    EXPECT_TRUE(answer->boolean(0, 0, "the answer").value()) << row.statement.text;
  }
}

// Usage that was kept as that of two windows goes on as charges, and none is lost.
TEST(PostgresMigrate, SlidingMetersAreCarriedOver) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  ASSERT_TRUE(migrate(connection, 1));
  postgres.query(
      "select mete.define('login', 'sliding', 100, '10 days'), mete.define('sms', 'window', 100, '1 hour');"
      "select mete.take('login', 'a', 30), mete.take('login', 'b', 5), mete.take('sms', 'a', 7);"
      "update mete.meters set previous = 40 where key = 'a' and units = 30");
  ASSERT_TRUE(migrate(connection, std::nullopt));
  EXPECT_EQ(postgres.query("select used from mete.usage('login', 'a')"), (PostgresServer::Rows{{"70"}}));
  EXPECT_EQ(postgres.query("select used from mete.usage('login', 'b')"), (PostgresServer::Rows{{"5"}}));
  EXPECT_EQ(postgres.query("select used from mete.usage('sms', 'a')"), (PostgresServer::Rows{{"7"}}));
  EXPECT_EQ(postgres.query("select allowed from mete.take('login', 'a', 31)"), (PostgresServer::Rows{{"f"}}));
  EXPECT_EQ(postgres.query("select allowed from mete.take('login', 'a', 30)"), (PostgresServer::Rows{{"t"}}));
}

}  // namespace
}  // namespace mete::store::postgres
