// What reservations in a database are known to get wrong (R1 to R7), each with its test.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "support/postgres_server.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using support::PostgresServer;
using support::shared_postgres;
using namespace std::chrono_literals;

// A pool of 10 credits, and a user's table of jobs.
PostgresServer& server_with_credits() {
  PostgresServer& postgres = shared_postgres();
  postgres.query(
      "drop table if exists public.jobs; create table public.jobs (id text primary key, result text);"
      "select mete.define('credits', 'stock', 10), mete.define('links', 'calendar', 10, 'month')");
  return postgres;
}

class SqlReservationLevels : public ::testing::TestWithParam<const char*> {};

// R1: a check and an insert without a lock let both in. Here the second waits for the first, and is denied; or it is
// told to try again, where its level of isolation lets it see nothing that came later, and then it is denied.
TEST_P(SqlReservationLevels, R1TwoAtOnceDoNotBothFit) {
  PostgresServer& postgres = server_with_credits();
  for (const bool is_meter_there : {false, true}) {
    SqlSession first(postgres);
    SqlSession second(postgres);
    const std::string begin = "begin isolation level " + std::string(GetParam()) + "; select count(*) from public.jobs";
    const std::string key = is_meter_there ? "old" : "new";
    if (is_meter_there) first.ask("select mete.take('credits', 'old', 1); select mete.give('credits', 'old', 1)");
    const std::string hold = "select allowed from mete.hold('credits', '" + key + "', 6, '1 hour')";
    EXPECT_EQ(first.ask(begin), "0");
    EXPECT_EQ(second.ask(begin), "0");
    EXPECT_EQ(first.ask(hold), "t");
    auto answer = second.ask_meanwhile(hold);
    ASSERT_TRUE(somebody_waits(postgres));
    EXPECT_EQ(first.ask("commit"), "");
    if (std::string(GetParam()) == "read committed") {
      EXPECT_EQ(answer.get(), "f");
    } else {
      EXPECT_EQ(answer.get(), "40001 could not serialize access due to concurrent update");
      second.ask("rollback");
      EXPECT_EQ(second.ask(begin), "0");
      EXPECT_EQ(second.ask(hold), "f");
    }
    second.ask("commit");
    EXPECT_EQ(first.ask("select used, held from mete.usage('credits', '" + key + "')"), "0|6");
  }
}

INSTANTIATE_TEST_SUITE_P(SqlReservation, SqlReservationLevels,
                         ::testing::Values("read committed", "repeatable read", "serializable"), [](const auto& level) {
                           const std::string name = level.param;
                           return name.substr(0, name.find(' '));
                         });

// R2: a reservation of an hour under a job of 90 minutes lapses. Its worker's heartbeat keeps it.
TEST(SqlReservation, R2ExtendedItOutlivesItsTtl) {
  PostgresServer& postgres = server_with_credits();
  SqlSession session(postgres);
  EXPECT_EQ(session.ask("select allowed from mete.hold('credits', 'a', 10, '1 hour', tag => 'job')"), "t");
  for (int beat = 0; beat < 9; ++beat) {
    let_pass(postgres, 10min);
    EXPECT_EQ(session.ask("select allowed from mete.extend(tag => 'job', ttl => '1 hour')"), "t");
    EXPECT_EQ(session.ask("select allowed from mete.take('credits', 'a')"), "f") << "after beat " << beat;
  }
  EXPECT_EQ(session.ask("select amount from mete.commit(tag => 'job')"), "10");
  EXPECT_EQ(session.ask("select used, held from mete.usage('credits', 'a')"), "10|0");
}

// R3: whoever releases at the end of each attempt retries unreserved. An attempt that fails leaves the hold as it is.
TEST(SqlReservation, R3RetriesStayReserved) {
  PostgresServer& postgres = server_with_credits();
  SqlSession session(postgres);
  EXPECT_EQ(session.ask("select allowed from mete.hold('credits', 'a', 10, '1 hour', tag => 'job')"), "t");
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_EQ(session.ask("select allowed, id from mete.hold('credits', 'a', 10, '1 hour', tag => 'job')"), "t|job");
    EXPECT_EQ(session.ask("select allowed from mete.extend(tag => 'job', ttl => '1 hour')"), "t");
    session.ask("begin; select mete.commit(tag => 'job'); select 1 / 0");
    session.ask("rollback");
    EXPECT_EQ(session.ask("select held from mete.usage('credits', 'a')"), "10");
    let_pass(postgres, 40min);
  }
  EXPECT_EQ(session.ask("select amount from mete.cancel(tag => 'job')"), "10");
}

