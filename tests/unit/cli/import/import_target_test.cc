#include "cli/import/import_target.h"

#include <gmock/gmock.h>

#include "unit/cli/table.h"

namespace mete::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LimitMember text(std::string name, std::string value) {
  return {std::move(name), {.type = wire::RespType::kBulk, .text = std::move(value)}};
}
LimitMember number(std::string name, std::int64_t value) {
  return {std::move(name), {.type = wire::RespType::kInteger, .integer = value}};
}

TEST(TargetLimit, IsReadFromWhatTheServerSays) {
  EXPECT_EQ(target_limit({text("name", "storage"), text("kind", "stock"), number("amount", 100)}),
            (TargetLimit{.name = "storage", .kind = "stock", .amount = 100}));
  EXPECT_EQ(
      target_limit({text("name", "links"), text("kind", "calendar"), number("amount", 20), text("period", "month"),
                    text("zone", "Europe/Berlin"), number("anchor", 15), text("durable", "never")}),
      (TargetLimit{.name = "links",
                   .kind = "calendar",
                   .amount = 20,
                   .period = "month",
                   .zone = "Europe/Berlin",
                   .anchor = 15}));
}

TEST(TargetLimit, MustFitTheCounters) {
  const TargetLimit stock{.name = "storage", .kind = "stock"};
  const TargetLimit bucket{.name = "api", .kind = "bucket", .period = "1m"};
  const TargetLimit month{.name = "links", .kind = "calendar", .period = "month"};
  const TargetLimit day{.name = "sms", .kind = "calendar", .period = "day"};
  const TargetLimit anchored{.name = "plan", .kind = "calendar", .period = "month", .anchor = 15};
  EXPECT_TRUE(check_fits(stock, CounterForm::kPairs));
  EXPECT_TRUE(check_fits(month, CounterForm::kMonths));

  struct Row {
    const TargetLimit& limit;
    CounterForm form;
    std::string message;
    std::string remedy;
  };
  const Row rows[] = {
      {bucket, CounterForm::kPairs, "the limit 'api' is a bucket", "mete limit set api stock AMOUNT"},
      {month, CounterForm::kPairs, "the limit 'links' is a calendar", "mete limit set links stock AMOUNT"},
      {stock, CounterForm::kMonths, "the limit 'storage' is a stock, ", "storage calendar AMOUNT --per month"},
      {day, CounterForm::kMonths, "the limit 'sms' is a calendar per day", "sms calendar AMOUNT --per month"},
      {anchored, CounterForm::kMonths, "'plan' begin on day 15", "plan calendar AMOUNT --per month"},
  };
  for (const Row& row : rows) {
    const auto fits = check_fits(row.limit, row.form);
    ASSERT_FALSE(fits) << row.limit.name;
    EXPECT_THAT(fits.error().message, HasSubstr(row.message));
    EXPECT_THAT(fits.error().message, HasSubstr(row.remedy));
  }
  EXPECT_THAT(no_target_limit("storage", CounterForm::kPairs).message,
              HasSubstr("no limit 'storage': define it with: mete limit set storage stock AMOUNT"));
}

TEST(Change, IsOnlyOfWhatIsNotRightAlready) {
  const Standing standing{.used = 70, .amount = 100};
  EXPECT_EQ(change_between(standing, {"a", 70, 100}), (Change{}));
  EXPECT_EQ(change_between(standing, {"a", 80, 100}), (Change{.used = 80, .amount = {}}));
  EXPECT_EQ(change_between(standing, {"a", 70, 200}), (Change{.used = {}, .amount = 200}));
  EXPECT_EQ(change_between(standing, {"a", 0, 200}), (Change{.used = 0, .amount = 200}));
  EXPECT_EQ(change_between(standing, {"a", std::nullopt, 100}), (Change{}));
  EXPECT_EQ(change_between(standing, {"a", 70, std::nullopt}), (Change{}));
}

TEST(Change, IsToldToTheServer) {
  const TargetLimit limit{.name = "storage", .kind = "stock", .amount = 100};
  EXPECT_THAT(commands_for(limit, "a", {}), ElementsAre());
  EXPECT_THAT(commands_for(limit, "a", {.used = 70, .amount = 200}),
              ElementsAre(Words{"LIMIT", "OVERRIDE", "storage", "a", "200"}, Words{"RECONCILE", "storage", "a", "70"}));
  EXPECT_THAT(commands_for(limit, "a", {.used = {}, .amount = 100}),
              ElementsAre(Words{"LIMIT", "OVERRIDE", "storage", "a", "NONE"}))
      << "the limit's own amount is no override";
}

}  // namespace
}  // namespace mete::cli
