// mete.define and what belongs to it: what a limit may be, and what redefining leaves as it is.
#include <gtest/gtest.h>

#include <string>

#include "support/postgres_server.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using support::PostgresServer;
using support::shared_postgres;
using namespace std::chrono_literals;

TEST(SqlDefine, Refuses) {
  const std::string anchors = ": a week has 1 to 7, a month 1 to 31, a year month * 100 + day, an hour or a day none";
  const Exchange rows[] = {
      {"null, 'stock', 1", "limit name is missing"},
      {"'', 'stock', 1", "limit name must have 1 to 128 bytes, not 0"},
      {"repeat('n', 129), 'stock', 1", "limit name must have 1 to 128 bytes, not 129"},
      {"E'a\\nb', 'stock', 1", "limit name must not have control characters"},
      {"'Tag', 'stock', 1", "limit name must not be 'Tag': HOLDS TAG lists the holds with a tag"},
      {"'x', null, 1", "kind must be bucket, window, sliding, calendar or stock, not null"},
      {"'x', 'Stock', 1", "kind must be bucket, window, sliding, calendar or stock, not Stock"},
      {"'x', 'stock', null", "amount is missing"},
      {"'x', 'stock', 0", "amount must be 1 to 9007199254740991, not 0"},
      {"'x', 'stock', 9007199254740992", "amount must be 1 to 9007199254740991, not 9007199254740992"},
      {"'x', 'stock', 1, '1 hour'", "period: a stock takes none"},
      {"'x', 'stock', 1, 'month'", "period: a stock takes none"},
      {"'x', 'stock', 1, burst => 5", "burst: a stock takes none"},
      {"'x', 'stock', 1, zone => 'UTC'", "zone: a stock takes none"},
      {"'x', 'window', 1, '1 hour', anchor => 1", "anchor: a window takes none"},
      {"'x', 'bucket', 1", "period is missing: a bucket needs one, such as 1 minute"},
      {"'x', 'window', 1", "period is missing: a window needs one, such as 1 minute"},
      {"'x', 'sliding', 1", "period is missing: a sliding needs one, such as 1 minute"},
      {"'x', 'bucket', 1, ''", "period: '' is no length of time, such as 1 minute"},
      {"'x', 'bucket', 1, '1 fortnight'", "period: '1 fortnight' is no length of time, such as 1 minute"},
      {"'x', 'bucket', 1, 'month'", "period: a bucket takes a length, such as 1 minute, not month"},
      {"'x', 'bucket', 1, '1 month'", "period: '1 month' has no fixed length: say it in days, or define a calendar"},
      {"'x', 'bucket', 1, '1 year'", "period: '1 year' has no fixed length: say it in days, or define a calendar"},
      {"'x', 'bucket', 1, '0.9 ms'", "period must be 1 ms to 10 years (3653 days), not 0.0009 seconds"},
      {"'x', 'bucket', 1, '-1 hour'", "period must be 1 ms to 10 years (3653 days), not -3600 seconds"},
      {"'x', 'bucket', 1, '3654 days'", "period must be 1 ms to 10 years (3653 days), not 315705600 seconds"},
      {"'x', 'bucket', 1, '1 minute', 0", "burst must be 1 to 9007199254740991, not 0"},
      {"'x', 'calendar', 1", "period: a calendar needs hour, day, week, month or year"},
      {"'x', 'calendar', 1, '30 days'", "period: a calendar needs hour, day, week, month or year"},
      {"'x', 'calendar', 1, 'day', 5", "burst: a calendar takes none"},
      {"'x', 'calendar', 1, 'day', zone => 'Mars/Olympus'",
       "zone: unknown time zone 'Mars/Olympus': use a name such as Europe/Berlin"},
      {"'x', 'calendar', 1, 'day', anchor => 1", "anchor 1" + anchors},
      {"'x', 'calendar', 1, 'hour', anchor => 1", "anchor 1" + anchors},
      {"'x', 'calendar', 1, 'week', anchor => 8", "anchor 8" + anchors},
      {"'x', 'calendar', 1, 'month', anchor => 0", "anchor 0" + anchors},
      {"'x', 'calendar', 1, 'month', anchor => 32", "anchor 32" + anchors},
      {"'x', 'calendar', 1, 'year', anchor => 1301", "anchor 1301" + anchors},
      {"'x', 'calendar', 1, 'year', anchor => 230", "anchor 230" + anchors},
      {"'x', 'stock', 1, durable => 'sometimes'", "durable must be always, everysec or never, not sometimes"},
      {"'x', 'stock', 1, on_fail => 'ajar'", "on_fail must be closed, open or local, not ajar"},
      {"'x', 'stock', 1, on_fail => null", "on_fail must be closed, open or local, not null"},
      {"'x', 'stock', 1, shadow => null", "shadow must be true or false, not null"},
      {"'x', 'stock', 1, scope => 'galaxy'", "scope must be node, shared or escrow, not galaxy"},
      {"'x', 'stock', 1, scope => null", "scope must be node, shared or escrow, not null"},
  };
  SqlSession session(shared_postgres());
  for (const Exchange& row : rows) {
    EXPECT_EQ(session.ask("select mete.define(" + row.sql + ")"), "MT001 " + row.answer) << row.sql;
  }
  EXPECT_EQ(session.ask("select count(*) from mete.limits"), "0");
}