// R4: recording the result and releasing the reservation apart counts twice, or not at all. In one transaction it is
// once.
TEST(SqlReservation, R4TheCommitIsOneStepWithTheResult) {
  PostgresServer& postgres = server_with_credits();
  SqlSession worker(postgres);
  SqlSession watcher(postgres);
  const std::string usage =
      "select u.used, u.held, (select count(*) from public.jobs) from mete.usage('credits', 'a') u";
  const std::string work =
      "begin; insert into public.jobs values ('job', 'done'); select amount from mete.commit('job', '{7}')";
  EXPECT_EQ(worker.ask("select allowed from mete.hold('credits', 'a', 10, '1 hour', 'job')"), "t");
  EXPECT_EQ(worker.ask(work), "7");
  EXPECT_EQ(watcher.ask(usage), "0|10|0");
  EXPECT_EQ(worker.ask("rollback"), "");
  EXPECT_EQ(watcher.ask(usage), "0|10|0");
  EXPECT_EQ(worker.ask(work), "7");
  EXPECT_EQ(worker.ask("commit"), "");
  EXPECT_EQ(watcher.ask(usage), "7|0|1");
  // A worker that did not hear of it does all of it again, and its transaction goes on.
  EXPECT_EQ(worker.ask("begin; insert into public.jobs values ('job', 'done') on conflict do nothing; "
                       "select amount, remaining from mete.commit('job', '{7}')"),
            "7|3");
  EXPECT_EQ(worker.ask("select count(*) from public.jobs"), "1");
  EXPECT_EQ(worker.ask("commit"), "");
  EXPECT_EQ(watcher.ask(usage), "7|0|1");
  EXPECT_EQ(watcher.ask("select kind, amount, operation from mete.usage_events"), "commit|7|job");
}

// R5: the same job again is the same answer, and not an error.
TEST(SqlReservation, R5TheSameJobIsTheSameHold) {
  PostgresServer& postgres = server_with_credits();
  SqlSession session(postgres);
  const std::string hold = "select allowed, remaining, id from mete.hold('credits', 'a', 4, '1 hour', tag => 'job')";
  for (int times = 0; times < 3; ++times) EXPECT_EQ(session.ask(hold), "t|6|job");
  EXPECT_EQ(session.ask("select amount from mete.commit(tag => 'job')"), "4");
  EXPECT_EQ(session.ask(hold), "t|6|job") << "done, and not begun again";
  EXPECT_EQ(session.ask("select used, held from mete.usage('credits', 'a')"), "4|0");
  EXPECT_EQ(session.ask("select mete.hold('credits', 'a', 5, '1 hour', tag => 'job')"),
            "MT006 id 'job' was used for an operation with other parameters: give each operation an id of its own");
  let_pass(postgres, 25h);
  EXPECT_EQ(session.ask(hold), "t|2|job") << "forgotten after a day";
}

