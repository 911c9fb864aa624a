// Syncs from a real PostgreSQL, under load too.
#include "sync/postgres_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/embedded/embedded_store.h"
#include "support/pgbouncer.h"
#include "support/postgres_server.h"
#include "support/waiting.h"
#include "sync/run.h"
#include "unit/store/postgres/postgres_fixture.h"

namespace mete::sync {
namespace {

using namespace std::chrono_literals;
using store::postgres::must_open;
using store::postgres::patience;

constexpr std::string_view kFiles =
    "create table files (id bigint generated always as identity, tenant text, size bigint)";
constexpr std::string_view kSum = "select tenant, sum(size) from files group by tenant";

class PostgresSourceTest : public ::testing::Test {
 protected:
  PostgresSourceTest() {
    // Whoever the test before has left ends first: tests ask who has a lock, and who sleeps.
    const auto is_alone = [&] {
      return server_
          .query(
              "select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> "
              "pg_backend_pid()")
          .empty();
    };
    EXPECT_TRUE(support::becomes_true(20s, is_alone));
    server_.query("drop table if exists files");
    server_.query(std::string(kFiles));
    store_.define(stock("storage").amount(kAmountMax)).value();
  }

  [[nodiscard]] Plan plan(std::string_view query = kSum) const {
    return {.limit = "storage", .source = server_.patient_url(), .query = std::string(query), .timeout = 30s};
  }
  Report run(const Plan& plan, const RunOptions& options = {}) {
    const auto source = make_postgres_source(plan).value();
    return run_sync(plan, options, store_, *source);
  }
  void expect_done(const Report& report) { EXPECT_EQ(report.outcome, Outcome::kDone) << report.message; }
  void expect_failed(const Report& report, std::string_view reason) {
    EXPECT_EQ(report.outcome, Outcome::kFailed);
    EXPECT_NE(report.message.find(reason), std::string::npos) << report.message;
  }
  void take(std::string_view key, Amount amount) {
    const Charge charge{"storage", key, amount};
    store_.take({.charges = {&charge, 1}}).value();
  }
  Usage usage(std::string_view key) { return store_.usage({"storage", key}).value(); }
  Amount truth(const std::string& key) {
    const auto rows = server_.query("select coalesce(sum(size), 0) from files where tenant = '" + key + "'");
    return std::stoll(rows.at(0).at(0));
  }

  support::PostgresServer& server_ = support::running_postgres();
  store::EmbeddedStore store_{Options{}};
};

TEST_F(PostgresSourceTest, ReadsTheQuery) {
  server_.query("insert into files (tenant, size) values ('a', 10), ('a', 5), ('b', 9007199254740991), ('é x', 0)");
  take("a", 3);
  const Report report = run(plan());
  expect_done(report);
  EXPECT_EQ(report.keys, 3U);
  EXPECT_EQ(usage("a").used, 15);
  EXPECT_EQ(usage("b").used, kAmountMax);
}

TEST_F(PostgresSourceTest, WhatIsWrongWithAQueryIsTold) {
  server_.query("insert into files (tenant, size) values ('a', 10), (null, 5)");
  const struct {
    std::string_view query;
    std::string_view reason;
  } rows[] = {
      {"selec 1", "syntax error"},
      {"select 1; select 2", "syntax error"},
      {"select tenant, sum(size) from file group by 1", "file"},
      {"select 1", "it has 1 column"},
      {"select 1, 2, 3", "it has 3 columns"},
      {"select tenant, size from files", "its key is null"},
      {"select 'a', null", "coalesce"},
      {"select 'a', 1.5", "is not a whole number"},
      {"select 'a', -1", "is negative"},
      {"select 'a', 9007199254740992", "is more than"},
      {"select 'a', 1 union all select 'a', 2", "came before"},
      {"with gone as (delete from files returning *) select tenant, size from gone", "data-modifying"},
      {"select 'a', nextval('files_id_seq')", "read-only"},
  };
  take("a", 3);
  for (const auto& row : rows) {
    SCOPED_TRACE(row.query);
    expect_failed(run(plan(row.query)), row.reason);
    EXPECT_EQ(usage("a").used, 3);
  }
  EXPECT_EQ(truth("a"), 10);
}

TEST_F(PostgresSourceTest, AQueryThatTakesTooLongOrAServerThatIsAwayIsTold) {
  Plan slow = plan("select 'a', 1 from pg_sleep(60)");
  slow.timeout = 1s;
  expect_failed(run(slow), "the source: ");
  Plan away = plan();
  away.source = "postgres://127.0.0.1:1/x";
  expect_failed(run(away), "the source: ");
}

TEST_F(PostgresSourceTest, OnlyOneRunsAtATime) {
  const Plan storage = plan();
  const auto first = make_postgres_source(storage).value();
  EXPECT_TRUE(first->lock().value());
  EXPECT_EQ(run(storage).outcome, Outcome::kBusy);
  Plan other = storage;
  other.limit = "seats";
  store_.define(stock("seats").amount(5)).value();
  expect_done(run(other));
  EXPECT_TRUE(first->confirm_lock().has_value());
}

TEST_F(PostgresSourceTest, TheLockEndsWithItsHolder) {
  const Plan storage = plan();
  {
    const auto first = make_postgres_source(storage).value();
    EXPECT_TRUE(first->lock().value());
  }
  const auto is_free = [&] { return run(storage).outcome == Outcome::kDone; };
  EXPECT_TRUE(support::becomes_true(20s, is_free));
}

TEST_F(PostgresSourceTest, ALockThatIsLostIsNoticedBeforeAnythingIsChanged) {
  server_.query("insert into files (tenant, size) values ('a', 10)");
  const Plan storage = plan("select tenant, sum(size) from files, pg_sleep(0.5) group by tenant");
  std::thread killer([&] {
    const auto is_killed = [&] {
      return !server_.query("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'").empty();
    };
    EXPECT_TRUE(support::becomes_true(20s, is_killed));
  });
  const Report report = run(storage);
  killer.join();
  EXPECT_EQ(report.outcome, Outcome::kFailed) << report.message;
  EXPECT_EQ(usage("a").used, 0);
}

TEST_F(PostgresSourceTest, CancelEndsAQueryThatIsUnderWay) {
  const Plan slow = plan("select 'a', 1 from pg_sleep(600)");
  const auto source = make_postgres_source(slow).value();
  std::thread canceller([&] {
    const auto is_asleep = [&] {
      return !server_.query("select 1 from pg_stat_activity where wait_event = 'PgSleep'").empty();
    };
    EXPECT_TRUE(support::becomes_true(20s, is_asleep));
    source->cancel();
  });
  EXPECT_EQ(run_sync(slow, {}, store_, *source).outcome, Outcome::kFailed);
  canceller.join();
}

TEST_F(PostgresSourceTest, WorksThroughPgBouncer) {
  server_.query("insert into files (tenant, size) values ('a', 10)");
  const support::PgBouncer bouncer(server_);
  Plan through = plan();
  through.source = bouncer.patient_url();
  expect_done(run(through));
  EXPECT_EQ(usage("a").used, 10);
  const auto first = make_postgres_source(through).value();
  EXPECT_TRUE(first->lock().value());
  EXPECT_EQ(run(through).outcome, Outcome::kBusy);
}

// Uploads and deletions go on all the time, each in the order that docs/sync.md recommends: hold, insert, commit; and
// give, delete. A sync that sets what the query has summed would lose what happens while it runs.
class LoadedSyncTest : public PostgresSourceTest {
 protected:
  static constexpr int kTenants = 3;

