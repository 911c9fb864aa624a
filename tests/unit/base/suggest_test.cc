#include "base/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace mete::base {
namespace {

TEST(Closest, FindsWhatWasMeantAndNothingElse) {
  const std::vector<std::string> names = {"force", "format", "http", "max-connections", "id"};
  const struct {
    std::string_view word;
    std::optional<std::string> expected;
  } rows[] = {
      {"force", "force"},
      {"forse", "force"},
      {"froce", "force"},  // neighbours exchanged are one step
      {"htttp", "http"},
      {"htp", "http"},
      {"max-conections", "max-connections"},
      {"max_connections", "max-connections"},
      {"di", "id"},
      {"xy", std::nullopt},
      {"", std::nullopt},
      {"password", std::nullopt},
      {"max-consumption", std::nullopt},
      {std::string_view("force\0", 6), "force"},
  };
  for (const auto& row : rows) EXPECT_EQ(closest(row.word, names), row.expected) << row.word;
  EXPECT_EQ(closest(std::string(100'000, 'x'), names), std::nullopt);
  EXPECT_EQ(did_you_mean("forse", names), "; did you mean 'force'?");
  EXPECT_EQ(did_you_mean("zzzz", names), "");
}

}  // namespace
}  // namespace mete::base
