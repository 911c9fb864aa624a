// `mete migrate`: what it prints, and how it ends.
#include <gmock/gmock.h>

#include "cli/commands.h"
#include "store/postgres/migrate.h"
#include "support/postgres_server.h"
#include "unit/cli/table.h"

namespace mete::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Ran mete(const std::vector<std::string>& words) { return run_words({migrate_command()}, words); }

TEST(MigrateCommandTest, InstallsTheSchemaOnceAndTakesItAway) {
  const support::PostgresServer server;
  const std::string where = "the schema mete at " + server.address();
  const struct {
    std::vector<std::string> words;
    std::string expected;
  } rows[] = {
      {{"migrate", server.url(), "--to", "0"}, where + " is not installed\n"},
      {{"migrate", server.url()},
       "version 1, tables and functions: installed\nversion 2, exact sliding windows: installed\n"
       "version 3, commits and cancels again: installed\nversion 4, a schema for private functions: installed\n" +
           where + " is at version 4\n"},
      {{"migrate", server.url()}, where + " is at version 4 already\n"},
      {{"migrate", server.url(), "--check"}, where + " is at version 4\n"},
      {{"migrate", server.url(), "--to", "4"}, where + " is at version 4 already\n"},
      {{"migrate", server.url(), "--to=0"},
       "version 4, a schema for private functions: taken back\nversion 3, commits and cancels again: taken back\n"
       "version 2, exact sliding windows: taken back\nversion 1, "
       "tables and functions: taken back\n" +
           where + " is gone\n"},
  };
  for (const auto& row : rows) {
    const Ran ran = mete(row.words);
    EXPECT_EQ(ran.status, kExitDone) << ran.error;
    EXPECT_EQ(ran.out, row.expected);
    EXPECT_THAT(ran.error, IsEmpty());
  }
}

TEST(MigrateCommandTest, PrintsWhatItWouldDo) {
  const Ran ran = mete({"migrate", "--print"});
  EXPECT_EQ(ran.status, kExitDone) << ran.error;
  EXPECT_EQ(ran.out, store::postgres::migration_text(std::nullopt));
}

TEST(MigrateCommandTest, TellsWhatIsWrong) {
  const struct {
    std::vector<std::string> words;
    std::string_view reason;
  } rows[] = {
      {{"migrate"}, "the argument URL is missing"},
      {{"migrate", "mysql://host"}, "it begins with postgres://"},
      {{"migrate", "redis://127.0.0.1:1"}, "127.0.0.1:1"},
      {{"migrate", "redis://127.0.0.1:1", "--to", "99"}, "--to is 0 (nothing installed) or 3"},
      {{"migrate", "postgres://u:SECRET@127.0.0.1:1/db"}, "cannot connect: "},
      {{"migrate", "postgres://host", "--to", "99"}, "--to is a version, 0 (nothing installed) to "},
      {{"migrate", "postgres://host", "--to", "-1"}, "--to is a version, 0 (nothing installed) to "},
      {{"migrate", "postgres://host", "--print"}, "takes no URL"},
      {{"migrate", "--print", "--to", "0"}, "0 is none"},
  };
  for (const auto& row : rows) {
    const Ran ran = mete(row.words);
    EXPECT_EQ(ran.status, kExitError);
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.error, HasSubstr(std::string(row.reason)));
    EXPECT_THAT(ran.error, Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace mete::cli
