#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/cluster/plan.h"
#include "lab/commands.h"
#include "unit/cli/table.h"

namespace mete::lab {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kEtcd = "/usr/bin/etcd";

TEST(ClusterWords, AreUnderstood) {
  const auto options = check_cluster_words({"5", "7000", "redis://127.0.0.1:6379"}, kEtcd);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->nodes, 5U);
  EXPECT_EQ(options->port, 7'000);
  EXPECT_EQ(options->shared, SharedKind::kUrl);
  EXPECT_EQ(options->shared_url, "redis://127.0.0.1:6379");
}

TEST(ClusterWords, WithoutAWishItIsEtcdIfThatIsThere) {
  const struct {
    std::string shared;
    std::string_view etcd;
    SharedKind expected;
  } rows[] = {
      {"", kEtcd, SharedKind::kEtcd},     {"", "", SharedKind::kMete},     {"etcd", kEtcd, SharedKind::kEtcd},
      {"mete", kEtcd, SharedKind::kMete}, {"mete", "", SharedKind::kMete},
  };
  for (const auto& row : rows) {
    const auto options = check_cluster_words({"3", "6380", row.shared}, row.etcd);
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->shared, row.expected) << "'" << row.shared << "', '" << row.etcd << "'";
  }
}

TEST(ClusterWords, TellWhatIsWrong) {
  const struct {
    ClusterWords words;
    std::string_view error;
  } rows[] = {
      {{"0", "6380", ""}, "option '--nodes' must be 1 to 16"},
      {{"17", "6380", ""}, "option '--nodes' must be 1 to 16"},
      {{"-3", "6380", ""}, "option '--nodes' must be 1 to 16"},
      {{"99999999999999999999", "6380", ""}, "option '--nodes' must be 1 to 16"},
      {{"3", "0", ""}, "option '--port' must be 1 to 65533"},
      {{"3", "65534", ""}, "option '--port' must be 1 to 65533"},
      {{"1", "65536", ""}, "option '--port' must be 1 to 65535"},
      {{"3", "6380", "etcd"}, "install it (Debian: etcd-server), or share through Mete itself with --shared mete"},
      {{"3", "6380", "redis"}, "must be etcd, mete or the URL of a store that several can use"},
      {{"3", "6380", "embedded:///x"}, "must be etcd, mete or the URL of a store that several can use"},
      {{"3", "6380", "\033[2J"}, R"(not "\x1b[2J")"},
      {{"3", "6380", "gopher://127.0.0.1"}, "gopher"},
  };
  for (const auto& row : rows) {
    const auto options = check_cluster_words(row.words, "");
    ASSERT_FALSE(options) << row.error;
    EXPECT_THAT(options.error().message, HasSubstr(row.error));
  }
}

TEST(ClusterWords, WrongOnesStartNothing) {
  const cli::Ran ran = cli::run_words({cluster_command()}, {"cluster", "--nodes", "0"});
  EXPECT_EQ(ran.status, cli::kExitError);
  EXPECT_EQ(ran.error, "mete: cluster: option '--nodes' must be 1 to 16\nTry 'mete cluster --help'.\n");
  EXPECT_EQ(ran.out, "");
}

ClusterPlan plan_of(const ClusterOptions& options) {
  ClusterPlace place{.program = "/bin/mete", .etcd = std::string(kEtcd), .directory = "/tmp/c", .free_ports = {}};
  for (std::size_t i = 0; i < free_ports_needed(options); ++i) {
    place.free_ports.push_back(static_cast<std::uint16_t>(9'000 + i));
  }
  return make_cluster_plan(options, place);
}

TEST(ClusterPlan, OverEtcd) {
  const ClusterPlan plan = plan_of({.nodes = 2, .port = 7'000, .shared = SharedKind::kEtcd});
  EXPECT_EQ(plan.shared_url, "etcd://127.0.0.1:9000");
  ASSERT_TRUE(plan.shared);
  EXPECT_EQ(plan.shared->log, "/tmp/c/shared.log");
  EXPECT_THAT(plan.shared->words,
              ElementsAre("/usr/bin/etcd", "--name", "shared", "--data-dir", "/tmp/c/shared", "--listen-client-urls",
                          "http://127.0.0.1:9000", "--advertise-client-urls", "http://127.0.0.1:9000",
                          "--listen-peer-urls", "http://127.0.0.1:9001", "--initial-advertise-peer-urls",
                          "http://127.0.0.1:9001", "--initial-cluster", "shared=http://127.0.0.1:9001"));
  ASSERT_EQ(plan.nodes.size(), 2U);
  EXPECT_EQ(plan.nodes[1].process.name, "node-2");
  EXPECT_EQ(plan.nodes[1].process.log, "/tmp/c/node-2.log");
  EXPECT_EQ(plan.nodes[1].address(), "127.0.0.1:7001");
  EXPECT_THAT(plan.nodes[1].process.words,
              ElementsAre("/bin/mete", "serve", "--resp", "127.0.0.1:7001", "--http", "off", "--data", "/tmp/c/node-2",
                          "--escrow-shared", "etcd://127.0.0.1:9000", "--escrow-node", "node-2"));
}

TEST(ClusterPlan, OverMete) {
  const ClusterPlan plan = plan_of({.nodes = 1, .shared = SharedKind::kMete});
  EXPECT_EQ(plan.shared_url, "mete://127.0.0.1:9000");
  ASSERT_TRUE(plan.shared);
  EXPECT_THAT(plan.shared->words, ElementsAre("/bin/mete", "serve", "--resp", "127.0.0.1:9000", "--http", "off",
                                              "--data", "/tmp/c/shared"));
  ASSERT_EQ(plan.nodes.size(), 1U);
  EXPECT_EQ(plan.nodes[0].process.words.back(), "node-1");
}

TEST(ClusterPlan, WhatRunsAlreadyIsNotStarted) {
  const ClusterPlan plan = plan_of({.nodes = 3, .shared = SharedKind::kUrl, .shared_url = "redis://u:secret@r:1/2"});
  EXPECT_FALSE(plan.shared);
  ASSERT_EQ(plan.nodes.size(), 3U);
  EXPECT_THAT(plan.nodes[0].process.words, Contains("redis://u:secret@r:1/2"));
  EXPECT_THAT(cluster_introduction(plan), AllOf(HasSubstr("redis://r:1/2\n"), Not(HasSubstr("secret"))));
}

TEST(ClusterPlan, TellsWhatToType) {
  const std::string text = cluster_introduction(plan_of({.nodes = 2, .port = 7'000, .shared = SharedKind::kMete}));
  EXPECT_THAT(text, StartsWith("The limit 'demo' is one for all nodes: 100 a minute for each key"));
  for (const std::string_view line :
       {"\n  node-1   redis-cli -p 7000 TAKE demo alice\n", "\n  node-2   redis-cli -p 7001 TAKE demo alice\n",
        "redis-cli -p 7001 -r 100 TAKE demo alice\n", "mete top --server 127.0.0.1:7000\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace mete::lab
