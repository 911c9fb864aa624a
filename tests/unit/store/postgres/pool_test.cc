#include "store/postgres/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/on_fibers.h"
#include "support/ports.h"
#include "support/postgres_server.h"
#include "support/waiting.h"
#include "unit/store/postgres/postgres_fixture.h"

namespace mete::store::postgres {
namespace {

using namespace std::chrono_literals;
using support::becomes_true;
using support::PostgresServer;

constexpr Statement kOne = {"test_one", "select 1"};

// For those that leave it as it was: a start costs more than most tests.
const PostgresServer& shared_server() {
  static const PostgresServer kServer;
  return kServer;
}

Url must_parse(const std::string& text) {
  auto url = parse_url(text);
  if (!url) throw std::runtime_error(url.error().message);
  return std::move(*url);
}

std::string run_one(Pool& pool, const net::Deadline& deadline = patience()) {
  auto lease = pool.lease(deadline);
  if (!lease) return "failed: " + lease.error().message;
  return text_of(lease->run(kOne, {}, deadline));
}

TEST(PostgresPool, OpensWhatIsNeededAndUsesItAgain) {
  const PostgresServer& server = shared_server();
  Pool pool(must_parse(server.patient_url()));
  EXPECT_EQ(pool.status().connections, 0U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run_one(pool), "1");
  EXPECT_EQ(pool.status().connections, 1U);
  EXPECT_EQ(pool.status().shape, "postgres");
  EXPECT_EQ(pool.status().nodes, std::vector<std::string>{server.address()});
  {
    const auto first = pool.lease(patience());
    const auto second = pool.lease(patience());
    ASSERT_TRUE(first && second);
    EXPECT_EQ(pool.status().connections, 2U);
  }
  EXPECT_EQ(pool.status().connections, 2U);
  EXPECT_EQ(pool.status().reconnects, 0U);
  EXPECT_EQ(pool.status().failures, 0U);
  EXPECT_TRUE(pool.status().is_reachable);
}

TEST(PostgresPool, HasSoManyAtMost) {
  const PostgresServer& server = shared_server();
  Pool pool(must_parse(server.patient_url() + "&pool=2"));
  const auto first = pool.lease(patience());
  std::optional second = pool.lease(patience());
  ASSERT_TRUE(first && *second);
  const auto third = pool.lease(net::Deadline::in(20ms));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().message,
            "all 2 connections to PostgreSQL were in use for 20ms; more are allowed by pool=… in its URL");
  EXPECT_TRUE(third.error().is_lost);
  EXPECT_TRUE(pool.status().is_reachable);
  // Whoever waits gets the one that comes back.
  std::string answer;
  std::thread waiting([&] { answer = run_one(pool); });
  second.reset();
  waiting.join();
  EXPECT_EQ(answer, "1");
  EXPECT_EQ(pool.status().connections, 2U);
}

TEST(PostgresPool, ServesManyThreads) {
  const PostgresServer& server = shared_server();
  Pool pool(must_parse(server.patient_url() + "&pool=3"));
  std::atomic<int> answers = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) answers += run_one(pool) == "1" ? 1 : 0;
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(answers, 400);
  EXPECT_LE(pool.status().connections, 3U);
}

TEST(PostgresPool, FibersShareWhatConnectionsThereAre) {
  Pool pool(must_parse(shared_server().patient_url() + "&pool=2"));
  constexpr Statement kSame = {"test_same", "select $1::bigint from pg_sleep(0.001)"};
  int right = 0;
  support::on_fibers(100, [&](std::size_t i) {
    auto lease = pool.lease(patience());
    ASSERT_TRUE(lease) << lease.error().message;
    const auto number = static_cast<std::int64_t>(i);
    right += text_of(lease->run(kSame, Parameters().add(number), patience())) == std::to_string(number) ? 1 : 0;
  });
  EXPECT_EQ(right, 100);
  EXPECT_EQ(pool.status().connections, 2U);
  EXPECT_EQ(pool.status().failures, 0U);
}

