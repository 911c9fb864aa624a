#include "cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "unit/cli/table.h"

namespace mete::cli {
namespace {

using ::testing::HasSubstr;

class CheckConfigTest : public ::testing::Test {
 protected:
  CheckConfigTest() {
    std::string pattern = ::testing::TempDir() + "mete-check-XXXXXX";
    file_ = std::string(::mkdtemp(pattern.data())) + "/mete.toml";
  }
  void write(std::string_view text) { std::ofstream(file_, std::ios::binary) << text; }
  static Ran check(std::vector<std::string> words, std::map<std::string, std::string> environment = {}) {
    words.insert(words.begin(), "check-config");
    return run_words({check_config_command()}, words, std::move(environment));
  }

  std::string file_;
};

TEST_F(CheckConfigTest, SaysThatAFileIsGood) {
  write("[[limit]]\nname = \"a\"\nkind = \"stock\"\namount = 1\n");
  EXPECT_EQ(check({file_}).out, file_ + " is good: 1 limit\n");
  EXPECT_EQ(check({"--config", file_}).status, kExitDone);
  EXPECT_EQ(check({}, {{"METE_CONFIG", file_}}).out, file_ + " is good: 1 limit\n");
  EXPECT_EQ(check({}).out, "the configuration is good: 0 limits\n");
}

TEST_F(CheckConfigTest, PrintsTheValuesOfAllSources) {
  write("[server]\npassword = \"hunter2\"\nthreads = 3\n");
  const Ran ran = check({file_, "--print", "--resp", "127.0.0.1:1", "--resp=127.0.0.1:2", "--insecure"},
                        {{"METE_SERVER_HTTP", "off"}});
  EXPECT_EQ(ran.status, kExitDone) << ran.error;
  for (const std::string_view line : {"[server]\nresp = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\n", "\nhttp = \"off\"\n",
                                      "\ninsecure = true\n", "\n# password = \"***\"\n", "\nthreads = 3\n", "\n# "}) {
    EXPECT_THAT(ran.out, HasSubstr(line));
  }
}

// A server may be using it.
TEST_F(CheckConfigTest, LeavesTheDataFolderAlone) {
  const std::string folder = file_ + ".data";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--data", folder}, {"--store", "embedded:" + folder}}) {
    const Ran ran = check(words);
    EXPECT_EQ(ran.status, kExitDone) << ran.error;
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
}

TEST_F(CheckConfigTest, SaysWhatIsWrongAndWhere) {
  const struct {
    std::string_view text;
    std::vector<std::string> words;
    int status;
    std::string error;
  } rows[] = {
      {"[server]\nthreads = -1\n", {file_}, kExitNo, "mete: " + file_ + ":2:11: server.threads: "},
      {"[[limit]]\nname = \"a\"\nkind = \"calendar\"\namount = 1\nperiod = \"day\"\nzone = \"Moon/Base\"\n",
       {file_},
       kExitNo,
       "mete: " + file_ + R"(:6:8: limit "a": zone: )"},
      {"[[limit]]\nname = \"a\"\nkind = \"stock\"\namount = 1\nscope = \"escrow\"\n",
       {file_},
       kExitNo,
       "mete: " + file_ + R"(:1: limit "a": scope: escrow needs shared and node in [escrow])"},
      {"[escrow]\nnode = \"a\"\nshared = \"bogus://me:secret@x\"\n",
       {file_},
       kExitNo,
       "mete: " + file_ + ":3:10: escrow.shared: url: no store for 'bogus://***@x'"},
      {"[store]\nurl = \"bogus://me:secret@x\"\n",
       {file_},
       kExitNo,
       "mete: " + file_ + ":2:7: store.url: url: no store for 'bogus://***@x'"},
      {"", {"--store", "memcached://x"}, kExitNo, "mete: --store: url: no store for 'memcached://x'"},
      {"", {"--store", "redis://x:y"}, kExitNo, "mete: --store: "},
      {"[server]\ntls.cert = \"/nope\"\ntls.key = \"/nope\"\n",
       {file_},
       kExitNo,
       "cannot load the certificate (tls.cert) from /nope: No such file or directory"},
      {"", {"--use-password", "x"}, kExitNo, "mete: --use-password: nobody could change limits or the server"},
      {"", {"--http", "x"}, kExitNo, R"(mete: --http: "x" is no address)"},
      {"", {file_, "--config", file_}, kExitError, "FILE and --config are the same"},
      {"", {file_ + ".not"}, kExitNo, "cannot open it"},
  };
  for (const auto& row : rows) {
    write(row.text);
    const Ran ran = check(row.words);
    EXPECT_EQ(ran.status, row.status);
    EXPECT_THAT(ran.error, HasSubstr(row.error));
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace mete::cli
