#include "cli/import/key_pattern.h"

#include <gmock/gmock.h>

#include "wire/text.h"

namespace mete::cli {
namespace {

using ::testing::HasSubstr;
using Parts = std::optional<std::vector<std::string>>;

TEST(KeyPattern, TellsWhatItsStarsStandFor) {
  struct Row {
    std::string pattern;
    std::string name;
    Parts parts;
  };
  const std::string zero("a\0b", 3);
  const Row rows[] = {
      {"quota:tenant:*:used", "quota:tenant:acme:used", {{"acme"}}},
      {"quota:tenant:*:used", "quota:tenant:a:b*:used", {{"a:b*"}}},
      {"quota:tenant:*:used", "quota:tenant::used", {{""}}},
      {"quota:tenant:*:used", "quota:tenant:acme:used:used", {{"acme:used"}}},
      {"quota:tenant:*:used", "quota:tenant:" + zero + ":used", {{zero}}},
      {"quota:tenant:*:used", "quota:tenant:used", {}},  // front and back would overlap
      {"quota:tenant:*:used", "quota:tenant:acme:limit", {}},
      {"quota:tenant:*:used", "my:quota:tenant:acme:used", {}},
      {"*", "anything", {{"anything"}}},
      {"quota:{*}", "quota:{acme}", {{"acme"}}},
      {"users:*:quota:*", "users:42:quota:2026-01", {{"42", "2026-01"}}},
      {"users:*:quota:*", "users:a:quota:b:quota:2026-01", {{"a:quota:b", "2026-01"}}},
      {"users:*:quota:*", "users::quota:", {{"", ""}}},
      {"users:*:quota:*", "users:42:2026-01", {}},
      {"*:*:x", "a:b:c:x", {{"a:b", "c"}}},
  };
  for (const Row& row : rows) {
    const auto stars = static_cast<std::size_t>(std::count(row.pattern.begin(), row.pattern.end(), '*'));
    const auto pattern = KeyPattern::parse(row.pattern, stars);
    ASSERT_TRUE(pattern) << row.pattern;
    EXPECT_EQ(pattern->match(row.name), row.parts) << row.pattern << " " << row.name;
    EXPECT_EQ(pattern->text(), row.pattern);
    // Redis lets pass what is matched here.
    EXPECT_EQ(wire::matches_glob(pattern->glob(), row.name), row.parts.has_value()) << row.pattern << " " << row.name;
  }
}

TEST(KeyPattern, OtherSignsStandForThemselves) {
  const auto pattern = KeyPattern::parse("a[b]?\\^-:*", 1);
  ASSERT_TRUE(pattern);
  EXPECT_EQ(pattern->match("a[b]?\\^-:key"), Parts({"key"}));
  EXPECT_TRUE(wire::matches_glob(pattern->glob(), "a[b]?\\^-:key"));
  EXPECT_FALSE(wire::matches_glob(pattern->glob(), "ab?\\^-:key"));
  EXPECT_FALSE(wire::matches_glob(pattern->glob(), "a[b]x\\^-:key"));
}

TEST(KeyPattern, MakesNames) {
  EXPECT_EQ(KeyPattern::parse("quota:*:used", 1)->name_with("acme"), "quota:acme:used");
  EXPECT_EQ(KeyPattern::parse("*", 1)->name_with("a*"), "a*");
}

TEST(KeyPattern, RefusesWhatCannotBeMeant) {
  struct Row {
    std::string pattern;
    std::size_t stars;
    std::string message;
  };
  const Row rows[] = {
      {"", 1, "needs one star"},
      {"quota:tenant:used", 1, "needs one star, in the place of the key: 'quota:tenant:*:used', and not "},
      {"users:*:quota:*", 1, "needs one star"},
      {"users:*", 2, "needs two stars, for the key and the month: 'users:*:quota:*', and not 'users:*'"},
      {"a:*:*:*", 2, "needs two stars"},
      {"users:**", 2, "two stars side by side"},
  };
  for (const Row& row : rows) {
    const auto pattern = KeyPattern::parse(row.pattern, row.stars);
    ASSERT_FALSE(pattern) << row.pattern;
    EXPECT_THAT(pattern.error().message, HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace mete::cli
