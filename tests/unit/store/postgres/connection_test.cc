#include "store/postgres/connection.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "support/pgbouncer.h"
#include "support/ports.h"
#include "support/postgres_server.h"
#include "unit/store/postgres/postgres_fixture.h"

namespace mete::store::postgres {
namespace {

using namespace std::chrono_literals;
using support::PgBouncer;
using support::PostgresServer;

constexpr Statement kIncrease = {"test_increase", "select $1::bigint + 1"};

// One for all of them: a start costs more than most tests.
PostgresServer& plain_server() {
  static PostgresServer server;
  return server;
}

TEST(PostgresConnection, ReturnsRows) {
  Connection connection = must_open(plain_server().url());
  EXPECT_EQ(connection.address(), plain_server().address());
  EXPECT_GE(connection.server_version(), 130000);
  const auto rows =
      connection.run({"test_rows", "select i, i % 2 = 0, nullif(i, 2)::text from generate_series($1::int, 3) i"},
                     Parameters().add(1), patience());
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ(rows->column_count(), 3U);
  EXPECT_EQ(rows->integer(2, 0, "the row").value(), 3);
  EXPECT_FALSE(rows->boolean(0, 1, "the row").value());
  EXPECT_TRUE(rows->boolean(1, 1, "the row").value());
  EXPECT_TRUE(rows->is_null(1, 2));
  EXPECT_EQ(rows->text(1, 2), "");
  EXPECT_EQ(rows->text(2, 2), "3");
}

TEST(PostgresConnection, TakesParametersAsTheyAre) {
  Connection connection = must_open(plain_server().url());
  const std::vector<std::string> texts = {"", "a,b", "{\"x\"}", "\\", "NULL", "ü\n'"};
  const std::vector<std::int64_t> numbers = {INT64_MIN, 0, INT64_MAX};
  const auto rows = connection.run(
      {"test_parameters",
       "select array_to_string($1::text[], '|', 'null'), array_to_string($2::bigint[], '|'), "
       "$3::boolean, $4::bigint is null, $5::text"},
      Parameters().add(texts).add(numbers).add(true).add(std::optional<std::int64_t>()).add("it's"), patience());
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->text(0, 0), "|a,b|{\"x\"}|\\|NULL|ü\n'");
  EXPECT_EQ(rows->text(0, 1), "-9223372036854775808|0|9223372036854775807");
  EXPECT_TRUE(rows->boolean(0, 2, "the row").value());
  EXPECT_TRUE(rows->boolean(0, 3, "the row").value());
  EXPECT_EQ(rows->text(0, 4), "it's");
  const auto nul = connection.run(kIncrease, Parameters().add(std::string_view("1\0", 2)), patience());
  ASSERT_FALSE(nul);
  EXPECT_EQ(nul.error().state, "22021");
}

TEST(PostgresConnection, PreparesAStatementOnceAndAgainWhereItIsGone) {
  Connection connection = must_open(plain_server().url());
  const auto prepared = [&] {
    return text_of(connection.run_text("select string_agg(name, ' ') from pg_prepared_statements", patience()));
  };
  const auto increase = [&](std::int64_t number) {
    return text_of(connection.run(kIncrease, Parameters().add(number), patience()));
  };
  EXPECT_EQ(increase(1), "2");
  EXPECT_EQ(increase(2), "3");
  EXPECT_EQ(prepared(), "test_increase");
  EXPECT_EQ(text_of(connection.run_text("discard all", patience())), "");
  EXPECT_EQ(prepared(), "");
  EXPECT_EQ(increase(3), "4");
  EXPECT_EQ(prepared(), "test_increase");
}

TEST(PostgresConnection, TakesAStatementThatIsThereAlready) {
  Connection connection = must_open(plain_server().url());
  ASSERT_TRUE(connection.run_text("prepare test_increase as select $1::bigint + 1", patience()));
  EXPECT_EQ(text_of(connection.run(kIncrease, Parameters().add(1), patience())), "2");
  EXPECT_EQ(text_of(connection.run(kIncrease, Parameters().add(2), patience())), "3");
}

// As after a migration: what is prepared returns other columns by now.
TEST(PostgresConnection, OutlivesAChangeOfTheSchema) {
  Connection connection = must_open(plain_server().url());
  constexpr Statement kAll = {"test_all", "select * from changing"};
  plain_server().query("drop table if exists changing; create table changing (a int); insert into changing values (1)");
  EXPECT_EQ(text_of(connection.run(kAll, {}, patience())), "1");
  plain_server().query("alter table changing alter a type text using 'one'");
  EXPECT_EQ(text_of(connection.run(kAll, {}, patience())), "one");
  EXPECT_EQ(text_of(connection.run(kAll, {}, patience())), "one");
}

TEST(PostgresConnection, NeedsNoNamesInATransaction) {
  Connection connection = must_open(plain_server().url());
  EXPECT_TRUE(connection.is_idle());
  EXPECT_EQ(text_of(connection.run(kIncrease, Parameters().add(1), patience())), "2");
  ASSERT_TRUE(connection.run_text("deallocate all; begin; create temporary table t (i int)", patience()));
  EXPECT_FALSE(connection.is_idle());
  EXPECT_EQ(text_of(connection.run(kIncrease, Parameters().add(1), patience())), "2");
  EXPECT_EQ(text_of(connection.run_text("select count(*) from t; commit", patience())), "");
  EXPECT_TRUE(connection.is_idle());
}

TEST(PostgresConnection, SaysWhatTheServerSays) {
  plain_server().query(
      "create or replace function complain() returns int language plpgsql as $$ begin "
      "raise 'so it is' using errcode = 'MT001', hint = 'do this'; end $$");
  Connection connection = must_open(plain_server().url());
  for (int time = 0; time < 3; ++time) {
    const auto rows = connection.run({"test_complain", "select complain()"}, {}, patience());
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().state, "MT001");
    EXPECT_EQ(rows.error().message, "so it is");
    EXPECT_EQ(rows.error().hint, "do this");
    EXPECT_FALSE(rows.error().is_lost);
    const auto unknown =
        connection.run({"test_unknown", "select no_such_function($1)"}, Parameters().add(1), patience());
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().state, "42883");
  }
  EXPECT_EQ(text_of(connection.run(kIncrease, Parameters().add(1), patience())), "2");
}

