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

// "api/alice/1": limit, key and cost.
Words texts_of(const std::vector<Charge>& charges) {
  Words texts;
  for (const Charge& charge : charges) {
    texts.push_back(std::string(charge.limit) + "/" + std::string(charge.key) + "/" + std::to_string(charge.cost));
  }
  return texts;
}

TEST(Charges, AreWrittenAsInResp) {
  const struct {
    Words typed;
    Words read;
  } rows[] = {
      {{"api", "alice"}, {"api/alice/1"}},
      {{"api", "alice", "--cost", "2"}, {"api/alice/2"}},
      {{"--cost=2", "api", "alice"}, {"api/alice/2"}},
      {{"api", "a:b", "and", "tenant", "acme"}, {"api/a:b/1", "tenant/acme/1"}},
      {{"api", "a", "--cost=2", "and", "b", "c"}, {"api/a/2", "b/c/1"}},
      {{"api", "a", "and", "b", "c", "--cost=2"}, {"api/a/1", "b/c/2"}},
      {{"api", "a", "AND", "--cost=3", "b", "c", "and", "d", "e", "--cost=4"}, {"api/a/1", "b/c/3", "d/e/4"}},
      {{"and", "and", "and", "and", "and"}, {"and/and/1", "and/and/1"}},
      {{"api", "--cost=2", "--", "--key"}, {"api/--key/2"}},
  };
  for (const auto& row : rows) {
    Words words = {"take"};
    words.insert(words.end(), row.typed.begin(), row.typed.end());
    const Invocation invocation = parse(take_only(), words).value();
    const auto charges = read_charges(invocation);
    ASSERT_TRUE(charges) << charges.error().message;
    EXPECT_EQ(texts_of(*charges), row.read);
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
