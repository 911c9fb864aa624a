// All that can be done to limits and their meters, done at once and again and again: nobody waits for each other,
// nothing fails but for what the caller asked, and the books balance in the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "store/postgres/connection.h"
#include "support/long_form.h"
#include "support/postgres_server.h"

namespace mete::faults {
namespace {

using namespace std::chrono_literals;
using store::postgres::Connection;

const int kRounds = support::is_long_form() ? 200 : 60;

// Each is repeated on a connection of its own.
const char* const kCalls[] = {
    R"(select mete.hold_all('[{"limit": "a", "key": "1"}, {"limit": "b", "key": "2"}]', '2 milliseconds'))",
    R"(select mete.hold_all('[{"limit": "b", "key": "2"}, {"limit": "b", "key": "1"}]', '1 hour', tag => 'job'))",
    R"(select mete.take_all('[{"limit": "b", "key": "1"}, {"limit": "a", "key": "2"}, {"limit": "a", "key": "1"}]'))",
    R"(select mete.give_all('[{"limit": "a", "key": "2"}, {"limit": "b", "key": "2"}]'))",
    "select mete.take('a', '1', id => 'id-' || (random() * 3)::integer)",
    "select mete.cancel(tag => 'job')",
    "select mete.expire(3)",
    "select mete_private.store_clear()",
    "select mete.define('a', 'stock', 50 + (random() * 3)::integer)",
    "select mete.define('b', 'calendar', 50, case when random() < 0.5 then 'month' else 'year' end)",
    "select mete.reconcile('a', '1', 5)",
    "select count(*) from mete_private.store_shift('a', '{1, 2, 3}', '{1, -1, 1}', mete_private._now_us(), 0)",
    R"(select count(*) from mete_private.store_each('{b,a,a,b}', '{2,1,3,1}', '{1,1,1,1}',
           array['', gen_random_uuid()::text, '', ''], '{0,1000,0,0}', null, 0, 0))",
    "select mete.override('b', '2', 40 + (random() * 3)::integer)",
    "select mete.drop_limit('c'), mete.define('c', 'stock', 5), mete.take('c', '1')",
    "select mete.prune(clock_timestamp())",
    "select count(*) from mete.audit()",
};

// What a call may be refused for: no such hold; one that was cleared and made anew in between, or meters that were
// (40001); what is made together does not wait for long (55P03).
bool is_refusal(const std::string& state) { return state == "MT003" || state == "40001" || state == "55P03"; }

void repeat(const std::string& url, const std::string& call) {
  auto connection = Connection::open(url, net::Deadline::in(60s));
  ASSERT_TRUE(connection.has_value()) << connection.error().message;
  for (int i = 0; i < kRounds; ++i) {
    const auto done = connection->run_text(call, net::Deadline::in(60s));
    if (done || is_refusal(done.error().state)) continue;
    ADD_FAILURE() << call << ": " << done.error().state << " " << done.error().message;
    return;
  }
}

TEST(PostgresUpkeep, NobodyWaitsForEachOther) {
  const support::PostgresServer server({.settings = {"deadlock_timeout=50ms"}});
  server.install_schema();
  server.query("select mete.define('a', 'stock', 50), mete.define('b', 'calendar', 50, 'month')");
  server.query("select mete.define('c', 'stock', 5)");
  std::vector<std::thread> threads;
  for (const char* const call : kCalls) threads.emplace_back([&server, call] { repeat(server.url(), call); });
  for (std::thread& thread : threads) thread.join();
  const std::string log = server.log();
  const std::size_t deadlock = log.find("deadlock detected");
  EXPECT_EQ(deadlock, std::string::npos) << log.substr(std::min(deadlock, log.size()), 2000);
  EXPECT_EQ(server.query("select * from mete.audit()"), support::PostgresServer::Rows());
}

}  // namespace
}  // namespace mete::faults
