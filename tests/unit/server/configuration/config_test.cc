#include "server/configuration/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "server/configuration/config_settings.h"

namespace mete::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Pairs = std::map<std::string, std::string>;

Result<Config> from_text(std::string_view text) { return parse_config(text, {.file = "mete.toml"}); }

Config good(std::string_view text) {
  auto config = from_text(text);
  EXPECT_TRUE(config.has_value()) << text << '\n' << config.error().message;
  return config.value_or(Config{});
}

TEST(Config, WithNothingSaidIsTheDefault) {
  EXPECT_EQ(good(""), Config{});
  EXPECT_EQ(good("[server]\n[server.tls]\n[store]\n"), Config{});
  EXPECT_EQ(Config{}.resp, std::vector<std::string>{"127.0.0.1:6380"});
  EXPECT_EQ(Config{}.http, std::vector<std::string>{"127.0.0.1:8380"});
  EXPECT_EQ(Config{}.store_location(), "embedded:./mete-data");
}

TEST(Config, ReadsEveryType) {
  const Config config = good(R"(
    [server]
    resp = ["127.0.0.1:1", "[::1]:2", "unix:/run/mete.sock"]
    http = "off"
    data = ""
    password = "s3cret, with # and ="
    insecure = true
    tls.cert = "cert.pem"
    tls.key = "key.pem"
    max_connections = 1_000
    idle_timeout = "5m"
    slowlog_threshold = 2
    query_buffer_max = "2MB"
    bulk_max = 0x10000
    max_memory = "1gb"
    snapshot_after = "2mb"
    snapshot_every = 0
    log_level = "debug"
  )");
  EXPECT_EQ(config.resp, (std::vector<std::string>{"127.0.0.1:1", "[::1]:2", "unix:/run/mete.sock"}));
  EXPECT_TRUE(config.http.empty());
  EXPECT_EQ(config.store_location(), "embedded:");
  EXPECT_EQ(config.password, "s3cret, with # and =");
  EXPECT_TRUE(config.insecure);
  EXPECT_EQ(config.tls_cert, "cert.pem");
  EXPECT_EQ(config.tls_key, "key.pem");
  EXPECT_EQ(config.max_connections, 1000U);
  EXPECT_EQ(config.idle_timeout, Duration(5min));
  EXPECT_EQ(config.slowlog_threshold, Duration(2s));
  EXPECT_EQ(config.query_buffer_max, 2U << 20);
  EXPECT_EQ(config.bulk_max, 65536U);
  EXPECT_EQ(config.max_memory, 1U << 30);
  EXPECT_EQ(config.snapshot_after, 2U << 20);
  EXPECT_EQ(config.snapshot_every, Duration());
  EXPECT_EQ(config.log_level, "debug");
}

