#include "server/doors/resp/command_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.h"

namespace mete::server {
namespace {

using ::testing::HasSubstr;

// In the document the lines of paragraphs are as long as `mete help` makes them.
std::vector<std::string> split_words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(CommandDocs, TheDocumentIsCurrent) {
  std::ifstream file(support::repository() / "docs/commands.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(split_words(text), split_words(commands_markdown()))
      << "docs/commands.md is out of date: build/mete help --markdown commands "
         ">docs/commands.md";
}

TEST(CommandDocs, NameEveryCommandOnce) {
  const std::string markdown = commands_markdown();
  const std::string list = commands_text();
  for (const Command& command : all_commands()) {
    const std::string heading = "\n### " + std::string(command.name) + "\n\n    " + command.syntax() + "\n\n";
    const std::size_t first = markdown.find(heading);
    ASSERT_NE(first, std::string::npos) << heading;
    EXPECT_EQ(markdown.find(heading, first + 1), std::string::npos) << heading;
    EXPECT_THAT(list, HasSubstr("  " + command.syntax() + "\n"));
  }
  // Each group has one heading: the table keeps them together.
  EXPECT_EQ(markdown.find("## Holds\n"), markdown.rfind("## Holds\n"));
}

TEST(CommandDocs, ExplainOneCommandOrAContainer) {
  EXPECT_EQ(command_text("usage"),
            "USAGE limit key\n"
            "    Tells how a meter stands.\n"
            "    → [used, held, remaining, limit, reset_after_ms]\n"
            "    for look\n");
  EXPECT_THAT(*command_text("limit del"), ::testing::StartsWith("LIMIT DEL name\n"));
  EXPECT_THAT(*command_text("LIMIT"),
              ::testing::AllOf(HasSubstr("LIMIT SET name "), HasSubstr("\n\nLIMIT GET name\n")));
  EXPECT_FALSE(command_text("nope").has_value());
  EXPECT_FALSE(command_text("").has_value());
}

}  // namespace
}  // namespace mete::server