TEST(PostgresConnection, ShowsNoNotices) {
  Connection connection = must_open(plain_server().url());
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(connection.run_text("do $$ begin raise warning 'here'; end $$", patience()));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(PostgresConnection, IsNamedUnlessTheUrlNamesIt) {
  const std::string ask = "select current_setting('application_name'), current_setting('client_encoding')";
  Connection plain = must_open(plain_server().url());
  const auto rows = plain.run_text(ask, patience());
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->text(0, 0), "mete");
  EXPECT_EQ(rows->text(0, 1), "UTF8");
  Connection named = must_open(plain_server().url() + "?application_name=shop&client_encoding=latin1");
  const auto others = named.run_text(ask, patience());
  ASSERT_TRUE(others);
  EXPECT_EQ(others->text(0, 0), "shop");
  EXPECT_EQ(others->text(0, 1), "UTF8") << "all texts here are";
}

TEST(PostgresConnection, StreamsRows) {
  Connection connection = must_open(plain_server().url());
  std::int64_t sum = 0;
  const auto add = [&](const Rows& rows) {
    EXPECT_EQ(rows.size(), 1U);
    sum += rows.integer(0, 0, "the row").value();
    return true;
  };
  const auto done = connection.stream("select generate_series(1, 10000)", add, patience());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(sum, 10000 * 10001 / 2);
  const auto failed = connection.stream("select 1 / (3 - i) from generate_series(1, 5) i", add, patience());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().state, "22012");
  EXPECT_FALSE(failed.error().is_lost);
  EXPECT_EQ(text_of(connection.run(kIncrease, Parameters().add(1), patience())), "2");
  // Whoever stops needs another connection.
  ASSERT_TRUE(connection.stream(
      "select generate_series(1, 10000)", [](const Rows&) { return false; }, patience()));
  EXPECT_TRUE(connection.is_lost());
}

