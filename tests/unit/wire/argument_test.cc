#include "wire/argument.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace mete::wire {
namespace {

// What a word is read as; an error in angle brackets.
TEST(Argument, IsReadByItsType) {
  using enum ArgumentType;
  const struct {
    ArgumentType type;
    std::string_view word;
    std::string_view read;
  } rows[] = {
      {kText, "12", "0"},
      {kKey, "12", "0"},
      {kFile, "", "0"},
      {kInteger, "12", "12"},
      {kInteger, "-12", "-12"},
      {kInteger, "1.5", "<must be an integer>"},
      {kInteger, "", "<must be an integer>"},
      {kDuration, "250ms", "250000000"},
      {kDuration, "2", "2000000000"},
      {kDecimal, "0.5", "500000000"},
      {kDecimal, "1e3", "<value is not a valid number of seconds>"},
      {kFlag, "true", "1"},
      {kFlag, "false", "0"},
      {kFlag, "yes", "<takes no value but true or false>"},
      {kName, "soft", "0"},
      {kName, "SOFT", "<must be hard, soft or none>"},
      {kName, "hard|soft", "<must be hard, soft or none>"},
  };
  for (const auto& row : rows) {
    const auto read = read_argument({.type = row.type, .names = "hard|soft|none"}, row.word);
    EXPECT_EQ(read ? std::to_string(*read) : "<" + read.error().message + ">", row.read) << row.word;
  }
  EXPECT_TRUE(read_argument({.type = kDuration}, "soon").error().message.starts_with("\"soon\" is not a duration"));
}

TEST(Argument, MayBeAbsentAsItSays) {
  EXPECT_FALSE((Argument{.name = "limit"}.may_be_absent()));
  EXPECT_TRUE((Argument{.name = "n", .is_optional = true}.may_be_absent()));
  EXPECT_TRUE((Argument{.word = "ID", .name = "id"}.may_be_absent()));
  EXPECT_FALSE((Argument{.word = "TTL", .name = "duration", .is_required = true}.may_be_absent()));
}

TEST(Argument, SecondsMayHaveAFraction) {
  const struct {
    std::string_view text;
    std::optional<std::int64_t> ns;
  } rows[] = {
      {"0", 0},
      {"1", 1'000'000'000},
      {"0.5", 500'000'000},
      {"1.000000001", 1'000'000'001},
      {"60.25", 60'250'000'000},
      {"9223372036.854775807", std::numeric_limits<std::int64_t>::max()},
      {"9223372036.854775808", std::nullopt},
      {"9223372037", std::nullopt},
      {"", std::nullopt},
      {".", std::nullopt},
      {".5", std::nullopt},
      {"1.", std::nullopt},
      {"-1", std::nullopt},
      {"-0.5", std::nullopt},
      {"+1", std::nullopt},
      {"01", std::nullopt},
      {"1e3", std::nullopt},
      {"1.0000000001", std::nullopt},
      {"1.5x", std::nullopt},
      {"1.5.5", std::nullopt},
      {"1,5", std::nullopt},
  };
  for (const auto& row : rows) {
    const auto parsed = parse_decimal_seconds(row.text);
    ASSERT_EQ(parsed.has_value(), row.ns.has_value()) << row.text;
    if (!parsed) continue;
    EXPECT_EQ(parsed->ns(), *row.ns) << row.text;
  }
}

}  // namespace
}  // namespace mete::wire
