#include "store/postgres/parameters.h"

#include <gtest/gtest.h>

namespace mete::store::postgres {
namespace {

TEST(PostgresParameters, AreTexts) {
  const std::vector<std::string> texts = {"plain", "", R"(with "quotes" and \)", "{a,b}", "NULL"};
  const std::vector<std::int64_t> numbers = {1, -2, INT64_MIN};
  Parameters parameters;
  parameters.add("text").add(std::string("string")).add(7).add(true).add(false).add_null();
  parameters.add(std::optional<std::int64_t>(5)).add(std::optional<std::int64_t>());
  parameters.add(texts).add(numbers).add(std::span<const std::string>());
  const std::vector<std::optional<std::string>> expected = {"text",
                                                            "string",
                                                            "7",
                                                            "t",
                                                            "f",
                                                            std::nullopt,
                                                            "5",
                                                            std::nullopt,
                                                            R"({"plain","","with \"quotes\" and \\","{a,b}","NULL"})",
                                                            "{1,-2,-9223372036854775808}",
                                                            "{}"};
  const auto values = parameters.values();
  EXPECT_EQ(std::vector(values.begin(), values.end()), expected);
}

}  // namespace
}  // namespace mete::store::postgres
