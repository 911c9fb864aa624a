#include "cli/decisions/charges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/frame/command.h"
#include "unit/cli/table.h"

namespace mete::cli {
namespace {

using ::testing::HasSubstr;

const std::vector<Command>& take_only() {
  static const std::vector<Command> kCommands = {
      {.name = "take", .summary = "", .arguments = charge_arguments(), .options = {cost_option()}}};
  return kCommands;
}

TEST(Charges, AreWrittenAsInResp) {
  const struct {
    Words typed;
    Words sent;
  } rows[] = {
      {{"api", "alice"}, {"TAKE", "api", "alice"}},
      {{"api", "alice", "--cost", "2"}, {"TAKE", "api", "alice", "COST", "2"}},
      {{"--cost=2", "api", "alice"}, {"TAKE", "api", "alice", "COST", "2"}},
      {{"api", "a:b", "and", "tenant", "acme"}, {"TAKE", "api", "a:b", "AND", "tenant", "acme"}},
      {{"api", "a", "--cost=2", "and", "b", "c"}, {"TAKE", "api", "a", "COST", "2", "AND", "b", "c"}},
      {{"api", "a", "and", "b", "c", "--cost=2"}, {"TAKE", "api", "a", "AND", "b", "c", "COST", "2"}},
      {{"api", "a", "AND", "--cost=3", "b", "c", "and", "d", "e", "--cost=4"},
       {"TAKE", "api", "a", "AND", "b", "c", "COST", "3", "AND", "d", "e", "COST", "4"}},
      {{"and", "and", "and", "and", "and"}, {"TAKE", "and", "and", "AND", "and", "and"}},
      {{"api", "--cost=2", "--", "--key"}, {"TAKE", "api", "--key", "COST", "2"}},
  };
  for (const auto& row : rows) {
    Words words = {"take"};
    words.insert(words.end(), row.typed.begin(), row.typed.end());
    const auto charges = read_charges(parse(take_only(), words).value());
    ASSERT_TRUE(charges) << charges.error().message;
    EXPECT_EQ(words_of("TAKE", *charges), row.sent);
  }
}

TEST(Charges, TellWhatIsMissing) {
  const struct {
    Words typed;
    std::string_view error;
  } rows[] = {
      {{"api", "a", "b"}, "one argument too many: 'b'; a further charge is written: and LIMIT KEY"},
      {{"api", "a", "b", "c", "d"}, "one argument too many: 'b'"},
      {{"api", "a", "and"}, "LIMIT and KEY are missing behind 'and'"},
      {{"api", "a", "and", "b"}, "KEY is missing behind 'b'"},
      {{"api", "a", "and", "b", "c", "and"}, "LIMIT and KEY are missing behind 'and'"},
      {{"api", "a", "--cost=1", "--cost=2", "and", "b", "c"}, "'--cost' is given twice for 'api'"},
      {{"api", "a", "and", "b", "c", "--cost=1", "--cost=2"}, "'--cost' is given twice for 'b'"},
  };
  for (const auto& row : rows) {
    Words words = {"take"};
    words.insert(words.end(), row.typed.begin(), row.typed.end());
    const auto charges = read_charges(parse(take_only(), words).value());
    ASSERT_FALSE(charges);
    EXPECT_THAT(charges.error().message, HasSubstr(row.error));
  }
}

}  // namespace
}  // namespace mete::cli
