#include "store/postgres/migrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

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
  server.query("drop schema if exists mete cascade");
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
  for (const auto& entry : std::filesystem::directory_iterator(support::repository() / "src/store/postgres/sql")) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string text;
  for (const auto& file : files) {
    std::istringstream lines(support::read_file(file));
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kInclude = "-- include ";
      const std::size_t at = line.find(kInclude);
      const bool is_part = at != std::string::npos && at >= 2 && line.ends_with(".sql");
      const auto part = file.parent_path() / "parts" / (is_part ? line.substr(at + kInclude.size()) : "");
      text += is_part ? line.substr(0, at - 2) + support::read_file(part) : line + "\n";
    }
  }
  EXPECT_EQ(migrations()[0].up, text);
  EXPECT_TRUE(has(migration_text(std::nullopt), text));
}

TEST(PostgresMigrate, TheSchemaIsInstalledAndTakenAway) {
  PostgresServer& postgres = server_without_schema();
  Connection connection = must_open(postgres.url());
  EXPECT_EQ(outcome_of(migrate(connection, std::nullopt)), "0→2 +1 tables and functions +2 exact sliding windows");
  EXPECT_EQ(outcome_of(migrate(connection, std::nullopt)), "2→2");
  EXPECT_EQ(outcome_of(migrate(connection, 1)), "2→1 -2 exact sliding windows");
  EXPECT_EQ(outcome_of(migrate(connection, 2)), "1→2 +2 exact sliding windows");
  EXPECT_EQ(outcome_of(migrate(connection, 0)), "2→0 -2 exact sliding windows -1 tables and functions");
  postgres.query(migration_text(std::nullopt));
  EXPECT_EQ(installed_version(connection), 2);
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