// Where libpq cannot write it reads, so that neither end waits for the other: what it has read then is handed out, too.
TEST(PostgresPool, FibersThatSendMoreThanTheSocketTakesAreAnswered) {
  Pool pool(must_parse(shared_server().patient_url() + "&pool=1"));
  constexpr Statement kEcho = {"test_echo", "select $1::text"};
  constexpr int kRounds = 10;
  int right = 0;
  support::on_fibers(30, [&](std::size_t i) {
    for (int round = 0; round < kRounds; ++round) {
      auto lease = pool.lease(patience());
      ASSERT_TRUE(lease) << lease.error().message;
      const std::string large(std::size_t{10'000} * (i + 1), static_cast<char>('a' + round));
      const std::string answer = text_of(lease->run(kEcho, Parameters().add(large), patience()));
      EXPECT_EQ(answer.size(), large.size()) << answer.substr(0, 200);
      right += answer == large ? 1 : 0;
    }
  });
  EXPECT_EQ(right, 30 * kRounds);
  EXPECT_EQ(pool.status().failures, 0U);
}

// The one who gives up keeps his place: what was asked behind him gets its own answer.
TEST(PostgresPool, OneOfManyThatGivesUpDisturbsNoOther) {
  Pool pool(must_parse(shared_server().patient_url() + "&pool=1"));
  constexpr Statement kSleep = {"test_sleep", "select 0 from pg_sleep($1::float8)"};
  std::vector<std::string> answers(3);
  support::on_fibers(3, [&](std::size_t i) {
    auto lease = pool.lease(patience());
    ASSERT_TRUE(lease) << lease.error().message;
    if (i == 1) {
      answers[i] = text_of(lease->run(kSleep, Parameters().add("0.5"), net::Deadline::in(20ms)));
    } else {
      answers[i] = text_of(lease->run(kOne, {}, patience()));
    }
  });
  EXPECT_EQ(answers[0], "1");
  EXPECT_NE(answers[1].find("does not answer within 20ms"), std::string::npos) << answers[1];
  EXPECT_EQ(answers[2], "1");
  EXPECT_TRUE(pool.status().is_reachable);
}

TEST(PostgresPool, AllWhoShareAConnectionAreToldThatItIsLost) {
  Pool pool(must_parse(shared_server().patient_url() + "&pool=1"));
  constexpr Statement kEnd = {"test_end", "select pg_terminate_backend(pg_backend_pid())"};
  std::vector<std::string> answers(3);
  support::on_fibers(3, [&](std::size_t i) {
    auto lease = pool.lease(patience());
    ASSERT_TRUE(lease) << lease.error().message;
    answers[i] = text_of(lease->run(i == 1 ? kEnd : kOne, {}, patience()));
  });
  EXPECT_EQ(answers[0], "1");
  EXPECT_NE(answers[1].find("terminating connection"), std::string::npos) << answers[1];
  EXPECT_EQ(answers[2], answers[1]);
  EXPECT_EQ(pool.status().failures, 2U);
  EXPECT_EQ(run_one(pool), "1");
}

TEST(PostgresPool, ARestartOfTheServerCostsNoCall) {
  PostgresServer server;
  Pool pool(must_parse(server.patient_url()));
  for (const bool is_crash : {false, true}) {
    EXPECT_EQ(run_one(pool), "1");
    if (is_crash) {
      server.kill_hard();
    } else {
      server.stop();
    }
    server.start_again();
    EXPECT_EQ(run_one(pool), "1") << "what was idle is seen to be closed";
  }
  EXPECT_EQ(pool.status().reconnects, 2U);
  EXPECT_EQ(pool.status().failures, 0U);
  EXPECT_EQ(pool.status().connections, 1U);
}

TEST(PostgresPool, AServerThatIsAwayIsToldAtOnceAndFoundAgain) {
  PostgresServer server;
  Pool pool(must_parse(server.patient_url()));
  server.stop();
  EXPECT_NE(run_one(pool).find("refused"), std::string::npos);
  EXPECT_FALSE(pool.status().is_reachable);
  EXPECT_NE(run_one(pool).find("refused"), std::string::npos);
  EXPECT_EQ(pool.status().failures, 2U);
  server.start_again();
  EXPECT_TRUE(becomes_true(20s, [&] { return run_one(pool) == "1"; }));
  EXPECT_TRUE(pool.status().is_reachable);
}

TEST(PostgresPool, AServerThatIsSilentCostsOneTimeOut) {
  const PostgresServer server;
  Pool pool(must_parse(server.url() + "?timeout=100ms"));
  const auto deadline = [] { return net::Deadline::in(100ms); };
  EXPECT_EQ(run_one(pool), "1");
  server.pause();
  EXPECT_NE(run_one(pool, deadline()).find("does not answer within 100ms"), std::string::npos);
  EXPECT_FALSE(pool.status().is_reachable);
  EXPECT_EQ(pool.status().connections, 0U);
  // Nobody asks it for a while; on a busy machine that may be over already, and the next while is twice as long.
  EXPECT_TRUE(becomes_true(20s, [&] {
    const std::string answer = run_one(pool, deadline());
    EXPECT_NE(answer, "1");
    return answer.find("it is tried again in a moment") != std::string::npos;
  }));
  server.resume();
  EXPECT_TRUE(becomes_true(20s, [&] { return run_one(pool) == "1"; }));
  EXPECT_EQ(pool.status().reconnects, 1U);
}

// A lock that is held, say: the server is there, and says so itself before the caller's time is over.
TEST(PostgresPool, AStatementThatTakesTooLongIsNoServerThatIsAway) {
  const PostgresServer& server = shared_server();
  Pool pool(must_parse(server.url() + "?timeout=500ms"));
  {
    const auto lease = pool.lease(patience());
    ASSERT_TRUE(lease) << lease.error().message;
    const auto rows = lease->connection().run_text("select pg_sleep(60)", patience());
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().state, "57014");
  }
  EXPECT_TRUE(pool.status().is_reachable);
  EXPECT_EQ(pool.status().connections, 1U);
}

// Behind a PgBouncer, say, which refuses the time-out of statements: only the other calls tell that the server is
// there.
TEST(PostgresPool, AServerThatAnswersOthersMeanwhileIsThere) {
  const PostgresServer& server = shared_server();
  Pool pool(must_parse(server.url() + "?timeout=500ms"));
  {
    const auto lease = pool.lease(patience());
    ASSERT_TRUE(lease) << lease.error().message;
    ASSERT_TRUE(lease->connection().run_text("set statement_timeout = 0", patience()));
    EXPECT_EQ(run_one(pool), "1");
    ASSERT_FALSE(lease->connection().run_text("select pg_sleep(60)", net::Deadline::in(500ms)));
    EXPECT_TRUE(lease->connection().is_silent());
  }
  EXPECT_TRUE(pool.status().is_reachable);
  EXPECT_EQ(run_one(pool), "1");
}

TEST(PostgresPool, WhoHadLittleTimeDoesNotTakeTheServerForAway) {
  const PostgresServer& server = shared_server();
  Pool pool(must_parse(server.patient_url()));
  {
    const auto lease = pool.lease(patience());
    ASSERT_TRUE(lease) << lease.error().message;
    ASSERT_FALSE(lease->connection().run_text("select pg_sleep(60)", net::Deadline::in(10ms)));
    EXPECT_TRUE(lease->connection().is_silent());
  }
  EXPECT_TRUE(pool.status().is_reachable);
  EXPECT_EQ(pool.status().failures, 1U);
  EXPECT_EQ(run_one(pool), "1");
}

TEST(PostgresPool, AServerThatGivesNoMoreIsThere) {
  PostgresServer server({.settings = {"max_connections=4", "superuser_reserved_connections=3", "max_wal_senders=0"}});
  server.query("create role guest login");
  Pool pool(must_parse(server.url("postgres", "guest") + "?timeout=20s"));
  // The server counts one that has ended for a moment longer.
  ASSERT_TRUE(becomes_true(20s, [&] { return run_one(pool) == "1"; }));
  {
    const auto first = pool.lease(patience());
    ASSERT_TRUE(first) << first.error().message;
    const auto failures = pool.status().failures;
    const auto second = pool.lease(patience());
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("remaining connection slots"), std::string::npos) << second.error().message;
    EXPECT_EQ(pool.status().failures, failures + 1);
    EXPECT_TRUE(pool.status().is_reachable);
  }
  EXPECT_EQ(run_one(pool), "1");
}

