#include "server/limits/limit_description.h"

#include <gtest/gtest.h>

#include "server/limits/limit_fields.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;

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
