#include "server/limits/limit_fields.h"

#include <gtest/gtest.h>

#include <vector>

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

std::int64_t integer(std::int64_t value) { return value; }

TEST(MakeLimit, ReadsEveryKind) {
  const struct {
    std::vector<Field> fields;
    Limit expected;
  } rows[] = {
      {{{"kind", "bucket"sv}, {"amount", integer(100)}, {"period", "1m"sv}, {"burst", integer(200)}},
       bucket("x").amount(100).per(1min).burst(200)},
      {{{"period", integer(60)}, {"amount", integer(5)}, {"kind", "window"sv}}, window("x").amount(5).per(1min)},
      {{{"kind", "sliding"sv}, {"amount", integer(5)}, {"period", "250ms"sv}, {"shadow", true}},
       sliding("x").amount(5).per(250ms).shadow()},
      {{{"kind", "calendar"sv},
        {"amount", integer(20)},
        {"period", "month"sv},
        {"zone", "Europe/Berlin"sv},
        {"anchor", integer(15)}},
       calendar("x").amount(20).per(Unit::kMonth).zone("Europe/Berlin").anchor(15)},
      {{{"kind", "stock"sv}, {"amount", integer(kAmountMax)}, {"shadow", false}}, stock("x").amount(kAmountMax)},
  };
  for (const auto& row : rows) {
    const auto limit = make_limit("x", row.fields);
    ASSERT_TRUE(limit.has_value()) << limit.error().message;
    EXPECT_EQ(*limit, row.expected);
  }
}

TEST(MakeLimit, RefusesAndNamesTheField) {
  const Field kind{"kind", "bucket"sv};
  const Field amount{"amount", integer(1)};
  const Field period{"period", "1s"sv};
  const struct {
    std::vector<Field> fields;
    std::string_view message;
  } rows[] = {
      {{}, "kind is missing"},
      {{{"kind", "buckets"sv}, amount}, "kind must be"},
      {{{"kind", integer(1)}, amount}, "kind must be"},
      {{kind, period}, "amount must be"},
      {{kind, {"amount", "1"sv}, period}, "amount must be an integer"},
      {{kind, {"amount", integer(-1)}, period}, "amount must be"},
      {{kind, amount}, "period is missing"},
      {{kind, amount, {"period", "1 s"sv}}, "period: "},
      {{kind, amount, {"period", integer(-1)}}, "period: "},
      {{kind, amount, {"period", integer(0)}}, "period must be"},
      {{kind, amount, {"period", true}}, "period must be"},
      {{kind, amount, {"period", "month"sv}}, "period: "},
      {{kind, amount, period, {"burst", "9"sv}}, "burst must be an integer"},
      {{kind, amount, period, {"burst", integer(0)}}, "burst must be"},
      {{kind, amount, period, {"zone", "UTC"sv}}, "zone: a bucket takes none"},
      {{{"kind", "calendar"sv}, amount, {"period", "1m"sv}}, "period of a calendar"},
      {{{"kind", "calendar"sv}, amount, {"period", integer(60)}}, "period of a calendar"},
      {{{"kind", "calendar"sv}, amount, {"period", "day"sv}, {"zone", true}}, "zone must be a string"},
      {{{"kind", "calendar"sv}, amount, {"period", "day"sv}, {"anchor", integer(0)}}, "anchor must be"},
      {{{"kind", "calendar"sv}, amount, {"period", "day"sv}, {"anchor", integer(1) << 40}}, "anchor must be"},
      {{{"kind", "stock"sv}, amount, period}, "period: a stock takes none"},
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
  };
  for (const Limit& limit : limits) {
    const auto description = describe_limit(limit);
    std::vector<Field> fields;
    for (const LimitField& field : description) {
      std::visit([&](const auto& value) { fields.push_back({field.name, value}); }, field.value);
    }
    const auto made = make_limit("a", fields);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_EQ(*made, limit);
  }
}

}  // namespace
}  // namespace mete::server
