#include "sync/plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "sync/postgres_source.h"

namespace mete::sync {
namespace {

using namespace std::chrono_literals;

TEST(MaxChangeTest, IsAPercentageOfWhatIsUsedOrANumber) {
  const struct {
    std::string_view text;
    std::int64_t change;
    std::int64_t used;
    bool is_passed;
  } rows[] = {
      {"20%", 20, 100, false},
      {"20%", 21, 100, true},
      {"0%", 0, 100, false},
      {"0%", 1, 100, true},
      {"33%", 1, 3, true},
      {"34%", 1, 3, false},
      {"150%", 150, 100, false},
      {"20%", 1'000'000, 0, false},  // nothing to compare with
      {"20%", kAmountMax * 1000, kAmountMax * 1000, true},
      {"100%", kAmountMax * 1000, kAmountMax * 1000, false},
      {"5", 5, 0, false},
      {"5", 6, 1000, true},
      {"0", 1, 0, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.text) + " " + std::to_string(row.change) + " of " + std::to_string(row.used));
    const MaxChange max = MaxChange::parse(row.text).value();
    EXPECT_EQ(max.is_passed(row.change, row.used), row.is_passed);
    EXPECT_EQ(max.text(), row.text);
  }
  for (const std::string_view text : {"", "%", "x", "-1", "-1%", "1.5%", "10001%", "20 %", "9007199254740992"}) {
    EXPECT_TRUE(MaxChange::parse(text).error().message.starts_with("max_change: ")) << text;
  }
}

TEST(PlanTest, IsCheckedWithoutAskingAnybody) {
  const struct {
    std::function<void(Plan&)> spoil;
    std::string_view reason;
  } rows[] = {
      {[](Plan& plan) { plan.limit = ""; }, "limit: "},
      {[](Plan& plan) { plan.source = "mysql://h/d"; }, "source: only a PostgreSQL"},
      {[](Plan& plan) { plan.source = "postgres://h/d?nonsense=1"; }, "source: "},
      {[](Plan& plan) { plan.query = " ;\n"; }, "query: it is empty"},
      {[](Plan& plan) { plan.schedule = "61 * * * *"; }, "schedule: minute"},
      {[](Plan& plan) { plan.zone = "Europe/Atlantis"; }, "zone"},
      {[](Plan& plan) { plan.timeout = 0s; }, "timeout: "},
      {[](Plan& plan) { plan.timeout = 25h; }, "timeout: "},
  };
  const Plan good{.limit = "storage", .source = "postgres://h/d", .query = "select 1, 2", .schedule = "@daily"};
  EXPECT_TRUE(check_plan(good).has_value());
  for (const auto& row : rows) {
    Plan plan = good;
    row.spoil(plan);
    const auto checked = check_plan(plan);
    ASSERT_FALSE(checked.has_value()) << row.reason;
    EXPECT_TRUE(checked.error().message.starts_with(row.reason)) << checked.error().message;
  }
}

TEST(PlanTest, OnlySomeKindsCanBeSynced) {
  EXPECT_TRUE(check_kind(stock("x").amount(1)).has_value());
  EXPECT_TRUE(check_kind(window("x").amount(1).per(1s)).has_value());
  EXPECT_TRUE(check_kind(calendar("x").amount(1).per(Unit::kDay)).has_value());
  EXPECT_FALSE(check_kind(bucket("x").amount(1).per(1s)).has_value());
  EXPECT_FALSE(check_kind(sliding("x").amount(1).per(1s)).has_value());
}

TEST(QueryTextTest, IsOneStatement) {
  const std::string expected = "select * from (\nselect 1, 2\n) as mete_sync";
  for (const std::string_view query : {"select 1, 2", "select 1, 2;", "select 1, 2 ;\n "}) {
    EXPECT_EQ(query_text(query), expected) << query;
  }
}

}  // namespace
}  // namespace mete::sync
