// What is written from the table of commands: help, Markdown, manual pages and completions.
#include "cli/help/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "cli/commands.h"
#include "unit/cli/table.h"

namespace mete::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Help, TellsEverythingAboutACommand) {
  const std::string text = help_text(test_commands()[0]);
  for (const std::string_view part :
       {"May this happen.\n", "usage: mete take [OPTIONS] LIMIT KEY\n", "  LIMIT                     The limit\n",
        "  --cost N                  How much (default: 1; variable: TEST_COST)\n",
        "  --force                   Even past the limit\n", "  --mode MODE               How (one of hard, soft)\n",
        "  mete take api alice\n      One unit\n", "  0                         done\n",
        "  1                         denied\n", "  3                         unknown limit\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(help_text(test_commands()[1]), HasSubstr("usage: mete limit set NAME [WORD...]\n"));
}

TEST(Help, LinesAreShort) {
  for (const Command& command : commands()) {
    std::istringstream lines(help_text(command));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kHelpWidth) << line;
  }
}

TEST(Help, ListsWhatIsNotHidden) {
  const std::string overview = overview_text(test_commands());
  EXPECT_THAT(overview, HasSubstr("  limit set                 Define a limit\n"));
  for (const std::string& text : {overview, commands_markdown(test_commands()), bash_completion(test_commands()),
                                  zsh_completion(test_commands()), fish_completion(test_commands())}) {
    EXPECT_THAT(text, Not(HasSubstr("secret")));
  }
}

TEST(Help, OfTheConfigurationIsForATerminal) {
  const std::string text = run_words({help_command()}, {"help", "configuration"}).out;
  EXPECT_THAT(text, HasSubstr("[server]\n  resp = 127.0.0.1:6380\n"));
  EXPECT_THAT(text, HasSubstr("  scope (all)\n"));
  for (const std::string_view mark : {"<!--", "```", "`", "| ---", "]("}) EXPECT_THAT(text, Not(HasSubstr(mark)));
  EXPECT_THAT(run_words({help_command()}, {"help", "configuration", "--markdown"}).out, HasSubstr("# Configuration\n"));
}

TEST(Manual, EscapesWhatRoffWouldObey) {
  const std::vector<ManPage> pages = manual(test_commands());
  std::set<std::string> files;
  std::string take;
  for (const ManPage& page : pages) {
    files.insert(page.file);
    if (page.file == "mete-take.1") take = page.text;
  }
  EXPECT_EQ(files, (std::set<std::string>{"mete.1", "mete.toml.5", "mete-take.1", "mete-limit-set.1",
                                          "mete-limit-list.1", "mete-version.1"}));
  EXPECT_THAT(take, HasSubstr("It\\(aqs \\efBone\\efR step.\n"));
  EXPECT_THAT(take, HasSubstr("\n\\&.TH is no request here\n"));
  EXPECT_THAT(take, HasSubstr("\n\\fB\\-\\-cost\\fR \\fIN\\fR\n"));
}

TEST(Completion, KnowsGroupsAndChoices) {
  EXPECT_THAT(bash_completion(test_commands()), HasSubstr("_mete_words 'take limit version'"));
  EXPECT_THAT(bash_completion(test_commands()), HasSubstr("_mete_words 'set list'"));
  EXPECT_THAT(bash_completion(test_commands()), HasSubstr("--mode) _mete_words 'hard soft'; return ;;"));
  EXPECT_THAT(zsh_completion(test_commands()), HasSubstr("'--mode=[How]:MODE:(hard soft)'"));
  EXPECT_THAT(zsh_completion(test_commands()), HasSubstr("'set:Define a limit'"));
  EXPECT_THAT(fish_completion(test_commands()), HasSubstr(" -l mode -x -a 'hard soft' -d 'How'\n"));
}

// Of all commands that the program has: names and options that do not collide, and a handler for each.
TEST(Commands, AreDeclaredWhole) {
  std::set<std::string> names;
  for (const Command& command : commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_NE(command.run, nullptr) << command.name;
    EXPECT_FALSE(command.summary.empty() || command.summary.ends_with('.')) << command.name;
    std::set<std::string> options = {"help"};
    for (const Argument& option : command.options) {
      EXPECT_TRUE(options.insert(std::string(option.word)).second) << command.name << " --" << option.word;
      EXPECT_EQ(option.type == ArgumentType::kFlag, option.name.empty()) << command.name << " --" << option.word;
      EXPECT_EQ(option.type == ArgumentType::kName, !option.names.empty()) << command.name << " --" << option.word;
      EXPECT_FALSE(option.help.empty()) << command.name << " --" << option.word;
    }
  }
}

}  // namespace
}  // namespace mete::cli
