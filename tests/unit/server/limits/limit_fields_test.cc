#include "server/limits/limit_fields.h"

#include <gtest/gtest.h>

#include <vector>

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

std::int64_t integer(std::int64_t value) { return value; }

TEST(MakeLimit, ReadsEveryKind) {
  const struct {
    wire::NamedValues fields;
    Limit expected;
  } rows[] = {
      {{{"kind", "bucket"s}, {"amount", integer(100)}, {"period", "1m"s}, {"burst", integer(200)}},
       bucket("x").amount(100).per(1min).burst(200)},
      {{{"period", integer(60)}, {"amount", integer(5)}, {"kind", "window"s}}, window("x").amount(5).per(1min)},
      {{{"kind", "sliding"s}, {"amount", integer(5)}, {"period", "250ms"s}, {"shadow", true}},
       sliding("x").amount(5).per(250ms).shadow()},
      {{{"kind", "calendar"s},
        {"amount", integer(20)},
        {"period", "month"s},
        {"zone", "Europe/Berlin"s},
        {"anchor", integer(15)}},
       calendar("x").amount(20).per(Unit::kMonth).zone("Europe/Berlin").anchor(15)},
      {{{"kind", "stock"s}, {"amount", integer(kAmountMax)}, {"shadow", false}}, stock("x").amount(kAmountMax)},
  };
  for (const auto& row : rows) {
    const auto limit = make_limit("x", row.fields);
    ASSERT_TRUE(limit.has_value()) << limit.error().message;
    EXPECT_EQ(*limit, row.expected);
  }
}

TEST(MakeLimit, RefusesAndNamesTheField) {
  const wire::NamedValue kind{"kind", "bucket"s};
  const wire::NamedValue amount{"amount", integer(1)};
  const wire::NamedValue period{"period", "1s"s};
  const struct {
    wire::NamedValues fields;
    std::string_view message;
  } rows[] = {
      {{}, "kind is missing"},
      {{{"kind", "buckets"s}, amount}, "kind must be"},
      {{{"kind", integer(1)}, amount}, "kind must be"},
      {{kind, period}, "amount must be"},
      {{kind, {"amount", "1"s}, period}, "amount must be an integer"},
      {{kind, {"amount", integer(-1)}, period}, "amount must be"},
      {{kind, amount}, "period is missing"},
      {{kind, amount, {"period", "1 s"s}}, "period: "},
      {{kind, amount, {"period", integer(-1)}}, "period: "},
      {{kind, amount, {"period", integer(0)}}, "period must be"},
      {{kind, amount, {"period", true}}, "period must be"},
      {{kind, amount, {"period", "month"s}}, "period: "},
      {{kind, amount, period, {"burst", "9"s}}, "burst must be an integer"},
      {{kind, amount, period, {"burst", integer(0)}}, "burst must be"},
      {{kind, amount, period, {"zone", "UTC"s}}, "zone: a bucket takes none"},
      {{{"kind", "calendar"s}, amount, {"period", "1m"s}}, "period of a calendar"},
      {{{"kind", "calendar"s}, amount, {"period", integer(60)}}, "period of a calendar"},
      {{{"kind", "calendar"s}, amount, {"period", "day"s}, {"zone", true}}, "zone must be a string"},
      {{{"kind", "calendar"s}, amount, {"period", "day"s}, {"anchor", integer(0)}}, "anchor must be"},
      {{{"kind", "calendar"s}, amount, {"period", "day"s}, {"anchor", integer(1) << 40}}, "anchor must be"},
      {{{"kind", "stock"s}, amount, period}, "period: a stock takes none"},
      {{kind, amount, period, {"shadow", integer(1)}}, "shadow must be"},
      {{kind, amount, period, {"amonut\n", integer(1)}}, R"("amonut\n" is no field)"},
  };
  for (const auto& row : rows) {
    const auto limit = make_limit("x", row.fields);
    ASSERT_FALSE(limit.has_value()) << row.message;
    EXPECT_TRUE(limit.error().message.starts_with(row.message)) << limit.error().message;
  }
  EXPECT_FALSE(make_limit("", std::vector{kind, amount, period}).has_value());
}

TEST(DescribeLimit, HasTheFieldsThatMakeTheSameLimit) {
  const Limit limits[] = {
      bucket("a").amount(100).per(1min),
      bucket("a").amount(100).per(1500ms).burst(200).shadow(),
      window("a").amount(kAmountMax).per(kPeriodMax),
      sliding("a").amount(1).per(kPeriodMin),
      calendar("a").amount(20).per(Unit::kMonth),
      calendar("a").amount(20).per(Unit::kYear).zone("Europe/Berlin").anchor(month_day(4, 6)),
      stock("a").amount(5),
      stock("a").amount(5).durable(Durable::kAlways).on_fail(OnFail::kOpen).scope(Scope::kShared),
  };
  for (const Limit& limit : limits) {
    const auto made = make_limit("a", describe_limit(limit));
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_EQ(*made, limit);
  }
}

}  // namespace
}  // namespace mete::server
