#include "cli/import/import_target.h"

#include <gmock/gmock.h>

#include "unit/cli/table.h"

namespace mete::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TargetLimit, MustFitTheCounters) {
  const Limit storage = stock("storage").amount(100);
  const Limit api = bucket("api").amount(10).per(std::chrono::minutes(1));
  const Limit month = calendar("links").amount(20).per(Unit::kMonth);
  const Limit day = calendar("sms").amount(20).per(Unit::kDay);
  const Limit anchored = calendar("plan").amount(20).per(Unit::kMonth).anchor(15);
  EXPECT_TRUE(check_fits(storage, CounterForm::kPairs));
  EXPECT_TRUE(check_fits(month, CounterForm::kMonths));

  struct Row {
    const Limit& limit;
    CounterForm form;
    std::string message;
    std::string remedy;
  };
  const Row rows[] = {
      {api, CounterForm::kPairs, "the limit 'api' is a bucket", "mete limit set api stock AMOUNT"},
      {month, CounterForm::kPairs, "the limit 'links' is a calendar", "mete limit set links stock AMOUNT"},
      {api, CounterForm::kMonths, "the limit 'api' is a bucket per 1m, ", "api calendar AMOUNT --per month"},
      {storage, CounterForm::kMonths, "the limit 'storage' is a stock, ", "storage calendar AMOUNT --per month"},
      {day, CounterForm::kMonths, "the limit 'sms' is a calendar per day", "sms calendar AMOUNT --per month"},
      {anchored, CounterForm::kMonths, "'plan' begin on day 15", "plan calendar AMOUNT --per month"},
  };
  for (const Row& row : rows) {
    const auto fits = check_fits(row.limit, row.form);
    ASSERT_FALSE(fits) << row.limit.name();
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
  const Limit limit = stock("storage").amount(100);
  EXPECT_THAT(commands_for(limit, "a", {}), ElementsAre());
  EXPECT_THAT(commands_for(limit, "a", {.used = 70, .amount = 200}),
              ElementsAre(Words{"LIMIT", "OVERRIDE", "storage", "a", "200"}, Words{"RECONCILE", "storage", "a", "70"}));
  EXPECT_THAT(commands_for(limit, "a", {.used = {}, .amount = 100}),
              ElementsAre(Words{"LIMIT", "OVERRIDE", "storage", "a", "NONE"}))
      << "the limit's own amount is no override";
}

}  // namespace
}  // namespace mete::cli