TEST(PostgresConnection, RefusesACopy) {
  for (const std::string copy : {"copy (select 1) to stdout", "create temporary table t (i int); copy t from stdin"}) {
    Connection connection = must_open(plain_server().url());
    const auto rows = connection.run_text(copy, patience());
    ASSERT_FALSE(rows);
    EXPECT_TRUE(rows.error().is_lost);
    EXPECT_NE(rows.error().message.find("COPY"), std::string::npos) << rows.error().message;
    connection = must_open(plain_server().url());
    EXPECT_FALSE(connection.stream(
        copy, [](const Rows&) { return true; }, patience()));
  }
}

TEST(PostgresConnection, IsLostWhenTheServerEndsIt) {
  Connection connection = must_open(plain_server().url());
  const auto rows = connection.run_text("select pg_terminate_backend(pg_backend_pid())", patience());
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().state, "57P01");
  EXPECT_TRUE(rows.error().is_lost);
  EXPECT_TRUE(connection.is_lost());
  EXPECT_FALSE(connection.is_silent());
  EXPECT_EQ(connection.address(), plain_server().address());
  const auto after = connection.run(kIncrease, Parameters().add(1), patience());
  ASSERT_FALSE(after);
  EXPECT_TRUE(after.error().is_lost);
}

// A primary that has become a standby says so.
TEST(PostgresConnection, IsLostWhereNothingCanBeWritten) {
  Connection connection = must_open(plain_server().url());
  const auto rows = connection.run_text("begin read only; create table t (i int)", patience());
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().state, "25006");
  EXPECT_TRUE(rows.error().is_lost);
}

TEST(PostgresConnection, SeesThatItWasClosedMeanwhile) {
  Connection connection = must_open(plain_server().url());
  EXPECT_EQ(text_of(connection.run(kIncrease, Parameters().add(1), patience())), "2");
  EXPECT_TRUE(connection.is_quiet());
  plain_server().query(
      "select pg_terminate_backend(pid, 20000) from pg_stat_activity "
      "where application_name = 'mete' and pid <> pg_backend_pid()");
  EXPECT_FALSE(connection.is_quiet());
}

TEST(PostgresConnection, EndsByTheDeadline) {
  Connection connection = must_open(plain_server().url());
  const auto rows = connection.run_text("select pg_sleep(60)", net::Deadline::in(50ms));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().message, plain_server().address() + " does not answer within 50ms");
  EXPECT_TRUE(rows.error().is_lost);
  EXPECT_TRUE(connection.is_silent());
}

TEST(PostgresConnection, HasAStatementTimeOut) {
  const std::string ask = "select current_setting('statement_timeout'), current_setting('geqo')";
  const struct {
    std::string parameters;
    Duration timeout;
    std::string expected;
  } rows[] = {
      {"", Duration::never(), "0 on"},
      {"", 1500ms, "1500ms on"},
      {"?options=-c%20geqo%3Doff", 1500ms, "1500ms off"},
      {"?options=-c%20statement_timeout%3D7s", 1500ms, "7s on"},
  };
  for (const auto& row : rows) {
    auto connection = Connection::open(plain_server().url() + row.parameters, patience(), row.timeout);
    ASSERT_TRUE(connection) << connection.error().message;
    const auto told = connection->run_text(ask, patience());
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_EQ(std::string(told->text(0, 0)) + " " + std::string(told->text(0, 1)), row.expected);
  }
  auto connection = Connection::open(plain_server().url(), patience(), 50ms);
  ASSERT_TRUE(connection) << connection.error().message;
  const auto slow = connection->run_text("select pg_sleep(60)", patience());
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().state, "57014");
  EXPECT_FALSE(connection->is_lost());
}

