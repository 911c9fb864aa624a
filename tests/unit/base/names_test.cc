#include "base/names.h"

#include <gtest/gtest.h>

namespace mete::base {
namespace {

enum class Size : std::uint8_t { kSmall, kLarge };
constexpr std::string_view kSizes = "small|large";

TEST(Names, GoBothWays) {
  static_assert(name_of(kSizes, Size::kLarge) == "large");
  static_assert(named<Size>(kSizes, "small") == Size::kSmall);
  static_assert(count_names(kSizes) == 2);
  EXPECT_EQ(name_of(kSizes, 2), "");
  EXPECT_EQ(name_of(kSizes, -1), "");
  for (const std::string_view unknown : {"", "l", "larger", "small|large", "|"}) {
    EXPECT_EQ(named<Size>(kSizes, unknown), std::nullopt) << unknown;
  }
  EXPECT_EQ(named<int>("|marking", ""), 0);
}

TEST(Names, AreListed) {
  EXPECT_EQ(split_names(kSizes), (std::vector<std::string>{"small", "large"}));
  EXPECT_EQ(name_list("a"), R"("a")");
  EXPECT_EQ(name_list("a|b"), R"("a" or "b")");
  EXPECT_EQ(name_list("a|b|a"), R"("a", "b" or "a")");
}

}  // namespace
}  // namespace mete::base
