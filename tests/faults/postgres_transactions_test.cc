// Transactions of applications that stay open, while others go on: what they have locked is waited for in time and by
// nobody else, and what changes meanwhile is right for both.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "faults/load.h"
#include "store/postgres/connection.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;
using store::postgres::Connection;

class OpenTransaction : public ::testing::Test {
 protected:
  OpenTransaction() {
    server_.query("select mete.define('jobs', 'stock', 10), mete.define('open', 'stock', 10, on_fail => 'open')");
  }
  void run(const std::string& sql) {
    const auto done = application().run_text(sql, net::Deadline::in(60s));
    ASSERT_TRUE(done.has_value()) << sql << ": " << done.error().message;
  }
  support::PostgresServer::Rows usage() {
    return server_.query("select used, held, \"limit\" from mete.usage('jobs', 'k')");
  }

  support::PostgresServer& server_ = support::running_postgres();

 private:
  Connection& application() {
    if (!connection_) {
      auto opened = Connection::open(server_.url(), net::Deadline::in(60s));
      if (!opened) support::fail(opened.error().message);
      connection_ = std::move(*opened);
    }
    return *connection_;
  }

  std::optional<Connection> connection_;
};

TEST_F(OpenTransaction, OnlyItsOwnMetersAreWaitedFor) {
  Limiter limiter = open_when_calm(server_.url() + "?timeout=1s");
  ASSERT_TRUE(support::becomes_true(20s, [&] { return limiter.take("jobs", "other").has_value(); }));
  run("begin; select mete.take('jobs', 'k'), mete.take('open', 'k')");
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto answer = limiter.take("jobs", "k");
    EXPECT_LT(std::chrono::steady_clock::now() - start, kInTime);
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable) << answer.error().message;
    const auto other = limiter.take("jobs", "other");
    EXPECT_TRUE(other.has_value()) << "the server itself is there: " << other.error().message;
  }
  EXPECT_TRUE(limiter.take("open", "k").value().allowed());
  run("commit");
  EXPECT_TRUE(support::becomes_true(20s, [&] { return limiter.take("jobs", "k").has_value(); }));
  EXPECT_EQ(usage(), (support::PostgresServer::Rows{{"2", "0", "10"}})) << "those who gave up have taken nothing";
}

// How an open transaction came to know a limit by numbers that are old when it ends.
struct Redefinition {
  std::string name;
  std::string begin;
  std::string kind;  // and a period, as mete.define() takes them behind and before the amount
  std::string period = "null";

  friend void PrintTo(const Redefinition& each, std::ostream* out) { *out << each.name; }
};

const std::string kUses = "begin; select mete.take('changed', 'k', 4), mete.hold('changed', 'k', 3, '1 hour')";
const std::string kHasSeen = "begin isolation level repeatable read; select count(*) from mete.meters";
const Redefinition kRedefinitions[] = {
    {"stock", kUses, "stock"},
    {"bucket", kUses, "bucket", "'3650 days'"},
    {"window", kUses, "window", "'3650 days'"},
    {"calendar", kUses, "calendar", "'year'"},
    {"stock_seen", kHasSeen, "stock"},
    {"bucket_seen", kHasSeen, "bucket", "'3650 days'"},
    {"calendar_seen", kHasSeen, "calendar", "'year'"},
};

class Redefined : public OpenTransaction, public ::testing::WithParamInterface<Redefinition> {
 protected:
  void define(int amount) {
    server_.query("select mete.define('changed', '" + GetParam().kind + "', " + std::to_string(amount) + ", " +
                  GetParam().period + ")");
  }
};

// It makes a meter by the numbers of its time, which must not be forgotten before that.
TEST_P(Redefined, OldNumbersAreKnownUntilItEnds) {
  define(10);
  run(GetParam().begin);
  define(20);
  server_.query("select mete.expire()");
  if (GetParam().begin == kHasSeen) run("select mete.take('changed', 'k', 4), mete.hold('changed', 'k', 3, '1 hour')");
  run("commit");
  const std::string usage = "select used + held, \"limit\" from mete.usage('changed', 'k')";
  EXPECT_EQ(server_.query(usage), (support::PostgresServer::Rows{{"7", "20"}}));
  EXPECT_EQ(server_.query("select (mete.take('changed', 'k', 13)).allowed"), (support::PostgresServer::Rows{{"t"}}));
  EXPECT_EQ(server_.query("select (mete.take('changed', 'k', 1)).allowed"), (support::PostgresServer::Rows{{"f"}}));
  EXPECT_EQ(server_.query(usage), (support::PostgresServer::Rows{{"20", "20"}}));
  EXPECT_EQ(server_.query("select * from mete.audit()"), support::PostgresServer::Rows());
}

INSTANTIATE_TEST_SUITE_P(Postgres, Redefined, ::testing::ValuesIn(kRedefinitions),
                         [](const auto& each) { return each.param.name; });

TEST_F(OpenTransaction, ALimitIsDroppedMeanwhile) {
  run("begin; select mete.hold('jobs', 'k', 3, '1 hour', 'hold')");
  server_.query("select mete.drop_limit('jobs')");
  server_.query("select mete.expire()");
  run("commit");
  server_.query("select mete.expire()");
  EXPECT_EQ(server_.query("select (mete.cancel('hold')).allowed"), (support::PostgresServer::Rows{{"t"}}));
  server_.query("select mete.define('jobs', 'stock', 5)");
  EXPECT_EQ(usage(), (support::PostgresServer::Rows{{"0", "0", "5"}}));
  server_.query("select mete.expire()");
  EXPECT_EQ(server_.query("select count(*) from mete.meters"), (support::PostgresServer::Rows{{"0"}}))
      << "what is left";
}

}  // namespace
}  // namespace mete::faults
