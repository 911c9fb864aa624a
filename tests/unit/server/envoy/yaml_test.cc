#include "server/envoy/yaml.h"

#include <gtest/gtest.h>

namespace mete::server::envoy {
namespace {

std::string yaml_problem(std::string_view text) {
  const auto read = read_yaml(text);
  return read ? "" : read.error().message;
}

TEST(YamlTest, ReadsMapsListsAndScalarsWithTheirLines) {
  const auto root = read_yaml("domain: shop\nlist:\n  - {key: a, value: \"1\"}\n  - key: b\n");
  ASSERT_TRUE(root.has_value()) << root.error().message;
  ASSERT_TRUE(root->is_map());
  ASSERT_EQ(root->entries.size(), 2U);
  EXPECT_EQ(root->entries[0].key.text, "domain");
  EXPECT_EQ(root->entries[0].value.text, "shop");
  const YamlNode& list = root->entries[1].value;
  ASSERT_TRUE(list.is_list());
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[0].line, 3U);
  EXPECT_EQ(list.items[1].line, 4U);
  EXPECT_FALSE(list.items[0].entries[1].value.is_plain);
}

TEST(YamlTest, KnowsWhatIsText) {
  const auto root = read_yaml("[a, '1', 1, 1.5, -3, true, No, ~, null, '', 1a, .inf x]");
  ASSERT_TRUE(root.has_value());
  const std::vector<bool> expected = {true, true, false, false, false, false, false, false, false, true, true, true};
  ASSERT_EQ(root->items.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(root->items[i].is_text(), expected[i]) << root->items[i].text;
  }
}

TEST(YamlTest, AnEmptyTextIsNothing) {
  for (const std::string_view text : {"", "\n", "# a comment\n", "---\n", "~"}) {
    const auto root = read_yaml(text);
    ASSERT_TRUE(root.has_value()) << text;
    EXPECT_TRUE(root->is_nothing()) << text;
  }
}

TEST(YamlTest, UnfoldsAnchorsAndMergeKeys) {
  const auto root = read_yaml("base: &base {unit: minute, size: 5}\nuse:\n  <<: *base\n  size: 7\ntwice: *base\n");
  ASSERT_TRUE(root.has_value()) << root.error().message;
  const YamlNode& use = root->entries[1].value;
  ASSERT_EQ(use.entries.size(), 2U);
  EXPECT_EQ(use.entries[0].value.text, "7");
  EXPECT_EQ(use.entries[1].value.text, "minute");
  EXPECT_EQ(root->entries[2].value.entries.size(), 2U);
}

TEST(YamlTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(yaml_problem("a: 1\na: 2\n"), "line 2: \"a\" stands twice in one map");
  EXPECT_EQ(yaml_problem("a: *nobody\n"), "line 1: *nobody names no anchor above it");
  EXPECT_EQ(yaml_problem("a: 1\n---\nb: 2\n"), "line 2: a second document begins: a file has one");
  EXPECT_EQ(yaml_problem("a: 1\n<<: text\n"), "line 2: << takes a map, or a list of maps");
  EXPECT_EQ(yaml_problem("a: [1\n").substr(0, 6), "line 2");
  EXPECT_NE(yaml_problem("a: b: c\n"), "");
  EXPECT_NE(yaml_problem("\xff\xfe\xff"), "");
}

TEST(YamlTest, BoundsDepthAndAliases) {
  EXPECT_EQ(yaml_problem(std::string(200, '[') + std::string(200, ']')), "line 1: this goes deeper than 64 levels");
  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int n = 1; n < 10; ++n) bomb += ", " + below;
    bomb += "]\n";
  }
  EXPECT_NE(yaml_problem(bomb).find("there are more than"), std::string::npos);
}

}  // namespace
}  // namespace mete::server::envoy
