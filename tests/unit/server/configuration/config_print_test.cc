#include "server/configuration/config_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/configuration/config.h"

namespace mete::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Where limits stand is another place in the printed text.
Config without_places(Config config) {
  for (FileLimit& each : config.limits) each.place.clear();
  for (FileSync& each : config.syncs) each.place.clear();
  return config;
}

TEST(PrintedConfig, ReadsBackToTheSame) {
  for (const std::string_view text : {
           "",
           "[server]\nresp = [\"127.0.0.1:1\", \"unix:/tmp/a\\\"b\\\\cé\"]\nhttp = \"off\"\nmax_connections = "
           "100\n"
           "insecure = true\ndata = \"\"\nthreads = 3\nidle_timeout = \"5m\"\nbulk_max = 1025\nmax_memory = \"1gb\"\n"
           "password_file = \"/p\"\nuse_password_file = \"/u\"\ntls.cert = \"c\"\ntls.key = \"k\"\ntls.client_ca = "
           "\"a\"\n"
           "slowlog_threshold = 0\nlog_format = \"json\"\n",
           "[store]\nurl = \"embedded:\"\nid_retention = \"90s\"\nids_max = 7\n",
           "[envoy]\nconfig = \"/r\"\n[escrow]\nshared = \"etcd://h\"\nnode = \"a\"\n",
           "[[limit]]\nname = \"a \\\"b\\\" é\"\nkind = \"bucket\"\namount = 100\nperiod = \"1500ms\"\nburst = 7\n"
           "shadow = true\n"
           "[[limit]]\nname = \"c\"\nkind = \"calendar\"\namount = 1\nperiod = \"month\"\nzone = \"Europe/Berlin\"\n"
           "anchor = 3\ndurable = \"never\"\non_fail = \"open\"\nscope = \"shared\"\n"
           "[[limit]]\nname = \"s\"\nkind = \"stock\"\namount = 9007199254740991\n",
           "[[sync]]\nlimit = \"s\"\nsource = \"postgres://h/d\"\nquery = \"\"\"\nselect 'a',\n 1\"\"\"\n"
           "[[sync]]\nlimit = \"t\"\nsource = \"postgres://h/d\"\nquery = \"q\"\nschedule = \"0 3 * * MON\"\n"
           "zone = \"Europe/Berlin\"\nmissing = \"zero\"\nmax_change = 500\ntimeout = 90\n",
       }) {
    const auto config = parse_config(text, {.file = "mete.toml"});
    ASSERT_TRUE(config.has_value()) << config.error().message;
    const std::string printed = print_config(*config);
    const auto again = parse_config(printed, {.file = "printed"});
    ASSERT_TRUE(again.has_value()) << again.error().message << '\n' << printed;
    EXPECT_EQ(without_places(*again), without_places(*config)) << printed;
  }
}

TEST(PrintedConfig, ThePageHasASectionOnce) {
  const std::string page = config_markdown();
  for (const std::string heading : {"\n## [server]\n", "\n## [store]\n", "\n## [envoy]\n", "\n## [escrow]\n"}) {
    ASSERT_NE(page.find(heading), std::string::npos) << heading;
    EXPECT_EQ(page.find(heading), page.rfind(heading)) << heading;
  }
}

TEST(PrintedConfig, HasNoPasswords) {
  Config config;
  config.password = "hunter2";
  config.use_password = "hunter3";
  config.store_url = "redis://me:hunter4@host/0";
  config.escrow_shared = "redis://me:hunter7@host/1";
  config.syncs.push_back({.plan = {.limit = "s", .source = "postgres://me:hunter5@h/d?sslpassword=hunter6&x=1"}});
  const std::string printed = print_config(config);
  EXPECT_THAT(printed, HasSubstr("\n# source = \"postgres://***@h/d?sslpassword=***&x=1\"\n"));
  EXPECT_THAT(printed, Not(HasSubstr("hunter")));
  EXPECT_THAT(printed, HasSubstr("\n# password = \"***\"\n"));
  EXPECT_THAT(printed, HasSubstr("\n# url = \"redis://***@host/0\"\n"));
}

}  // namespace
}  // namespace mete::server
