// The servers that tests run against do what tests rely on.
#include "support/postgres_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "store/postgres/connection.h"
#include "support/pgbouncer.h"

namespace mete::support {
namespace {

using namespace std::chrono_literals;
using Rows = PostgresServer::Rows;

TEST(PostgresServerTest, AnswersAndGoesOnAfterEachWayToEnd) {
  PostgresServer server;
  const auto port = server.port();
  server.query("create table kept (i int); insert into kept values (7)");
  server.kill_hard();
  server.start_again();
  EXPECT_EQ(server.port(), port);
  EXPECT_EQ(server.query("select i from kept"), (Rows{{"7"}}));
  server.stop();
  server.start_again();
  server.pause();
  server.resume();
  EXPECT_EQ(server.query("select i from kept"), (Rows{{"7"}}));
}

TEST(PostgresServerTest, IsAsTheStoreNeedsIt) {
  const PostgresServer server({.settings = {"work_mem=1MB"}});
  EXPECT_EQ(server.query("select current_setting('server_encoding'), current_user, current_setting('work_mem')"),
            (Rows{{"UTF8", "mete", "1MB"}}));
  EXPECT_EQ(server.query("select datcollate, datctype from pg_database where datname = 'postgres'"),
            (Rows{{"C", "C"}}));
  server.make_database("other");
  EXPECT_EQ(server.query("select current_database()", "other"), (Rows{{"other"}}));
}

TEST(PostgresServerTest, ABadSettingIsToldInItsWords) {
  try {
    const PostgresServer server({.settings = {"no_such_setting=1"}});
    FAIL() << "it started";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("no_such_setting"), std::string::npos) << error.what();
  }
}

// In microseconds since 1970, of a backend that is new and of one that was there before.
TEST(PostgresServerTest, TimeIsWhatTheTestSays) {
  PostgresServer server({.has_settable_clock = true});
  const std::string ask = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
  auto connection = store::postgres::Connection::open(server.url(), net::Deadline::in(20s));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_EQ(server.query(ask), (Rows{{"1700000123456789"}}));
  // 1970, 2023, 2200, and 2^53 - 1 µs. Backwards too.
  for (const std::uint64_t us :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1'000'000}, std::uint64_t{1'700'000'000'000'001},
        std::uint64_t{7'258'118'400'000'000}, std::uint64_t{9'007'199'254'740'991}, std::uint64_t{1}}) {
    server.set_time(Instant::from_ns(us * 1000));
    EXPECT_EQ(server.query(ask), (Rows{{std::to_string(us)}}));
    const auto rows = connection->run_text(ask, net::Deadline::in(20s));
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->text(0, 0), std::to_string(us));
  }
}

TEST(PostgresServerTest, WorksOnUnderAClockThatJumps) {
  PostgresServer server({.has_settable_clock = true});
  server.query("create table t (i int)");
  for (const Duration jump : {Duration(1h), Duration(-2h), Duration(24h * 365), Duration(1s)}) {
    server.set_time(server.time() + jump);
    server.query("set statement_timeout = 100; insert into t select generate_series(1, 100)");
    server.query("checkpoint");
    server.query("vacuum t");
  }
  server.kill_hard();
  server.start_again();
  EXPECT_EQ(server.query("select count(*) from t"), (Rows{{"400"}}));
  server.stop();
}

// What settable_clock.cc says of it.
TEST(PostgresServerTest, ItsTimeOutsWaitForTheSetClock) {
  PostgresServer server({.has_settable_clock = true});
  auto connection = store::postgres::Connection::open(server.url(), net::Deadline::in(20s), 50ms);
  ASSERT_TRUE(connection) << connection.error().message;
  const auto sleep = "select pg_sleep(0.3)";
  const auto rows = connection->run_text(sleep, net::Deadline::in(1s));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().state, "") << "neither the time-out nor the sleep is ever over";
}

TEST(PostgresServerTest, TheSharedOneIsAsNewEachTime) {
  shared_postgres().query("select mete.define('disk', 'stock', 1); select mete.hold('disk', 'a', 1, '1 hour')");
  shared_postgres().set_time(kServerStart + 5s);
  PostgresServer& server = shared_postgres();
  EXPECT_EQ(server.time(), kServerStart);
  EXPECT_EQ(server.query("select (select count(*) from mete.limits) + (select count(*) from mete.operations) + (select "
                         "count(*) from mete.meters)"),
            (Rows{{"0"}}));
}

TEST(PostgresServerTest, TheSharedOneOutlivesTransactionsAndItsEnd) {
  PostgresServer& server = shared_postgres();
  auto connection = store::postgres::Connection::open(server.url(), net::Deadline::in(20s));
  ASSERT_TRUE(connection) << connection.error().message;
  ASSERT_TRUE(connection->run_text("begin; lock table mete.limits", net::Deadline::in(20s)));
  EXPECT_EQ(shared_postgres().query("select count(*) from mete.limits"), (Rows{{"0"}})) << "which nobody may lock";
  server.kill_hard();
  EXPECT_EQ(&shared_postgres(), &server);
  EXPECT_EQ(server.query("select count(*) from mete.limits"), (Rows{{"0"}}));
}

TEST(PgBouncerTest, StandsInFrontOfAServer) {
  const PostgresServer server;
  const PgBouncer bouncer(server);
  auto connection = store::postgres::Connection::open(bouncer.url(), net::Deadline::in(20s));
  ASSERT_TRUE(connection) << connection.error().message;
  const auto rows = connection->run_text("select current_user", net::Deadline::in(20s));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->text(0, 0), "mete");
}

}  // namespace
}  // namespace mete::support