TEST(SqlDefine, Keeps) {
  const Exchange rows[] = {
      // kind, amount, capacity, period_us, unit, zone, anchor, burst, durable, on_fail, shadow, scope, records
      {"'x', 'stock', 9007199254740991",
       "stock|9007199254740991|9007199254740991|0|null|null|null|null|null|closed|f|node|t"},
      {"'x', 'bucket', 5, '1 ms'", "bucket|5|5|1000|null|null|null|null|null|closed|f|node|f"},
      {"'x', 'bucket', 5, '10'", "bucket|5|5|10000000|null|null|null|null|null|closed|f|node|f"},
      {"'x', 'bucket', 5, '3653 days', 7, durable => 'always'",
       "bucket|5|7|315619200000000|null|null|null|7|always|closed|f|node|t"},
      {"'x', 'window', 5, '1 hour', on_fail => 'open', shadow => true, scope => 'shared'",
       "window|5|5|3600000000|null|null|null|null|null|open|t|shared|f"},
      {"'x', 'stock', 5, scope => 'escrow'", "stock|5|5|0|null|null|null|null|null|closed|f|escrow|t"},
      {"'x', 'sliding', 5, '90 seconds'", "sliding|5|5|90000000|null|null|null|null|null|closed|f|node|f"},
      {"'x', 'calendar', 5, 'month', null, 'Europe/Berlin', 31, 'never'",
       "calendar|5|5|0|month|Europe/Berlin|31|null|never|closed|f|node|f"},
      {"name => 'x', kind => 'calendar', amount => 5, period => 'year', anchor => 229",
       "calendar|5|5|0|year|null|229|null|null|closed|f|node|t"},
  };
  SqlSession session(shared_postgres());
  for (const Exchange& row : rows) {
    EXPECT_EQ(session.ask("select mete.drop_limit('x'); select mete.define(" + row.sql +
                          "); select kind, amount, capacity, period_us, unit, zone, anchor, burst, durable, on_fail, "
                          "shadow, scope, records from mete.limits where not is_dropped"),
              row.answer)
        << row.sql;
  }
}

// Meters go over to a revision one by one: it costs something, so only other numbers make one.
TEST(SqlDefine, OnlyOtherNumbersAreAnotherRevision) {
  const Exchange rows[] = {
      {"'x', 'bucket', 5, '1 minute'", "1"},
      {"'x', 'bucket', 5, '60 seconds'", "1"},
      {"'x', 'bucket', 5, '1 minute', 5", "1"},
      {"'x', 'bucket', 5, '1 minute', on_fail => 'open'", "1"},
      {"'x', 'bucket', 5, '1 minute', on_fail => 'local'", "1"},
      {"'x', 'bucket', 5, '1 minute', shadow => true, scope => 'shared', durable => 'never'", "1"},
      {"'x', 'bucket', 5, '1 minute', 6", "2"},
      {"'x', 'bucket', 6, '1 minute'", "3"},
      {"'x', 'bucket', 6, '2 minutes'", "4"},
      {"'x', 'bucket', 6, '2 minutes', durable => 'always'", "5"},  // from here on it is recorded
      {"'x', 'calendar', 6, 'day'", "6"},
      {"'x', 'calendar', 6, 'week'", "7"},
      {"'x', 'calendar', 6, 'week', anchor => 7", "8"},
      {"'x', 'calendar', 6, 'week', anchor => 7, zone => 'Asia/Tokyo'", "9"},
      {"'x', 'stock', 6", "10"},
      {"'x', 'stock', 6, durable => 'always'", "10"},
  };
  SqlSession session(shared_postgres());
  for (const Exchange& row : rows) {
    EXPECT_EQ(session.ask("select mete.define(" + row.sql +
                          "); select l.revision from mete.limits l join mete.revisions r "
                          "on r.limit_id = l.id and r.revision = l.revision and r.rule = mete_private._rule(l)"),
              row.answer)
        << row.sql;
  }
}

TEST(SqlDefine, NeverRefills) {
  PostgresServer& postgres = shared_postgres();
  SqlSession session(postgres);
  const Exchange rows[] = {
      {"select mete.define('x', 'stock', 10)", ""},
      {"select remaining from mete.take('x', 'a', 8)", "2"},
      {"select mete.define('x', 'stock', 5)", ""},
      {"select * from mete.usage('x', 'a')", "8|0|0|5|null"},
      {"select mete.define('x', 'calendar', 20, 'month')", ""},
      {"select used, remaining from mete.usage('x', 'a')", "8|12"},
      {"select mete.override('x', 'a', 9)", ""},
      {"select used, remaining, \"limit\" from mete.usage('x', 'a')", "8|1|9"},
      {"select mete.override(\"limit\" => 'x', key => 'a', amount => null)", ""},
      {"select used, remaining, \"limit\" from mete.usage('x', 'a')", "8|12|20"},
      {"select mete.drop_limit(name => 'x'), mete.drop_limit('x')", "t|f"},
      {"select mete.usage('x', 'a')", "MT002 unknown limit 'x'"},
      {"select mete.define('x', 'stock', 10)", ""},
      {"select used from mete.usage('x', 'a')", "0"},
  };
  for (const Exchange& row : rows) EXPECT_EQ(session.ask(row.sql), row.answer) << row.sql;
}

// Two who define the same limit at once: the one that comes second changes what the first has made.
TEST(SqlDefine, TwoAtOnceAreOneAfterTheOther) {
  PostgresServer& postgres = shared_postgres();
  SqlSession first(postgres);
  SqlSession second(postgres);
  EXPECT_EQ(first.ask("begin; select mete.define('x', 'stock', 1)"), "");
  auto answer = second.ask_meanwhile("select mete.define('x', 'stock', 2)");
  ASSERT_TRUE(somebody_waits(postgres));
  EXPECT_EQ(first.ask("commit"), "");
  EXPECT_EQ(answer.get(), "");
  EXPECT_EQ(first.ask("select name, amount, revision from mete.limits"), "x|2|2");
}

}  // namespace
}  // namespace mete::store::postgres
