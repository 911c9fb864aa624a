// Thirty-two connections use hot and cold meters at once: by limiters and within transactions, with holds that are
// committed, cancelled or expire, rollbacks, and server processes that are ended. Nothing is ever over its limit, the
// books balance to the unit, and nobody waits for each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "faults/postgres_clients.h"
#include "support/long_form.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;
using threads::Meanwhile;
using threads::Random;

constexpr int kConnections = 32;  // every second one is a limiter's
constexpr int kLimiters = 2;
const int kSteps = support::is_long_form() ? 40 : 15;
constexpr auto kPause = 20ms;  // between two of what happens beside the load

// By the tables themselves: what is used, and what is held for longer than until now.
constexpr const char* kOver = R"(
  select count(*) from (
    select sum(amount) as amount from (
      select limit_id, key, amount from mete.events
      union all
      select limit_id, key, amount from mete.operations
      where state = 'held' and is_backed and due_us > extract(epoch from clock_timestamp()) * 1000000) all_charges
    group by limit_id, key) meters where amount > )";
constexpr const char* kOverAsTold = R"(
  select count(*) from mete.meters m join mete.limits l on l.id = m.limit_id, mete.usage(l.name, m.key) u
  where u.used + u.held > u."limit")";
constexpr const char* kUnbalanced = "select count(*) from mete.audit()";
constexpr const char* kEndOne = R"(
  select count(pg_terminate_backend(pid)) from (
    select pid from pg_stat_activity where application_name = 'client' order by random() limit 1) one)";

class PostgresBooks : public ::testing::Test {
 protected:
  PostgresBooks() {
    server_.install_schema();
    const std::string capacity = std::to_string(kCapacity);
    server_.query("select mete.define('credits', 'stock', " + capacity + "), mete.define('storage', 'stock', " +
                  capacity + "), mete.define('yearly', 'calendar', " + capacity + ", 'year')");
    server_.query(kJobsTable);
    for (auto& limiter : limiters_) limiter = std::make_unique<Limiter>(open(url() + "&pool=8").value());
  }
  void work() {
    threads::run(kConnections, [this](int number, Random& random) {
      LimiterClient limiter(*limiters_.at(static_cast<std::size_t>(number / 2 % kLimiters)), ledger_,
                            "client-" + std::to_string(number));
      SqlClient sql(url_of_applications(), ledger_);
      for (int i = 0; i < kSteps; ++i) number % 2 == 0 ? limiter.step(random) : sql.step(random);
    });
  }
  // Beside the work, on a connection that nobody ends.
  [[nodiscard]] std::unique_ptr<Meanwhile> look() {
    return beside([this] {
      ++looks_;
      EXPECT_EQ(number_of(kOver + std::to_string(kCapacity)), 0) << "over the limit";
      EXPECT_EQ(number_of(kOverAsTold), 0) << "over the limit";
      EXPECT_EQ(number_of(kUnbalanced), 0) << "the books are wrong";
    });
  }
  [[nodiscard]] std::unique_ptr<Meanwhile> expire() {
    return beside([this] { number_of("select expired from mete.expire(20)"); });
  }
  [[nodiscard]] std::unique_ptr<Meanwhile> end_processes() {
    return beside([this] { ended_ += number_of(kEndOne); });
  }
  void expect_balance() {
    EXPECT_EQ(ledger_.complaint(), "");
    EXPECT_GT(looks_, 1);
    EXPECT_TRUE(support::becomes_true(
        60s, [this] { return number_of("select count(*) from mete.holds where state = 'held'") == 0; }));
    for (int limit = 0; limit < static_cast<int>(kLimits.size()); ++limit) {
      for (int key = 0; key < kKeys; ++key) expect_balance({.limit = limit, .key = key});
    }
    EXPECT_EQ(number_of(kUnbalanced), 0);
    while (number_of("select expired from mete.expire()") > 0) continue;
    EXPECT_EQ(number_of(kUnbalanced), 0);
    const std::string log = server_.log();
    const std::size_t deadlock = log.find("deadlock detected");
    EXPECT_EQ(deadlock, std::string::npos) << log.substr(std::min(deadlock, log.size()), 2000);
  }

  Amount number_of(const std::string& sql) const { return std::stoll(server_.query(sql).at(0).at(0)); }

  std::atomic<int> looks_{0};
  std::atomic<Amount> ended_{0};

 private:
  static std::unique_ptr<Meanwhile> beside(const std::function<void()>& what) {
    return std::make_unique<Meanwhile>([what] {
      what();
      std::this_thread::sleep_for(kPause);
    });
  }
  void expect_balance(const Meter& meter) {
    const std::string of = "'" + meter.limit_name() + "', '" + meter.key_name() + "'";
    const Amount by_jobs = number_of("select coalesce(sum(amount), 0) from jobs where (\"limit\", key) = (" + of + ")");
    EXPECT_EQ(number_of("select used from mete.usage(" + of + ")"), ledger_.used(meter) + by_jobs) << of;
    EXPECT_EQ(number_of("select held from mete.usage(" + of + ")"), 0) << of;
  }
  [[nodiscard]] std::string url() const { return server_.url() + "?timeout=20s&application_name=client"; }
  [[nodiscard]] std::string url_of_applications() const { return server_.url() + "?application_name=client"; }

  support::PostgresServer server_{{.settings = {"deadlock_timeout=50ms"}}};
  Ledger ledger_;
  std::array<std::unique_ptr<Limiter>, kLimiters> limiters_;
};

TEST_F(PostgresBooks, BalanceUnderLoad) {
  {
    const auto watcher = look();
    const auto sweeper = expire();
    work();
  }
  expect_balance();
}

TEST_F(PostgresBooks, BalanceWhenProcessesEnd) {
  {
    const auto watcher = look();
    const auto sweeper = expire();
    const auto killer = end_processes();
    work();
  }
  EXPECT_GT(ended_, 10) << "hardly anybody was disturbed";
  expect_balance();
}

}  // namespace
}  // namespace mete::faults