TEST(Config, ReadsLimitsWithTheirPlaces) {
  const Config config = good(
      "[[limit]]\nname = \"api\"\nkind = \"bucket\"\namount = 100\nperiod = \"1m\"\nburst = 200\n"
      "[[limit]]\nname = \"links\"\nkind = \"calendar\"\namount = 20\nperiod = \"month\"\nzone = \"Europe/Berlin\"\n"
      "[[limit]]\nname = \"storage\"\nkind = \"stock\"\namount = 5_000_000_000\n");
  ASSERT_EQ(config.limits.size(), 3U);
  EXPECT_EQ(config.limits[0], (FileLimit{bucket("api").amount(100).per(1min).burst(200), "mete.toml:1"}));
  EXPECT_EQ(config.limits[1],
            (FileLimit{calendar("links").amount(20).per(Unit::kMonth).zone("Europe/Berlin"), "mete.toml:7"}));
  EXPECT_EQ(config.limits[2], (FileLimit{stock("storage").amount(5'000'000'000), "mete.toml:13"}));
}

TEST(Config, AMistakeInTheFileIsToldWithItsPlace) {
  const struct {
    std::string_view text;
    std::string_view message;
  } rows[] = {
      {"[server\n", "mete.toml:1:"},
      {"[server]\nresp = \n", "mete.toml:2:"},
      {"\xff", "mete.toml:1:1: the file is not UTF-8"},
      {"[server]\ndata = \"a\"\ndata = \"b\"\n", "mete.toml:3:"},
      {"[sever]\nhttp = \"off\"\n", R"(mete.toml:2:1: there is no setting "sever.http"; did you mean 'server.http'?)"},
      {"[server]\n  htp = \"off\"\n",
       R"(mete.toml:2:3: there is no setting "server.htp"; did you mean 'server.http'?)"},
      {"[server]\nx = 1\n", R"(mete.toml:2:1: there is no setting "server.x")"},
      {"[server.x]\n", R"(mete.toml:1:9: there is no setting "server.x")"},
      {"server = 3\n", R"(mete.toml:1:1: there is no setting "server")"},
      {"[server]\nresp.x = 1\n", R"(mete.toml:2:6: there is no setting "server.resp.x")"},
      {"[server]\n\"a\\nb\" = 1\n", R"(mete.toml:2:1: there is no setting "server.a\nb")"},
      {"[server]\nhttp = \"off\"\nmax_connections = \"9\"\n",
       "mete.toml:3:19: server.max_connections: it must be an integer, and is of type string"},
      {"[server]\nmax_connections = 1.5\n", "server.max_connections: it must be an integer, and is of type float"},
      {"[server]\nmax_connections = 0\n",
       R"(mete.toml:2:19: server.max_connections: "0" is out of range; it must be 1 to)"},
      {"[server]\nmax_connections = -1\n", "it must be 1 to 1000000"},
      {"[server]\ninsecure = \"true\"\n", "server.insecure: it must be true or false, and is of type string"},
      {"[server]\ninsecure = 1\n", "it must be true or false"},
      {"[server]\npassword = 123\n", "server.password: it must be a string, and is of type integer"},
      {"[server]\npassword = \"\"\n", "server.password: it is empty"},
      {"[server]\nresp = [1]\n", "array of other things than strings"},
      {"[server]\nresp = [\"off\", \"127.0.0.1:1\"]\n", R"("off" is no address)"},
      {"[server]\nresp = \"127.0.0.1\"\n",
       R"(mete.toml:2:8: server.resp: "127.0.0.1" is no address: the port is missing)"},
      {"[server]\nresp = \"a:1,a:1\"\n", R"("a:1" stands there twice)"},
      {"[server]\nidle_timeout = \"5 minutes\"\n", R"(server.idle_timeout: "5 minutes" is not a duration)"},
      {"[server]\nidle_timeout = \"1ms\"\n", "it must be 0 or 1s to 365d"},
      {"[server]\nidle_timeout = 1979-05-27\n", "is of type date or time"},
      {"[server]\nbulk_max = \"64k\"\n", R"("64k" is no size; write bytes, or 64kb, 1mb or 2gb)"},
      {"[server]\nbulk_max = \"99999999999gb\"\n", "is no size"},
      {"[server]\nbulk_max = \"\"\n", "is no size"},
      {"[server]\nmax_memory = \"1mb\"\n", "it must be 0 or 4mb to 1024gb"},
      {"[server]\nsnapshot_after = 1\n", "it must be 0 or 1mb to 1024gb"},
      {"[server]\nsnapshot_every = \"1ms\"\n", "it must be 0 or 1s to 365d"},
      {"[server]\nlog_level = \"loud\"\n", R"("loud" is unknown; it must be debug, info, warning or error)"},
      {"[store]\nurl = \"embedded\"\n", "store.url: that is no URL"},
      {"[store]\nurl = \"\"\n", "store.url: it is empty"},
  };
  for (const auto& row : rows) {
    const auto config = from_text(row.text);
    ASSERT_FALSE(config.has_value()) << row.text;
    EXPECT_THAT(config.error().message, HasSubstr(row.message)) << row.text;
    EXPECT_TRUE(config.error().message.starts_with("mete.toml:")) << config.error().message;
  }
}

TEST(Config, AMistakeInALimitIsToldWithItsPlace) {
  const struct {
    std::string_view text;
    std::string_view message;
  } rows[] = {
      {"[limit]\nname = \"a\"\n", "mete.toml:1:1: limit must be written [[limit]]"},
      {"limit = [3]\n", "mete.toml:1:10: limit must be written [[limit]]"},
      {"[[limit]]\n", "mete.toml:1:1: limit: name is missing"},
      {"[[limit]]\nname = 3\n", "mete.toml:2:8: limit: name must be a string"},
      {"[[limit]]\nname = \"\"\nkind = \"stock\"\namount = 1\n", R"(mete.toml:1:1: limit "": limit name must have)"},
      {"[[limit]]\nname = \"a\"\n", R"(mete.toml:1:1: limit "a": kind is missing)"},
      {"[[limit]]\nname = \"a\"\nkind = \"tub\"\n", R"(mete.toml:3:8: limit "a": kind must be)"},
      {"[[limit]]\nname = \"a\"\nkind = \"stock\"\namount = 0\n", R"(mete.toml:4:10: limit "a": amount must be 1 to)"},
      {"[[limit]]\nname = \"a\"\nkind = \"stock\"\namount = 1.5\n",
       R"(mete.toml:4:10: limit: "amount" cannot be of type float)"},
      {"[[limit]]\nname = \"a\"\nkind = \"stock\"\namount = 1\nburst = 2\n",
       R"(mete.toml:5:9: limit "a": burst: a stock takes none)"},
      {"[[limit]]\nname = \"a\"\nkind = \"stock\"\namonut = 1\n", R"(mete.toml:4:1: limit "a": "amonut" is no field)"},
      {"[[limit]]\nname = \"a\"\nkind = \"stock\"\namount = 1\n[[limit]]\nname = \"a\"\nkind = \"stock\"\namount = 2\n",
       R"(mete.toml:5:1: limit "a": it is already defined at mete.toml:1)"},
      {"[[limit]]\nname = \"a\"\nkind = \"calendar\"\namount = 1\nperiod = \"day\"\nzone = \"Moon/Base\"\n",
       R"(mete.toml:6:8: limit "a": zone: unknown time zone 'Moon/Base')"},
      {"[[limit]]\nname = \"a\"\nkind = \"calendar\"\namount = 1\nanchor = 9\nperiod = \"week\"\n",
       R"(mete.toml:5:10: limit "a": anchor: )"},
      {"[[sync]]\nlimit = \"a\"\n", "mete.toml:1:1: sync: source is missing"},
      {"[[sync]]\nlimits = \"a\"\n", R"(mete.toml:2:1: sync: "limits" is no key of [[sync]]; did you mean 'limit'?)"},
      {"[[sync]]\nlimit = 1\n", "mete.toml:2:9: sync: limit: it must be a string"},
      {"[[sync]]\nlimit = 1.5\n", R"(mete.toml:2:9: sync: "limit" cannot be of type float)"},
      {"[[sync]]\nlimit = \"a\"\nsource = \"b\"\nquery = \"c\"\n", "mete.toml:3:10: sync: source: only a PostgreSQL"},
      {"[[sync]]\nlimit = \"a\"\nsource = \"postgres://h/d\"\nquery = \"\"\n",
       "mete.toml:4:9: sync: query: it is empty"},
      {"[[sync]]\nlimit = \"a\"\nsource = \"postgres://h/d\"\nquery = \"q\"\nschedule = \"daily\"\n",
       "mete.toml:5:12: sync: schedule: it has 1 fields"},
      {"[[sync]]\nlimit = \"a\"\nsource = \"postgres://h/d\"\nquery = \"q\"\nschedule = \"@daily\"\nzone = \"X/Y\"\n",
       "mete.toml:6:8: sync: zone: unknown time zone"},
      {"[[sync]]\nlimit = \"a\"\nsource = \"postgres://h/d\"\nquery = \"q\"\nmissing = \"drop\"\n",
       R"(mete.toml:5:11: sync: missing: it must be "keep" or "zero")"},
      {"[[sync]]\nlimit = \"a\"\nsource = \"postgres://h/d\"\nquery = \"q\"\nmax_change = \"much\"\n",
       "mete.toml:5:14: sync: max_change: "},
      {"[[sync]]\nlimit = \"a\"\nsource = \"postgres://h/d\"\nquery = \"q\"\ntimeout = \"0s\"\n",
       "mete.toml:5:11: sync: timeout: it must be 1s to "},
      {"[[limit]]\nname = \"a\"\nkind = \"sliding\"\namount = 1\nperiod = 1\n[[sync]]\nlimit = \"a\"\n"
       "source = \"postgres://h/d\"\nquery = \"q\"\n",
       "mete.toml:7:9: sync: limit 'a' is a sliding"},
      {"[[sync]]\nlimit = \"a\"\nsource = \"postgres://h/d\"\nquery = \"q\"\n[[sync]]\nlimit = \"a\"\n"
       "source = \"postgres://h/d\"\nquery = \"q\"\n",
       R"(mete.toml:5:1: sync: limit "a" is already synced at mete.toml:1)"},
      {"[escrow]\nnod = \"a\"\n", "mete.toml:2:1: there is no setting \"escrow.nod\"; did you mean 'escrow.node'?"},
      {"[escrow]\nshared = \"a\"\n", "mete.toml:2:10: escrow.shared: that is no URL"},
      {"[escrow]\nnode = \"a b\"\n", "escrow.node: \"a b\" is no name of a node; it must be 1 to 64 letters, digits"},
      {"[escrow]\nnode = \"\"\n", "escrow.node: it is empty"},
      {"[escrow]\nlisten = \"127.0.0.1:1\"\n", "mete.toml:2:1: there is no setting \"escrow.listen\""},
  };
  for (const auto& row : rows) {
    const auto config = from_text(row.text);
    ASSERT_FALSE(config.has_value()) << row.text;
    EXPECT_THAT(config.error().message, HasSubstr(row.message)) << row.text;
  }
}

TEST(Config, ValuesThatDoNotGoTogetherAreRefused) {
  const struct {
    std::string_view text;
    std::string_view message;
  } rows[] = {
      {"resp = \"off\"\nhttp = \"\"", "mete.toml:2:8: server.resp: nothing is left to listen on"},
      {R"(resp = "0.0.0.0:6380")", "mete.toml:2:8: server.resp: 0.0.0.0:6380 can be reached from other machines"},
      {R"(http = ["127.0.0.1:1", "[::]:8380"])", "mete.toml:2:8: server.http: [::]:8380 can be reached"},
      {R"(http = "example:1")", "example:1 can be reached"},
      {"resp = \"0.0.0.0:6380\"\ntls.cert = \"c\"\ntls.key = \"k\"", "whoever reaches it could do everything"},
      {"password = \"a\\nb\\nc\"", "a line too many"},
      {"password = \"\\na\"", "an empty line"},
      {"password = \"a\\nb\"\nuse_password = \"b\"", "server.use_password: it is the same as server.password"},
      {"look_password = \"l\"", "server.look_password: nobody could change limits"},
      {"password = \"a\"\nuse_password = \"u\"\nlook_password = \"u\"", "server.look_password: it is the same"},
      {"http_hosts = \"http://a\"", "is no name of a host"},
      {R"(tls.cert = "c")", "mete.toml:2:12: server.tls.cert: a certificate needs its key"},
      {R"(tls.key = "k")", "server.tls.key: a key needs its certificate"},
      {R"(tls.client_ca = "k")", "server.tls.client_ca: only a server that speaks TLS"},
      {R"(use_password = "a")", "mete.toml:2:16: server.use_password: nobody could change limits or the server"},
      {R"(use_password_file = "a")", "server.use_password_file: nobody could change limits"},
      {"password = \"a\"\nuse_password = \"a\"", "server.use_password: it is the same as server.password"},
      {"password = \"a\"\npassword_file = \"b\"", "server.password_file: there is server.password too"},
      {R"(bulk_max = "64mb")", "does not fit into server.query_buffer_max"},
      {"data = \"a\"\n[store]\nurl = \"embedded:b\"", "mete.toml:4:7: store.url: there is server.data too"},
      {"resp = \"127.0.0.1:7000\"\n[store]\nurl = \"mete://a:7000,localhost:7000\"",
       "mete.toml:4:7: store.url: localhost:7000 is where this server itself listens"},
      {"resp = [\"127.0.0.1:1\", \"0.0.0.0:7000\"]\ninsecure = true\n[store]\nurl = \"metes://[::1]:7000\"",
       "store.url: [::1]:7000 is where this server itself listens"},
  };
  for (const auto& row : rows) {
    const auto config = from_text("[server]\n" + std::string(row.text));
    ASSERT_FALSE(config.has_value()) << row.text;
    EXPECT_THAT(config.error().message, HasSubstr(row.message)) << row.text;
  }
  for (const std::string_view allowed :
       {"insecure = true", R"(password = "p")", "password = \"p\"\nuse_password = \"u\"", R"(password_file = "f")",
        "tls.cert = \"c\"\ntls.key = \"k\"\ntls.client_ca = \"a\"", "password = \"new\\nold\""}) {
    good("[server]\nresp = \"0.0.0.0:6380\"\n" + std::string(allowed));
  }
  good("[server]\nresp = \"127.0.0.1:7000\"\n[store]\nurl = \"mete://other:7000,127.0.0.1:7001\"\n");
}

TEST(Config, ANodeOfAClusterIsToldAllThatItNeeds) {
  const struct {
    std::string_view text;
    std::string_view message;
  } rows[] = {
      {R"(node = "a")", "mete.toml:2:8: escrow.node: it means nothing without the store that the nodes share"},
      {R"(shared = "etcd://h")", "mete.toml:2:10: escrow.shared: a node needs a name that no other node has"},
      {"node = \"a\"\nshared = \"embedded:d\"", "escrow.shared: other nodes cannot share a store in this process"},
      {"node = \"a\"\nshared = \"etcd://h\"\n[store]\nurl = \"redis://h\"", "store.url: a node keeps its own state"},
      {"node = \"a\"\nshared = \"mete://127.0.0.1:6380\"", "escrow.shared: 127.0.0.1:6380 is where this server itself"},
  };
  for (const auto& row : rows) {
    const auto config = from_text("[escrow]\n" + std::string(row.text));
    ASSERT_FALSE(config.has_value()) << row.text;
    EXPECT_THAT(config.error().message, HasSubstr(row.message)) << row.text;
  }
  EXPECT_TRUE(good("[escrow]\nnode = \"a\"\nshared = \"etcd://h\"\n").is_node());
  EXPECT_FALSE(good("[escrow]\n").is_node());
  const auto flags = parse_config(
      "", {.file = "", .environment = {{"METE_ESCROW_SHARED", "etcd://h"}}, .flags = {{"escrow-node", "b"}}});
  ASSERT_TRUE(flags.has_value()) << flags.error().message;
  EXPECT_EQ(flags->escrow_node, "b");
}

TEST(Config, FlagGoesOverEnvironmentOverFile) {
  const std::string_view file = "[server]\nthreads = 1\ndata = \"file\"\npassword = \"file\"\n";
  ConfigSources sources{.file = "mete.toml", .environment = {}, .flags = {}};
  EXPECT_EQ(parse_config(file, sources)->threads, 1U);
  sources.environment = {{"METE_SERVER_THREADS", "2"}, {"METE_STORE_URL", "embedded:env"}, {"PATH", "/bin"}};
  EXPECT_EQ(parse_config(file, sources)->threads, 2U);
  EXPECT_EQ(parse_config(file, sources)->store_location(), "embedded:env");
  sources.flags = {{"threads", "3"}, {"data", "flag"}, {"password-file", "flag"}};
  const auto config = parse_config(file, sources);
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->threads, 3U);
  EXPECT_EQ(config->store_location(), "embedded:flag");
  EXPECT_EQ(config->password, "");
  EXPECT_EQ(config->password_file, "flag");
}

TEST(Config, EnvironmentAndFlagsAreReadAsStrictlyAsTheFile) {
  const struct {
    Pairs environment;
    Pairs flags;
    std::string_view message;
  } rows[] = {
      {{{"METE_SERVER_THREADS", "x"}}, {}, R"(METE_SERVER_THREADS: "x" is no integer)"},
      {{{"METE_SERVER_INSECURE", "yes"}}, {}, R"(METE_SERVER_INSECURE: "yes" is neither true nor false)"},
      {{{"METE_SERVER_PASSWORD", ""}}, {}, "METE_SERVER_PASSWORD: it is empty"},
      {{{"METE_SERVER_THREAD", "1"}}, {}, "did you mean 'METE_SERVER_THREADS'?"},
      {{{"METE_STORE_URI", "1"}}, {}, "did you mean 'METE_STORE_URL'?"},
      {{{"METE_ESCROW_NOD", "1"}}, {}, "did you mean 'METE_ESCROW_NODE'?"},
      {{{"METE_SERVER_RESP", "0.0.0.0:1"}}, {}, "METE_SERVER_RESP: 0.0.0.0:1 can be reached"},
      {{}, {{"threads", "1025"}}, R"(--threads: "1025" is out of range; it must be 0 to 1024)"},
      {{}, {{"http", "x"}}, R"(--http: "x" is no address)"},
      {{}, {{"thread", "1"}}, "--thread: there is no such setting; did you mean 'threads'?"},
      {{}, {{"data", "a"}, {"store", "embedded:"}}, "--store: there is server.data too"},
  };
  for (const auto& row : rows) {
    const auto config = parse_config("", {.file = "", .environment = row.environment, .flags = row.flags});
    ASSERT_FALSE(config.has_value()) << row.message;
    EXPECT_THAT(config.error().message, HasSubstr(row.message));
  }
  const auto far = parse_config("", {.file = "", .environment = {{"METE_SERVER_BOGUS", "1"}}, .flags = {}});
  EXPECT_EQ(far.error().message, "\"METE_SERVER_BOGUS\": there is no such setting");
  // What Kubernetes sets for a service of the name mete-server is none of our business.
  const Pairs kubernetes = {{"METE_SERVER_PORT", "tcp://10.0.0.1:6380"},
                            {"METE_SERVER_SERVICE_HOST", "10.0.0.1"},
                            {"METE_SERVER_PORT_6380_TCP_PROTO", "tcp"},
                            {"METE_SERVER", "10.0.0.1:6380"}};
  EXPECT_TRUE(parse_config("", {.file = "", .environment = kubernetes, .flags = {}}).has_value());
}

TEST(Settings, HaveNamesOfTheirOwnAndDefaultsThatAreAllowed) {
  std::set<std::string> names;
  for (const Setting& setting : settings()) {
    EXPECT_TRUE(names.insert(flag_name(setting)).second) << flag_name(setting);
    EXPECT_TRUE(names.insert(environment_name(setting)).second);
    EXPECT_EQ(find_setting(setting.name), &setting);
    const std::string text = default_text(setting);
    Config config;
    if (!text.empty()) {
      EXPECT_TRUE(set_value(config, setting, text).has_value()) << setting.name << " = " << text;
    }
    EXPECT_EQ(config, Config{}) << setting.name;
    EXPECT_FALSE(setting.help.empty() || setting.help.ends_with('.')) << setting.name;
  }
  EXPECT_EQ(environment_name(*find_setting("server.tls.client_ca")), "METE_SERVER_TLS_CLIENT_CA");
  EXPECT_EQ(flag_name(*find_setting("server.tls.client_ca")), "tls-client-ca");
  EXPECT_EQ(flag_name(*find_setting("store.url")), "store");
  EXPECT_EQ(find_setting("server.nothing"), nullptr);
}

TEST(Config, ListsItsValuesWithoutSecrets) {
  Config config;
  ASSERT_TRUE(set_value(config, "server.password", "hunter2").has_value());
  ASSERT_TRUE(set_value(config, "store.url", "redis://me:hunter2@host/0").has_value());
  ASSERT_TRUE(set_value(config, "server.http", "off").has_value());
  ASSERT_TRUE(set_value(config, "server.bulk_max", "1025").has_value());
  EXPECT_FALSE(set_value(config, "server.nothing", "1").has_value());
  std::map<std::string_view, std::string> values;
  for (const ConfigValue& value : list_values(config)) values[value.name] = value.value;
  EXPECT_EQ(values.size(), settings().size());
  EXPECT_EQ(values["server.password"], "***");
  EXPECT_EQ(values["server.use_password"], "");
  EXPECT_EQ(values["store.url"], "redis://***@host/0");
  EXPECT_EQ(values["server.http"], "off");
  EXPECT_EQ(values["server.resp"], "127.0.0.1:6380");
  EXPECT_EQ(values["server.query_buffer_max"], "32mb");
  EXPECT_EQ(values["server.bulk_max"], "1025");
  EXPECT_EQ(values["store.id_retention"], "1d");
}

TEST(Config, SaysWhatNeedsARestart) {
  Config next;
  EXPECT_TRUE(changes_for_restart(Config{}, next).empty());
  next.log_level = "debug";
  next.max_connections = 5;
  EXPECT_TRUE(changes_for_restart(Config{}, next).empty());
  next.resp = {"127.0.0.1:1"};
  next.max_memory = 1U << 30;
  EXPECT_EQ(changes_for_restart(Config{}, next), (std::vector<std::string_view>{"server.resp", "server.max_memory"}));
}

TEST(Config, KeepsWhatNeedsARestart) {
  Config running;
  running.threads = 2;
  running.password = "old";
  running.log_level = "warning";
  Config next;
  next.threads = 3;
  next.password = "new";
  next.max_connections = 5;
  next.limits = {{stock("storage").amount(1), "mete.toml:1"}};
  const Config config = in_effect(running, next);
  EXPECT_EQ(config.threads, 2U);
  EXPECT_EQ(config.password, "new");
  EXPECT_EQ(config.log_level, "info") << "the file has none, and this one counts at once";
  EXPECT_EQ(config.max_connections, 5U);
  EXPECT_EQ(config.limits, next.limits);
}

class ConfigFiles : public ::testing::Test {
 protected:
  ConfigFiles() {
    std::string pattern = ::testing::TempDir() + "mete-config-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }

  std::string folder_;
};

TEST_F(ConfigFiles, AreReadAndPasswordsToo) {
  const std::string secret = write("secret", "hunter2\n");
  const std::string other = write("other", "hunter3\r\n");
  const std::string file =
      write("mete.toml", "[server]\npassword_file = \"" + secret + "\"\nuse_password_file = \"" + other + "\"\n");
  const auto config = load_config({.file = file, .environment = {}, .flags = {}});
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->password, "hunter2");
  EXPECT_EQ(config->use_password, "hunter3");
}

TEST_F(ConfigFiles, ThatCannotBeReadAreNamed) {
  const std::string empty = write("empty", "\n");
  const std::string huge = write("huge", std::string(kConfigBytesMax + 1, '#'));
  const std::string secret = write("secret", "same");
  const struct {
    std::string file;
    Pairs flags;
    std::string message;
  } rows[] = {
      {folder_ + "/missing", {}, folder_ + "/missing: cannot open it: No such file or directory"},
      {folder_, {}, folder_ + ": cannot read it: Is a directory"},
      {huge, {}, huge + ": it has more than"},
      {"", {{"password-file", folder_ + "/missing"}}, "missing: cannot open it"},
      {"", {{"password-file", empty}}, "a password is one line of 1 to 512 bytes"},
      {"", {{"password-file", huge}}, "it has more than"},
      {"", {{"password-file", secret}, {"use-password-file", secret}}, "it is the same as server.password"},
      {"", {{"use-password-file", secret}}, "--use-password-file: nobody could change limits"},
  };
  for (const auto& row : rows) {
    const auto config = load_config({.file = row.file, .environment = {}, .flags = row.flags});
    ASSERT_FALSE(config.has_value()) << row.message;
    EXPECT_THAT(config.error().message, HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace mete::server