TEST(PostgresPool, ThoseBeyondNeedGo) {
  const PostgresServer& server = shared_server();
  Pool pool(must_parse(server.patient_url()), 10ms);
  {
    const auto first = pool.lease(patience());
    const auto second = pool.lease(patience());
    ASSERT_TRUE(first && second);
  }
  EXPECT_EQ(pool.status().connections, 2U);
  EXPECT_TRUE(becomes_true(20s, [&] { return run_one(pool) == "1" && pool.status().connections == 1; }));
}

TEST(PostgresPool, KeepsNoConnectionInATransaction) {
  const PostgresServer& server = shared_server();
  Pool pool(must_parse(server.patient_url()));
  {
    const auto lease = pool.lease(patience());
    ASSERT_TRUE(lease) << lease.error().message;
    ASSERT_TRUE(lease->connection().run_text("begin; create table t (i int)", patience()));
  }
  EXPECT_EQ(pool.status().connections, 0U);
  EXPECT_TRUE(pool.status().is_reachable);
  EXPECT_EQ(run_one(pool), "1");
}

TEST(PostgresPool, GoesToTheServerThatCanBeWrittenTo) {
  PostgresServer first;
  const PostgresServer second;
  Pool pool(must_parse("postgres://mete@" + first.address() + "," + second.address() +
                       "/postgres?target_session_attrs=read-write&timeout=20s"));
  const auto write = [&] {
    const auto lease = pool.lease(patience());
    if (!lease) return "failed: " + lease.error().message;
    return text_of(
        lease->connection().run_text("create temporary table if not exists t (i int); create or replace function f() "
                                     "returns int language sql as 'select 1'; select 1",
                                     patience()));
  };
  EXPECT_EQ(write(), "1");
  EXPECT_EQ(pool.status().nodes, std::vector<std::string>{first.address()});
  first.query("alter system set default_transaction_read_only = on");
  first.query("select pg_reload_conf()");
  EXPECT_TRUE(becomes_true(20s, [&] { return write() == "1" && pool.status().nodes[0] == second.address(); }));
  EXPECT_TRUE(pool.status().is_reachable);
}

}  // namespace
}  // namespace mete::store::postgres
