#include "core/limit_fields.h"

#include <gtest/gtest.h>

#include <set>

namespace mete::core {
namespace {

using namespace std::chrono_literals;

// Not a limit that could be defined: it has all that any kind may have.
LimitFields everything() {
  return {.kind = Kind::kCalendar,
          .name = "a",
          .amount = 20,
          .period = Duration(90s),
          .unit = Unit::kWeek,
          .burst = 40,
          .zone = "Europe/Berlin",
          .anchor = 3,
          .is_shadow = true,
          .durable = Durable::kEverySecond,
          .on_fail = OnFail::kOpen,
          .scope = Scope::kEscrow};
}

LimitFields copied_by_text(const Limit& limit) {
  LimitFields copy{.name = limit.name()};
  for (const LimitField& field : kLimitFields) {
    const auto value = field.get(limit);
    if (!value) continue;
    const std::string text = field.to_text(*value);
    const auto parsed = field.parse(text);
    EXPECT_TRUE(parsed) << field.own_name;
    if (parsed) field.set(copy, *parsed);
  }
  return copy;
}

TEST(LimitFields, HaveAllThatALimitIsMadeOf) {
  EXPECT_EQ(copied_by_text(Limit(everything())), everything());
  EXPECT_EQ(copied_by_text(mete::bucket("b").amount(1)), mete::bucket("b").amount(1).fields());
}

TEST(LimitFields, TellWhatWasSaid) {
  std::set<std::string_view> told;
  for (const LimitField& field : kLimitFields) {
    EXPECT_TRUE(field.told(Limit(everything()))) << field.own_name;
    if (field.told(stock("s").amount(1).durable(Durable::kAlways))) told.insert(field.own_name);
  }
  EXPECT_EQ(told, (std::set<std::string_view>{"kind", "amount", "durable"}));
}

TEST(LimitFields, AreTextsAsStoresKeepThem) {
  const struct {
    std::string_view field;
    std::string_view text;
  } rows[] = {{"kind", "calendar"}, {"amount", "20"},    {"period", "90000000"},   {"unit", "week"},
              {"burst", "40"},      {"anchor", "3"},     {"shadow", "1"},          {"durable", "everysec"},
              {"on_fail", "open"},  {"scope", "escrow"}, {"zone", "Europe/Berlin"}};
  ASSERT_EQ(std::size(rows), kLimitFields.size());
  for (const auto& row : rows) {
    const auto field = std::find_if(kLimitFields.begin(), kLimitFields.end(),
                                    [&](const LimitField& each) { return each.own_name == row.field; });
    ASSERT_NE(field, kLimitFields.end()) << row.field;
    EXPECT_EQ(field->to_text(*field->get(Limit(everything()))), row.text);
  }
}

TEST(LimitFields, RefuseTextsOfOthers) {
  for (const LimitField& field : kLimitFields) {
    if (field.type == FieldType::kText) continue;
    for (const std::string_view text : {"", "x", "1x", " 1", "9223372036854775808"}) {
      EXPECT_FALSE(field.parse(text)) << field.own_name << " " << text;
    }
  }
  EXPECT_FALSE(kLimitFields[6].parse("2147483648"));           // an anchor has 32 bits
  EXPECT_FALSE(kLimitFields[2].parse("9223372036854775807"));  // microseconds that are no nanoseconds
}

TEST(LimitFields, AreOptionsOfOneOrderEach) {
  std::set<std::size_t> options(kLimitOptions.begin(), kLimitOptions.end());
  unsigned flags = 0;
  for (std::size_t i = 0; i < kLimitFields.size(); ++i) {
    const LimitField& field = kLimitFields[i];
    EXPECT_EQ(field.is_required(), i < kLimitFieldsRequired) << field.own_name;
    // A calendar's period is written in the same place as that of the others.
    EXPECT_EQ(options.contains(i), !field.is_required() && field.own_name == field.name) << field.own_name;
    EXPECT_EQ(flags & field.journal_flag, 0U) << field.own_name;
    flags |= field.journal_flag;
  }
}

}  // namespace
}  // namespace mete::core