  static std::string grower(int i) { return "grows-" + std::to_string(i); }
  static std::string shrinker(int i) { return "shrinks-" + std::to_string(i); }

  void upload(const std::string& tenant, store::postgres::Connection& connection, int number) {
    const Charge charge{"storage", tenant, 7};
    const std::string id = tenant + "-" + std::to_string(number);
    EXPECT_TRUE(store_.hold({.charges = {&charge, 1}, .ttl = 1h, .id = id}).value().is_allowed);
    EXPECT_TRUE(connection.run_text("insert into files (tenant, size) values ('" + tenant + "', 7)", patience()));
    EXPECT_EQ(store_.commit({.id = id}).value().amount, 7);
  }
  void remove(const std::string& tenant, store::postgres::Connection& connection) {
    const Charge charge{"storage", tenant, 3};
    EXPECT_EQ(store_.give({&charge, 1}, "").value().amount, 3);
    EXPECT_TRUE(connection.run_text(
        "delete from files where id = (select min(id) from files where tenant = '" + tenant + "')", patience()));
  }
  // Keeps both tenants busy until it is told to stop.
  std::thread load(int i) {
    return std::thread([this, i] {
      auto connection = must_open(server_.url());
      for (int number = 0; !is_stopping_.load(); ++number) {
        upload(grower(i), connection, number);
        remove(shrinker(i), connection);
        operations_.fetch_add(1);
      }
    });
  }
  void wait_for_operations(int more) {
    const int wanted = operations_.load() + more;
    EXPECT_TRUE(support::becomes_true(30s, [&] { return operations_.load() >= wanted; }));
  }

  std::atomic<bool> is_stopping_{false};
  std::atomic<int> operations_{0};
};

TEST_F(LoadedSyncTest, S5AndS6_NothingIsLostWhileItRuns) {
  server_.query("insert into files (tenant, size) select 'shrinks-' || i % 3, 3 from generate_series(1, 60000) i");
  for (int i = 0; i < kTenants; ++i) {
    take(shrinker(i), 60'000 + 1000);  // too much by 1000
    const std::string tenant = grower(i);
    const Charge charge{"storage", tenant, 500};
    const std::string id = "in flight " + std::to_string(i);
    store_.hold({.charges = {&charge, 1}, .ttl = 1h, .id = id}).value();
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kTenants; ++i) threads.push_back(load(i));
  wait_for_operations(20);
  const Plan slow = plan("select tenant, sum(size) from files, pg_sleep(1) group by tenant");
  const int before = operations_.load();
  for (int round = 0; round < 3; ++round) expect_done(run(slow));
  EXPECT_GT(operations_.load(), before + 50) << "nothing happened meanwhile: the test says nothing";
  is_stopping_ = true;
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kTenants; ++i) {
    for (const std::string& tenant : {grower(i), shrinker(i)}) {
      EXPECT_GE(usage(tenant).used, truth(tenant)) << tenant << ": counted too little";
      EXPECT_LT(usage(tenant).used, truth(tenant) + 500) << tenant << ": counted too much";
    }
    EXPECT_EQ(usage(grower(i)).held, 500);
  }
  expect_done(run(plan()));
  for (int i = 0; i < kTenants; ++i) {
    EXPECT_EQ(usage(grower(i)).used, truth(grower(i)));
    EXPECT_EQ(usage(shrinker(i)).used, truth(shrinker(i)));
    EXPECT_EQ(usage(grower(i)).held, 500);
  }
}

}  // namespace
}  // namespace mete::sync
