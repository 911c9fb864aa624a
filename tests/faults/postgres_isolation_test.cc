// Applications call Mete's functions within transactions of their own, of whatever isolation: a transaction that begins
// before others have taken the last of a limit gets the right answer or SQLSTATE 40001, and nothing is admitted over
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "store/postgres/connection.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;
using store::postgres::Connection;
using store::postgres::Rows;
using store::postgres::SqlResult;

constexpr int kCallers = 8;
constexpr int kFit = 2;
constexpr const char* kSerializationFailure = "40001";

// One application's connection.
class Caller {
 public:
  // Statements know its number as test.number.
  Caller(const std::string& url, int number) : connection_(connect(url)) {
    const auto set = run("set test.number = " + std::to_string(number));
    if (!set) support::fail(set.error().message);
  }

  SqlResult<Rows> run(const std::string& sql) { return connection_.run_text(sql, net::Deadline::in(60s)); }

  // Begins, and has seen the database as it is now.
  void begin(const std::string& isolation) {
    const auto begun = run("begin isolation level " + isolation + "; select count(*) from mete.meters");
    if (!begun) support::fail(begun.error().message);
  }
  // Whether the transaction has taken the hold, and is committed; an error is one of 40001.
  enum class End : std::uint8_t { kHeld, kDenied, kUndone };
  End hold(const std::string& statement) {
    const auto held = run(statement);
    if (!held) return undo(held.error());
    const bool is_allowed = held->boolean(0, 0, "the hold").value();
    const auto committed = run("commit");
    if (!committed) return undo(committed.error());
    return is_allowed ? End::kHeld : End::kDenied;
  }

 private:
  static Connection connect(const std::string& url) {
    auto opened = Connection::open(url, net::Deadline::in(60s));
    if (!opened) support::fail(opened.error().message);
    return std::move(*opened);
  }
  End undo(const store::postgres::SqlError& error) {
    EXPECT_EQ(error.state, kSerializationFailure) << error.message;
    EXPECT_TRUE(run("rollback").has_value());
    return End::kUndone;
  }

  Connection connection_;
};

// What the callers want, and what was there before they began.
struct Case {
  std::string name;
  std::string before;
  std::string hold;
};

const Case kCases[] = {
    {"a_new_meter", "select 1", "select (mete.hold('jobs', 'alice', 1, '1 hour')).allowed"},
    {"a_meter_in_use", "select mete.take('jobs', 'alice'); select mete.give('jobs', 'alice')",
     "select (mete.hold('jobs', 'alice', 1, '1 hour')).allowed"},
    {"a_bucket", "select 1", "select (mete.hold('calls', 'alice', 1, '1 hour')).allowed"},
    {"two_limits", "select mete.take('plenty', 'alice')",
     R"(select (mete.hold_all('[{"limit": "plenty", "key": "alice"}, {"limit": "jobs", "key": "alice"}]', '1 hour')).allowed)"},
    {"what_has_expired", "select mete.hold('jobs', 'alice', 2, '1 millisecond'); select pg_sleep(0.002)",
     "select (mete.hold('jobs', 'alice', 1, '1 hour')).allowed"},
    {"jobs_of_several_callers", "select 1",
     "select (mete.hold('jobs', 'alice', 1, '1 hour', tag => 'job-' || current_setting('test.number')::integer % "
     "3)).allowed"},
};

class Isolation : public ::testing::TestWithParam<std::string> {
 protected:
  Isolation() {
    server_.query("select mete.define('jobs', 'stock', " + std::to_string(kFit) + ")");
    server_.query("select mete.define('plenty', 'stock', 1000)");
    server_.query("select mete.define('calls', 'bucket', " + std::to_string(kFit) + ", '365 days')");
  }
  struct Ends {
    std::atomic<int> denied{0};
    std::atomic<int> undone{0};
  };
  void expect_nothing_over(const Case& one) const;
  // Those that are open, each a row per charge, of the limits that are scarce.
  [[nodiscard]] int open_holds() const {
    const auto rows = server_.query("select count(*) from mete.holds where state = 'held' and \"limit\" <> 'plenty'");
    return std::stoi(rows.at(0).at(0));
  }

  support::PostgresServer& server_ = support::running_postgres();
};

// All begin before the first of them holds anything.
void Isolation::expect_nothing_over(const Case& one) const {
  SCOPED_TRACE(one.name);
  server_.query("truncate mete.meters, mete.operations, mete.events");
  server_.query(one.before);
  std::barrier all_begun(kCallers);
  Ends ends;
  std::vector<std::thread> threads;
  for (int i = 0; i < kCallers; ++i) {
    threads.emplace_back([&, i] {
      Caller caller(server_.url(), i);
      caller.begin(GetParam());
      all_begun.arrive_and_wait();
      Caller::End end = caller.hold(one.hold);
      // Whoever is undone begins again, as applications do.
      while (end == Caller::End::kUndone) {
        ++ends.undone;
        caller.begin(GetParam());
        end = caller.hold(one.hold);
      }
      if (end == Caller::End::kDenied) ++ends.denied;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ends.undone > 0, GetParam() != "read committed") << ends.undone << " were undone";
  EXPECT_EQ(open_holds(), kFit);
  EXPECT_GT(ends.denied, 0);
  EXPECT_EQ(server_.query("select * from mete.audit()"), support::PostgresServer::Rows());
}

TEST_P(Isolation, NothingIsAdmittedOverTheLimit) {
  for (const Case& one : kCases) expect_nothing_over(one);
  EXPECT_EQ(server_.log().find("deadlock detected"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Postgres, Isolation, ::testing::Values("read committed", "repeatable read", "serializable"),
                         [](const auto& each) {
                           std::string level = each.param;
                           std::replace(level.begin(), level.end(), ' ', '_');
                           return level;
                         });

}  // namespace
}  // namespace mete::faults
