#include "cli/frame/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "unit/cli/table.h"

namespace mete::cli {
namespace {

using ::testing::HasSubstr;

TEST(Parse, UnderstandsWhatIsDeclared) {
  const struct {
    Words words;
    std::string_view expected;
  } rows[] = {
      {{"take", "api", "alice"}, "take api alice\n"},
      {{"take", "api", "alice", "--cost", "5"}, "take api alice cost=5\n"},
      {{"take", "--cost=5", "api", "--force", "alice"}, "take api alice cost=5 force=true\n"},
      {{"take", "--cost", "-5", "api", "alice"}, "take api alice cost=-5\n"},
      {{"take", "--force=false", "api", "alice"}, "take api alice force=false\n"},
      {{"take", "--wait", "250ms", "--mode=soft", "a", "b"}, "take a b mode=soft wait=250ms\n"},
      {{"take", "--and=x=y", "--and", "", "a", "b"}, "take a b and=x=y and=\n"},
      {{"take", "--", "--cost", "-h"}, "take --cost -h\n"},
      {{"take", "-", ""}, "take - \n"},
      {{"limit", "list"}, "limit list\n"},
      {{"limit", "set", "api"}, "limit set api\n"},
      {{"limit", "set", "api", "bucket", "100"}, "limit set api bucket 100\n"},
      {{"--version"}, "version\n"},
      {{"secret"}, "secret\n"},
  };
  for (const auto& row : rows) {
    const Ran ran = run_words(test_commands(), row.words);
    EXPECT_EQ(ran.out, row.expected) << ran.error;
    EXPECT_EQ(ran.status, 7);
    EXPECT_EQ(ran.error, "");
  }
}

TEST(Parse, TellsWhatIsWrong) {
  const struct {
    Words words;
    std::string_view error;
  } rows[] = {
      {{"tak"}, "mete: unknown command 'tak'; did you mean 'take'?\nTry 'mete help'.\n"},
      {{"secre"}, "mete: unknown command 'secre'\n"},
      {{"limit"}, "mete: limit needs one of: set or list\nTry 'mete limit --help'.\n"},
      {{"limit", "lst"}, "mete: limit: unknown command 'lst'; did you mean 'list'?\n"},
      {{"take", "--foo"}, "mete: take: unknown option '--foo'\nTry 'mete take --help'.\n"},
      {{"take", "--forse"}, "mete: take: unknown option '--forse'; did you mean '--force'?\n"},
      {{"take", "--helo"}, "did you mean '--help'?\n"},
      {{"take", "--forse=true"}, "unknown option '--forse'; did you mean '--force'?\n"},
      {{"take", "-c", "5"}, "unknown option '-c'"},
      {{"take", "--a\033[31m"}, R"(unknown option "--a\x1b[31m")"},
      {{"take", "a", "b", "--cost"}, "option '--cost' needs a value: --cost N\n"},
      {{"take", "a", "b", "--cost="}, "option '--cost' must be an integer, not ''\n"},
      {{"take", "a", "b", "--cost=1.5"}, "option '--cost' must be an integer, not '1.5'\n"},
      {{"take", "a", "b", "--cost", "--force"}, "must be an integer, not '--force'\n"},
      {{"take", "a", "b", "--cost=1", "--cost=2"}, "option '--cost' is given twice\n"},
      {{"take", "a", "b", "--force=yes"}, "option '--force' takes no value but true or false, not 'yes'\n"},
      {{"take", "a", "b", "--wait=soon"}, "option '--wait': \"soon\" is not a duration"},
      {{"take", "a", "b", "--mode=firm"}, "option '--mode' must be hard or soft, not 'firm'\n"},
      {{"take"}, "mete: take: LIMIT is missing\n"},
      {{"take", "a"}, "mete: take: KEY is missing\n"},
      {{"take", "a", "b", "c"}, "mete: take: one argument too many: 'c'\n"},
      {{"limit", "set"}, "mete: limit set: NAME is missing\nTry 'mete limit set --help'.\n"},
      {{"version", "x"}, "one argument too many: 'x'\n"},
      {{""}, "unknown command ''"},
  };
  for (const auto& row : rows) {
    const Ran ran = run_words(test_commands(), row.words);
    EXPECT_THAT(ran.error, HasSubstr(row.error));
    EXPECT_EQ(ran.status, kExitError);
    EXPECT_EQ(ran.out, "");
  }
}

TEST(Parse, AsksForWhatIsRequired) {
  const std::vector<Command> commands = {
      {.name = "extend",
       .summary = "Longer",
       .options = {{.word = "ttl", .type = ArgumentType::kDuration, .name = "DURATION", .is_required = true}},
       .run = echo_invocation}};
  EXPECT_EQ(run_words(commands, {"extend", "--ttl=1m"}).out, "extend ttl=1m\n");
  const Ran ran = run_words(commands, {"extend"});
  EXPECT_EQ(ran.error, "mete: extend: option '--ttl' is missing: --ttl DURATION\nTry 'mete extend --help'.\n");
  EXPECT_EQ(ran.status, kExitError);
  EXPECT_THAT(run_words(commands, {"extend", "--help"}).out,
              HasSubstr("usage: mete extend [OPTIONS] --ttl DURATION\n"));
}

TEST(Parse, TellsTheErrorThatACommandReturns) {
  const std::vector<Command> commands = {
      {.name = "break", .summary = "Fail", .run = [](const Invocation&, Console&) -> Result<int> {
         return base::invalid("it is broken");
       }}};
  const Ran ran = run_words(commands, {"break"});
  EXPECT_EQ(ran.error, "mete: it is broken\n");
  EXPECT_EQ(ran.status, kExitError);
  EXPECT_EQ(ran.out, "");
}

TEST(Parse, HelpIsOnlyAnotherWord) {
  for (const Words& words : {Words{"take", "--help"}, Words{"take", "api", "-h"}, Words{"take", "--help", "--no"}}) {
    const Ran ran = run_words(test_commands(), words);
    EXPECT_EQ(ran.status, kExitDone);
    EXPECT_THAT(ran.out, HasSubstr("usage: mete take [OPTIONS] LIMIT KEY\n"));
  }
  for (const Words& words : {Words{"--help"}, Words{"-h"}}) {
    EXPECT_THAT(run_words(test_commands(), words).out, HasSubstr("usage: mete COMMAND"));
  }
  const Ran nothing = run_words(test_commands(), {});
  EXPECT_EQ(nothing.status, kExitError) << "nothing was asked for, and nothing was done";
  EXPECT_THAT(nothing.error, HasSubstr("usage: mete COMMAND"));
  EXPECT_EQ(nothing.out, "");
  const std::string group = run_words(test_commands(), {"limit", "--help"}).out;
  EXPECT_THAT(group, HasSubstr("  limit list "));
  EXPECT_THAT(group, Not(HasSubstr("take")));
}

TEST(Invocation, TakesAValueFromTheOptionThenTheVariableThenTheDefault) {
  std::istringstream in;
  std::ostringstream out;
  Console console{in, out, out, {}};
  auto bare = parse(test_commands(), {"take", "a", "b"}).value();
  const auto given = parse(test_commands(), {"take", "a", "b", "--cost=7"}).value();
  EXPECT_EQ(bare.value("cost", console), "1");
  EXPECT_EQ(bare.given("cost"), std::nullopt);
  EXPECT_EQ(bare.value("wait", console), "");
  console.environment["TEST_COST"] = "6";
  EXPECT_EQ(bare.value("cost", console), "6");
  EXPECT_EQ(given.value("cost", console), "7");
  EXPECT_FALSE(given.is_on("force"));
  EXPECT_EQ(given.argument(1), "b");
  EXPECT_EQ(given.argument(2), "");
}

}  // namespace
}  // namespace mete::cli