// By meters that are there and that are not, and with several charges: each goes another way.
TEST(SqlReservation, R5TheSameJobAtTheSameTime) {
  PostgresServer& postgres = server_with_credits();
  postgres.query("select mete.take('credits', 'there')");
  const Exchange rows[] = {
      {"mete.hold('credits', 'fresh', 4, '1 hour', tag => 'job 1')", "fresh"},
      {"mete.hold('credits', 'there', 4, '1 hour', tag => 'job 2')", "there"},
      {R"(mete.hold_all('[{"limit": "credits", "key": "both", "cost": 4}, {"limit": "links", "key": "both"}]', '1 hour', tag => 'job 3'))",
       "both"},
  };
  for (const Exchange& row : rows) {
    SqlSession first(postgres);
    SqlSession second(postgres);
    const std::string hold = "select * from " + row.sql;
    const std::string answer = first.ask("begin; " + hold);
    auto same = second.ask_meanwhile(hold);
    ASSERT_TRUE(somebody_waits(postgres));
    EXPECT_EQ(first.ask("commit"), "");
    EXPECT_EQ(same.get(), answer);
    EXPECT_EQ(first.ask("select held from mete.usage('credits', '" + row.answer + "')"), "4");
  }
  // The first goes back: then the second is the one.
  SqlSession first(postgres);
  SqlSession second(postgres);
  const std::string hold = "select allowed, id from mete.hold('credits', 'back', 4, '1 hour', tag => 'job 4')";
  EXPECT_EQ(first.ask("begin; " + hold), "t|job 4");
  auto same = second.ask_meanwhile(hold);
  ASSERT_TRUE(somebody_waits(postgres));
  EXPECT_EQ(first.ask("rollback"), "");
  EXPECT_EQ(same.get(), "t|job 4");
  EXPECT_EQ(first.ask("select held from mete.usage('credits', 'back')"), "4");
}

// R6: summing up all events of the period at each check. What a hold reads does not grow with what has happened before.
TEST(SqlReservation, R6WhatHasHappenedCostsNothing) {
  PostgresServer& postgres = server_with_credits();
  SqlSession session(postgres);
  session.ask("select mete.define('many', 'calendar', 1000000, 'month')");
  // Rows that were read, with an index or without.
  const std::string read =
      "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), "
      "sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) filter (where relname like 'events%') "
      "from pg_stat_xact_user_tables where schemaname = 'mete'";
  const auto reads = [&] {
    SqlSession fresh(postgres);  // what a session has read before is counted too
    return fresh.ask("begin; select mete.hold('many', 'a', 1, '1 hour'); " + read);
  };
  session.ask("select mete.take('many', 'a')");
  session.ask("analyze mete.meters, mete.operations, mete.events, mete.limits");
  const std::string before = reads();
  EXPECT_EQ(session.ask("select count(mete.take('many', 'a')) from generate_series(1, 3000)"), "3000");
  EXPECT_EQ(session.ask("select count(*) from mete.events"), "3001");
  session.ask("vacuum analyze mete.meters, mete.operations, mete.events, mete.limits");
  const std::string after = reads();
  EXPECT_EQ(after, before);
  EXPECT_EQ(after.substr(after.find('|')), "|0") << "events are not read at all";
}

// R7: a hold over the month's end is charged to the month it was made in.
TEST(SqlReservation, R7AHoldBelongsToTheMonthItWasMadeIn) {
  PostgresServer& postgres = server_with_credits();
  SqlSession session(postgres);
  constexpr auto kLastHourOfNovember = Instant::from_ns(1'701'386'000'000'000'000);  // 2023-11-30 23:13:20
  postgres.set_time(kLastHourOfNovember);
  EXPECT_EQ(session.ask("select allowed from mete.hold('links', 'a', 8, '2 hours', 'commits')"), "t");
  EXPECT_EQ(session.ask("select allowed from mete.hold('links', 'a', 2, '2 hours', 'cancels')"), "t");
  EXPECT_EQ(session.ask("select allowed from mete.take('links', 'a')"), "f");
  let_pass(postgres, 1h);
  EXPECT_EQ(session.ask("select remaining from mete.take('links', 'a', 3)"), "7") << "December is whole";
  EXPECT_EQ(session.ask("select amount, remaining from mete.commit('commits', '{5}')"), "5|7");
  EXPECT_EQ(session.ask("select amount, remaining from mete.cancel('cancels')"), "0|7");
  EXPECT_EQ(session.ask("select used, held from mete.usage('links', 'a')"), "3|0");
  EXPECT_EQ(session.ask(
                "select kind, amount, to_char(at at time zone 'UTC', 'MM-DD'), "
                "to_char(charged_at at time zone 'UTC', 'MM-DD HH24:MI:SS') from mete.usage_events order by at, kind"),
            "commit|5|12-01|11-30 23:13:20;take|3|12-01|12-01 00:13:20");
  EXPECT_EQ(session.ask("select * from mete.audit()"), "");
}

}  // namespace
}  // namespace mete::store::postgres