TEST(PostgresConnection, SaysWhyItCannotConnect) {
  const std::string nobody = "127.0.0.1:" + std::to_string(support::free_port());
  const struct {
    std::string url;
    std::string_view reason;
  } rows[] = {
      {"postgres://mete@" + nobody + "/postgres", "Connection refused; Is the server running"},
      {plain_server().url("no_such_database"), "\"no_such_database\" does not exist"},
      {plain_server().url("postgres", "nobody"), "\"nobody\" does not exist"},
      {plain_server().url() + "?sslmode=require", "server does not support SSL"},
      {plain_server().url() + "?sslmode=sometimes", "sslmode"},
  };
  for (const auto& row : rows) {
    const auto connection = Connection::open(row.url, patience());
    ASSERT_FALSE(connection) << row.url;
    EXPECT_TRUE(connection.error().is_lost);
    EXPECT_NE(connection.error().message.find(row.reason), std::string::npos) << connection.error().message;
    EXPECT_EQ(connection.error().message.find('\n'), std::string::npos);
  }
}

TEST(PostgresConnection, ReachesAUnixSocket) {
  Connection connection = must_open("postgres://mete@/postgres?host=" + plain_server().directory().string() +
                                    "&port=" + std::to_string(plain_server().port()));
  EXPECT_EQ(text_of(connection.run(kIncrease, Parameters().add(1), patience())), "2");
}

TEST(PostgresConnection, TriesHostsInTheirOrder) {
  const PostgresServer standby({.settings = {"default_transaction_read_only=on"}});
  const std::string nobody = "127.0.0.1:" + std::to_string(support::free_port());
  const std::string hosts = nobody + "," + standby.address() + "," + plain_server().address();
  EXPECT_EQ(must_open("postgres://mete@" + hosts + "/postgres").address(), standby.address());
  EXPECT_EQ(must_open("postgres://mete@" + hosts + "/postgres?target_session_attrs=read-write").address(),
            plain_server().address());
  const auto none = Connection::open(
      "postgres://mete@" + nobody + "," + standby.address() + "/postgres?target_session_attrs=read-write", patience());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("refused"), std::string::npos) << none.error().message;
  EXPECT_NE(none.error().message.find("read-only"), std::string::npos) << none.error().message;
}

TEST(PostgresConnection, AHostThatIsSilentLeavesTimeForTheNext) {
  const PostgresServer silent;
  silent.pause();
  auto connection = Connection::open(
      "postgres://mete@" + silent.address() + "," + plain_server().address() + "/postgres", net::Deadline::in(4s));
  silent.resume();
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_EQ(connection->address(), plain_server().address());
}

// Two transactions at once are in two connections of the PgBouncer to the server, and the next is in the one that was
// used last: so a statement of each comes to a server process that has it, and to one that has not.
TEST(PostgresConnection, PreparedStatementsWorkThroughPgBouncer) {
  const PgBouncer bouncer(plain_server(), {.settings = {"default_pool_size=2"}});
  Connection first = must_open(bouncer.url());
  Connection second = must_open(bouncer.url());
  constexpr Statement kWhere = {"test_where", "select pg_backend_pid() + 0 * $1::int"};
  const auto where = [&](Connection& connection) {
    return text_of(connection.run(kWhere, Parameters().add(1), patience()));
  };
  std::set<std::string> seen;
  for (int round = 0; round < 10; ++round) {
    seen.insert(where(first));
    ASSERT_TRUE(second.run_text("begin", patience()));  // takes the one that is free
    seen.insert(where(first));
    ASSERT_TRUE(second.run_text("rollback", patience()));
    seen.insert(where(second));
    if (round == 5) {
      EXPECT_EQ(text_of(first.run_text("deallocate all", patience())), "");
    }
  }
  EXPECT_EQ(seen.size(), 2U) << "two server processes, and no error";
}

TEST(PostgresConnection, APgBouncerThatKnowsNoOptionsIsAskedWithout) {
  const PgBouncer bouncer(plain_server());
  auto connection = Connection::open(bouncer.url(), patience(), 50ms);
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_EQ(text_of(connection->run_text("show statement_timeout", patience())), "0");
  const PgBouncer lenient(plain_server(), {.settings = {"ignore_startup_parameters=options"}});
  EXPECT_TRUE(Connection::open(lenient.url(), patience(), 50ms));
}

}  // namespace
}  // namespace mete::store::postgres
