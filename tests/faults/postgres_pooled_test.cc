// A PgBouncer in transaction mode stands before PostgreSQL: each call may be in another of its few connections.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "base/try.h"
#include "faults/load.h"
#include "support/pgbouncer.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;

constexpr int kPooledThreads = 12;

class Pooled : public ::testing::Test {
 protected:
  static constexpr Amount kAmount = 3000;

  Pooled() {
    server_.install_schema();
    server_.query("select mete.define('stock', 'stock', " + std::to_string(kAmount) + ")");
  }
  [[nodiscard]] std::string audit() const {
    return server_.query("select * from mete.audit()").empty() ? "" : "the books are wrong";
  }
  // Of all that PgBouncer has at the server.
  void end_backends() const {
    server_.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> "
        "pg_backend_pid()");
  }

  support::PostgresServer server_;
  // By itself PgBouncer waits 15 s before it tries a server again that was away.
  support::PgBouncer bouncer_{server_, {.settings = {"default_pool_size=3", "server_login_retry=1"}}};
};

TEST_F(Pooled, ManyThreadsShareFewConnections) {
  Limiter limiter = open(bouncer_.patient_url()).value();
  std::atomic<int> connections{0};
  const auto count = [&] {
    // Those that look have another name: the last ones may not have ended yet.
    const auto rows = server_.query(
        "set application_name = 'looks'; select count(*) from pg_stat_activity where application_name = 'mete'");
    connections = std::max<int>(connections, std::stoi(rows.at(0).at(0)));
  };
  Load load(kPooledThreads, [&] { return limiter.take("stock", "k"); });
  for (Amount looks = 1; looks <= 10; ++looks) {
    load.await_allowed(looks * 50);
    count();
  }
  Tally tally = load.stop();
  tally += exhaust(kPooledThreads, [&] { return limiter.take("stock", "k"); });
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(tally.unavailable, 0);
  EXPECT_EQ(tally.allowed, kAmount);
  EXPECT_GT(connections, 0) << "nobody was seen";
  EXPECT_LE(connections, 3);
  EXPECT_EQ(audit(), "");
}

// Everything that is prepared, in whichever connection it may be: holds, commits, gives, listings.
TEST_F(Pooled, EveryCallFindsItsStatement) {
  Limiter limiter = open(bouncer_.patient_url()).value();
  Load load(kPooledThreads, [&]() -> Result<Decision> {
    auto held = TRY(limiter.hold({{"stock", "k", 3}}, 1h));
    const Decision& decision = held;
    if (!decision.allowed()) return decision;
    TRY(limiter.extend(held.id, 2h));
    TRY(limiter.commit(held.id, 2));
    TRY(limiter.give("stock", "k", 2));
    TRY(limiter.usage("stock", "k"));
    return decision;
  });
  load.await_allowed(300);
  const Tally tally = load.stop();
  EXPECT_EQ(tally.wrong, "");
  EXPECT_EQ(tally.unavailable, 0);
  EXPECT_EQ(await_usage(limiter, "stock", "k").used, 0);
  EXPECT_EQ(await_usage(limiter, "stock", "k").held, 0);
  EXPECT_EQ(audit(), "");
}

TEST_F(Pooled, ItGoesOnAfterTheServersConnectionsHaveEnded) {
  Limiter limiter = open(bouncer_.patient_url()).value();
  Load load(kPooledThreads, [&] { return limiter.take("stock", "k"); });
  for (Amount ends = 1; ends <= 5; ++ends) {
    load.await_allowed(load.allowed() + 50);
    end_backends();
  }
  load.await_allowed(load.allowed() + 50);
  Tally tally = load.stop();
  tally += exhaust(kPooledThreads, [&] { return limiter.take("stock", "k"); });
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LE(tally.allowed, kAmount);
  EXPECT_GE(tally.allowed + tally.unavailable, kAmount);
  EXPECT_EQ(await_usage(limiter, "stock", "k").used, kAmount);
  EXPECT_EQ(audit(), "");
}

TEST_F(Pooled, ItGoesOnAfterTheServerWasRestarted) {
  Limiter limiter = open_when_calm(bouncer_.url());
  Load load(4, [&] { return limiter.take("stock", "k"); });
  for (Amount restarts = 1; restarts <= 2; ++restarts) {
    load.await_allowed(load.allowed() + 50);
    restarts % 2 == 0 ? server_.stop() : server_.kill_hard();
    server_.start_again();
  }
  load.await_allowed(load.allowed() + 50);
  const Tally tally = load.stop();
  EXPECT_EQ(tally.wrong, "");
  EXPECT_LT(tally.slowest, kInTime);
  Limiter patient = open(bouncer_.patient_url()).value();
  EXPECT_GE(await_usage(patient, "stock", "k").used, tally.allowed) << "what was acknowledged is gone";
  EXPECT_LE(await_usage(patient, "stock", "k").used, tally.allowed + tally.unavailable);
}

}  // namespace
}  // namespace mete::faults
