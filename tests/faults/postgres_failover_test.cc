// A primary dies, its standby is promoted, and the limiter, whose URL has both, goes on by itself. What the standby has
// acknowledged (synchronous_standby_names) is there; without that, what it had not received is lost with the primary.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "faults/load.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;

class PostgresFailover : public ::testing::Test {
 protected:
  static constexpr Amount kAmount = 2000;

  PostgresFailover() {
    primary_.install_schema();
    primary_.query("select mete.define('stock', 'stock', " + std::to_string(kAmount) + ")");
    await_standby();
  }
  // Until the standby has all that the primary has.
  void await_standby() const {
    const std::string sql =
        "select count(*) from pg_stat_replication where state = 'streaming' and replay_lsn >= pg_current_wal_lsn()";
    const auto is_there = [&] { return primary_.query(sql).at(0).at(0) == "1"; };
    if (!support::becomes_true(60s, is_there)) support::fail("the standby does not follow");
  }
  void make_synchronous() const {
    primary_.query("alter system set synchronous_standby_names = '*'");
    primary_.query("select pg_reload_conf()");
    const std::string sql = "select count(*) from pg_stat_replication where sync_state = 'sync'";
    const auto is_so = [&] { return primary_.query(sql).at(0).at(0) == "1"; };
    if (!support::becomes_true(60s, is_so)) support::fail("the standby does not become a synchronous one");
  }
  void fail_over() {
    primary_.kill_hard();
    standby_.query("select pg_promote()");
  }
  [[nodiscard]] std::string url() const {
    return "postgres://mete@" + primary_.address() + "," + standby_.address() +
           "/postgres?target_session_attrs=read-write";
  }
  [[nodiscard]] std::string patient_url() const { return url() + "&timeout=20s"; }

  support::PostgresServer primary_;
  support::PostgresServer standby_{{.primary = &primary_}};
};

// Load until the primary is killed and beyond: what is acknowledged, and stays so.
TEST_F(PostgresFailover, WhatASynchronousStandbyHasAcknowledgedIsThere) {
  make_synchronous();
  Limiter limiter = open_when_calm(url());
  Limiter patient = open(patient_url()).value();
  const auto held = patient.hold({{"stock", "held", 100}}, 1h).value();
  const auto take = [&] { return limiter.take("stock", "k"); };
  Load load(kThreads, take);
  load.await_allowed(200);
  fail_over();
  load.await_allowed(load.allowed() + 200);
  Tally tally = load.stop();
  EXPECT_GE(await_usage(patient, "stock", "k").used, tally.allowed) << "what was acknowledged is gone";
  tally += exhaust(kThreads, take);
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LT(tally.slowest, kInTime);
  EXPECT_LE(tally.allowed, kAmount);
  EXPECT_GE(tally.allowed + tally.unavailable, kAmount);
  EXPECT_EQ(await_usage(patient, "stock", "k").used, kAmount);
  EXPECT_EQ(patient.commit(held.id, 60).value().amount, 60);
  EXPECT_EQ(standby_.query("select * from mete.audit()"), support::PostgresServer::Rows());
}

TEST_F(PostgresFailover, NothingIsAdmittedBeyondWhatWasLost) {
  Limiter limiter = open_when_calm(url());
  Limiter patient = open(patient_url()).value();
  const auto take = [&] { return limiter.take("stock", "k"); };
  Load before(kThreads, take);
  before.await_allowed(200);
  primary_.kill_hard();
  const Tally first = before.stop();
  standby_.query("select pg_promote()");
  (void)await_usage(limiter, "stock", "k");
  const Amount survived = await_usage(patient, "stock", "k").used;
  const Tally second = exhaust(kThreads, take);
  for (const Tally* tally : {&first, &second}) {
    EXPECT_EQ(tally->wrong, "");
    EXPECT_LT(tally->slowest, kInTime);
  }
  EXPECT_LE(second.allowed, kAmount - survived);
  EXPECT_GE(second.allowed + second.unavailable, kAmount - survived);
  EXPECT_EQ(await_usage(patient, "stock", "k").used, kAmount);
}

// One that is there, but takes no writes, is not written to: calls say so in time, and go on when it does.
TEST_F(PostgresFailover, AStandbyAloneIsUnavailable) {
  Limiter limiter = open_when_calm(url());
  ASSERT_TRUE(support::becomes_true(20s, [&] { return limiter.take("stock", "k").has_value(); }));
  await_standby();
  primary_.kill_hard();
  for (int i = 0; i < 20; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto answer = limiter.take("stock", "k");
    EXPECT_LT(std::chrono::steady_clock::now() - start, kInTime);
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
  }
  standby_.query("select pg_promote()");
  ASSERT_TRUE(support::becomes_true(10s, [&] { return limiter.take("stock", "k").has_value(); }));
  EXPECT_GE(await_usage(limiter, "stock", "k").used, 2);
}

}  // namespace
}  // namespace mete::faults
