#include "store/postgres/event_months.h"

#include <gtest/gtest.h>

#include "support/postgres_server.h"

namespace mete::store::postgres {
namespace {

using namespace std::chrono_literals;

TEST(EventMonths, FollowEachOtherOverTheYearsEnd) {
  const auto months = event_months(Instant::from_unix_seconds(1'796'083'199), 3);  // 2026-11-30 23:59:59
  ASSERT_EQ(months.size(), 3U);
  EXPECT_EQ(months[0], (EventMonth{"mete.events_2026_11", "'2026-11-01 00:00+00'", "'2026-12-01 00:00+00'"}));
  EXPECT_EQ(months[1], (EventMonth{"mete.events_2026_12", "'2026-12-01 00:00+00'", "'2027-01-01 00:00+00'"}));
  EXPECT_EQ(months[2], (EventMonth{"mete.events_2027_01", "'2027-01-01 00:00+00'", "'2027-02-01 00:00+00'"}));
}

class EventPartitions : public ::testing::Test {
 protected:
  EventPartitions() { drop(); }
  ~EventPartitions() override { drop(); }

  // They are of a server that other tests use too.
  void drop() {
    for (const auto& row : server_.query("select inhrelid::regclass::text from pg_inherits where inhparent = "
                                         "'mete.events'::regclass and inhrelid <> 'mete.events_other'::regclass")) {
      server_.query("drop table " + row[0]);
    }
  }
  int make(std::string_view role) {
    auto connection = Connection::open(server_.url("postgres", role), net::Deadline::in(20s));
    EXPECT_TRUE(connection.has_value());
    return make_event_months(*connection, net::Deadline::in(20s)).value();
  }

  support::PostgresServer& server_ = support::shared_postgres();
};

TEST_F(EventPartitions, AreMadeOnceAndTakeTheEvents) {
  EXPECT_EQ(make("mete"), 4);
  EXPECT_EQ(make("mete"), 0);
  server_.query("select mete.define('disk', 'stock', 10); select mete.take('disk', 'a', 3)");
  EXPECT_EQ(server_.query("select tableoid::regclass::text from mete.events")[0][0], "mete.events_2023_11");
  EXPECT_TRUE(server_.query("select * from mete.audit()").empty());
}

TEST_F(EventPartitions, LeaveOutAMonthWhoseEventsLieElsewhere) {
  server_.query("select mete.define('disk', 'stock', 10); select mete.take('disk', 'a', 3)");
  EXPECT_EQ(make("mete"), 3);
  EXPECT_EQ(server_.query("select tableoid::regclass::text from mete.events")[0][0], "mete.events_other");
  EXPECT_EQ(server_.query("select used from mete.usage('disk', 'a')")[0][0], "3");
}

TEST_F(EventPartitions, AreTheOwnersToMake) {
  server_.query("drop role if exists guest; create role guest login; grant mete_admin to guest");
  EXPECT_EQ(make("guest"), 0);
  server_.query("drop role guest");
}

}  // namespace
}  // namespace mete::store::postgres
