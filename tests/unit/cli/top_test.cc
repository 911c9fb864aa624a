#include "cli/top/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/frame/text.h"

namespace mete::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(TopReading, TakesWhatItKnowsFromInfo) {
  const Reading reading = parse_info(
      "# Server\r\nuptime_in_seconds:90\r\nconfig_file:a:b\r\n\r\n# Clients\r\nconnected_clients:3\r\n"
      "used_memory_rss:2048\r\nmeters:5\r\nholds_open:1\r\ndecisions_allowed:70\r\ndecisions_denied:30\r\n"
      "limit_a:b:allowed=7,denied=2,shadow_denied=4\r\nlimit_c\\\"\\xff:allowed=1,denied=0,shadow_denied=0\r\nhalf a "
      "line");
  EXPECT_EQ(reading.uptime_seconds, 90);
  EXPECT_EQ(reading.connections, 3);
  EXPECT_EQ(reading.memory_bytes, 2048);
  EXPECT_EQ(reading.meters, 5);
  EXPECT_EQ(reading.open_holds, 1);
  EXPECT_EQ(reading.all.decisions, 100);
  EXPECT_EQ(reading.all.denied, 30);
  ASSERT_EQ(reading.limits.size(), 2U);
  EXPECT_EQ(reading.limits.at("a:b").decisions, 9);
  EXPECT_EQ(reading.limits.at("a:b").denied, 2);
  EXPECT_EQ(reading.limits.at("c\"\xff").decisions, 1) << "by its own name, not as INFO writes it";
}

TEST(TopReading, TakesTheDurabilityFromInfo) {
  EXPECT_EQ(parse_info("aof_enabled:0\r\n").durability.is_durable, 0);
  const Durability durability =
      parse_info(
          "aof_enabled:1\r\njournal_bytes:2048\r\njournal_last_sync_us:1250\r\nrdb_bgsave_in_progress:1\r\n"
          "saving_progress:42\r\njournal_failure:disk: no\\nspace\r\nsnapshot_failure:\r\n")
          .durability;
  EXPECT_EQ(durability.is_durable, 1);
  EXPECT_EQ(durability.journal_bytes, 2048);
  EXPECT_EQ(durability.last_sync_us, 1250);
  EXPECT_EQ(durability.is_saving, 1);
  EXPECT_EQ(durability.saving_percent, 42);
  EXPECT_EQ(durability.failure, "disk: no\nspace");
  EXPECT_EQ(durability.snapshot_failure, "");
}

TEST(TopReading, TakesTheClusterFromInfo) {
  EXPECT_FALSE(parse_info("cluster_enabled:0\r\n").cluster.is_node());
  const ClusterReading cluster =
      parse_info(
          "cluster_enabled:0\r\ncluster_state:halted\r\ncluster_halted:wiped\\nout\r\ncluster_known_nodes:3\r\nnode:"
          "n1\r\n"
          "incarnation:1\r\nshares:4\r\nshares_usable:90\r\nshares_outstanding:95\r\ndraws:7\r\ndraws_denied:1\r\n"
          "units_drawn:200\r\nunits_stranded:5\r\nescrow_decisions:100\r\nescrow_decisions_local:93\r\n")
          .cluster;
  EXPECT_TRUE(cluster.is_node());
  EXPECT_EQ(cluster.node, "n1");
  EXPECT_EQ(cluster.state, "halted");
  EXPECT_EQ(cluster.halted, "wiped\nout");
  EXPECT_EQ(cluster.shares, 4);
  EXPECT_EQ(cluster.held, 90);
  EXPECT_EQ(cluster.outstanding, 95);
  EXPECT_EQ(cluster.stranded, 5);
  EXPECT_EQ(cluster.draws, 7);
  EXPECT_EQ(cluster.decisions, 100);
  EXPECT_EQ(cluster.local_decisions, 93);
}

wire::RespValue reply_of(std::string_view bytes) {
  wire::ReplyParser parser;
  parser.append(bytes);
  return parser.next().value().value();
}

TEST(TopReading, TakesThePeersFromClusterNodes) {
  const auto peers =
      parse_peers(reply_of("*3\r\n*6\r\n+name\r\n+n1\r\n+self\r\n:1\r\n+linked\r\n:0\r\n"
                           "*10\r\n+name\r\n+n2\r\n+address\r\n+h:1\r\n+self\r\n:0\r\n+linked\r\n:1\r\n+lag\r\n:12\r\n"
                           "*8\r\n+name\r\n+n3\r\n+self\r\n:0\r\n+linked\r\n:0\r\n+lag\r\n:-1\r\n"));
  ASSERT_TRUE(peers);
  ASSERT_EQ(peers->size(), 2U) << "without the node itself";
  EXPECT_EQ(peers->at(0).name, "n2");
  EXPECT_EQ(peers->at(0).address, "h:1");
  EXPECT_TRUE(peers->at(0).is_linked);
  EXPECT_EQ(peers->at(0).lag, 12);
  EXPECT_FALSE(peers->at(1).is_linked);
  EXPECT_FALSE(parse_peers(reply_of("*1\r\n*1\r\n+name\r\n"))) << "a name without its value";
}

Reading reading_at(std::uint64_t at_ns, std::int64_t decisions, std::int64_t denied) {
  Reading reading;
  reading.at_ns = at_ns;
  reading.all = {decisions, denied};
  reading.limits = {{"idle", {5, 5}}, {"api", {decisions, denied}}};
  return reading;
}

// Counts over half a second, and what they are in a whole one.
TEST(TopFrame, RatesAreOfTheTimeBetween) {
  const Picture picture = next_picture("x", reading_at(1'000'000'000, 100, 10), reading_at(1'500'000'000, 300, 11));
  EXPECT_EQ(picture.per_second.decisions, 400);
  EXPECT_EQ(picture.per_second.denied, 2);
  ASSERT_EQ(picture.limits.size(), 2U);
  EXPECT_EQ(picture.limits[0].first, "api");  // the busiest first
  EXPECT_EQ(picture.limits[0].second.decisions, 400);
  EXPECT_EQ(picture.limits[1].second.decisions, 0);
}

TEST(TopFrame, AServerThatStartedAgainCountsFromNothing) {
  EXPECT_EQ(next_picture("x", reading_at(0, 100, 10), reading_at(1'000'000'000, 30, 3)).per_second.decisions, 30);
}

std::vector<std::string> texts(const std::vector<ScreenLine>& lines) {
  std::vector<std::string> result;
  for (const ScreenLine& line : lines) result.push_back((line.is_title ? "*" : "") + line.text);
  return result;
}

Picture full_picture() {
  Reading reading = reading_at(1'000'000'000, 30, 3);
  reading.uptime_seconds = 90;
  reading.memory_bytes = 2048;
  for (const std::string key : {"alice", "\033[2J", "carol"}) reading.keys.push_back({"api", key, {20, 1}});
  reading.holds = {{"job-7", "credits", "alice", 61'000, 500}};
  return next_picture("127.0.0.1:6380", reading_at(0, 0, 0), reading);
}

TEST(TopFrame, ShowsEverythingWhereThereIsRoom) {
  EXPECT_THAT(
      texts(render(full_picture(), {})),
      ElementsAre("mete top  127.0.0.1:6380  up 1 min 30 s  connections 0  meters 0  holds 0  memory 2 kB",
                  "decisions 30/s, denied 3/s", "memory only: lost when the server stops", "",
                  "*LIMIT  DECISIONS/S  DENIED/S", "api             30         3", "idle             0         0", "",
                  "*BUSIEST KEY  LIMIT  DECISIONS/S  DENIED/S", "alice        api             20         1",
                  R"("\x1b[2J"    api             20         1)", "carol        api             20         1", "",
                  "*OLDEST HOLD  LIMIT    KEY          AGE  EXPIRES",
                  "job-7        credits  alice  1 min 1 s  in 500 ms"));
}

TEST(TopFrame, ShowsHowDurableItIs) {
  Picture picture = full_picture();
  Durability& durability = picture.reading.durability;
  durability = {.is_durable = 1, .journal_bytes = 2048, .last_sync_us = 1250, .failure = {}, .snapshot_failure = {}};
  EXPECT_EQ(texts(render(picture, {}))[2], "durable  journal 2 kB  last sync 1.2 ms");
  durability.is_saving = 1;
  durability.saving_percent = 42;
  EXPECT_EQ(texts(render(picture, {}))[2],
            "durable  journal 2 kB  last sync 1.2 ms  snapshot [########............] 42%");
  durability.failure = "no\nspace";
  durability.snapshot_failure = "none";
  const auto lines = texts(render(picture, {}));
  EXPECT_EQ(lines[2], R"(*DISK FAILED, restart needed: no\nspace)");
  EXPECT_EQ(lines[4], "*SNAPSHOT FAILED: none");
}

Picture node_picture() {
  Reading before = reading_at(0, 0, 0);
  before.cluster = {.node = "n1", .state = "ok", .draws = 10, .decisions = 100, .local_decisions = 90};
  Reading after = reading_at(2'000'000'000, 0, 0);
  after.cluster = {.node = "n1",
                   .state = "ok",
                   .shares = 2,
                   .held = 1'500,
                   .outstanding = 1'600,
                   .stranded = 7,
                   .draws = 16,
                   .decisions = 1'100,
                   .local_decisions = 1'087,
                   .peers = {{"n2", "127.0.0.1:7000", true, 12}, {"n\033", "127.0.0.1:7001", false, -1}}};
  return next_picture("x", before, after);
}

TEST(TopFrame, ShowsTheClusterOfANode) {
  const auto lines = texts(render(node_picture(), {}));
  EXPECT_EQ(lines[3],
            "node n1 of 3  linked 1 of 2  shares 2  held 1,500  outstanding 1,600  stranded 7  draws 3/s  local 99.7%");
  EXPECT_EQ(lines[5], "*PEER     ADDRESS         LINK  LAG");
  EXPECT_EQ(lines[6], "n2       127.0.0.1:7000  up     12");
  EXPECT_EQ(lines[7], R"("n\x1b"  127.0.0.1:7001  down    -)");
}

TEST(TopFrame, WithoutDecisionsThereIsNoHitRate) {
  const Reading reading = node_picture().reading;
  EXPECT_THAT(texts(render(next_picture("x", reading, reading), {}))[3], EndsWith("draws 0/s  local -"));
  EXPECT_THAT(texts(render(first_picture("x", reading), {}))[3], EndsWith("draws -  local -"));
}

TEST(TopFrame, ANodeThatCannotDrawSaysSo) {
  Picture picture = node_picture();
  picture.reading.cluster.state = "unreachable";
  EXPECT_THAT(texts(render(picture, {}))[3], StartsWith("*SHARED STORE UNREACHABLE: "));
  picture.reading.cluster.halted = "the store was wiped\n";
  EXPECT_EQ(texts(render(picture, {}))[3], R"(*NOTHING IS DRAWN: the store was wiped\n)");
}

TEST(TopFrame, AsJsonOnlyANodeHasACluster) {
  const auto json = [](const Picture& picture) {
    std::string text;
    wire::JsonWriter writer(text);
    writer.begin_object();
    write_picture(picture, writer);
    writer.end_object();
    return text;
  };
  EXPECT_THAT(json(node_picture()), HasSubstr(R"("draws_per_s":3,"local_permille":997,"peers":[{"name":"n2",)"));
  EXPECT_THAT(json(full_picture()), Not(HasSubstr("cluster")));
}

TEST(TopFrame, FitsIntoAnySize) {
  for (std::size_t rows = 0; rows < 20; ++rows) {
    for (const std::size_t columns : {0U, 1U, 10U, 40U, 200U}) {
      const auto lines = render(full_picture(), {.columns = columns, .rows = rows});
      EXPECT_LE(lines.size(), rows);
      for (const ScreenLine& line : lines) EXPECT_LE(columns_of(line.text), columns);
    }
  }
  EXPECT_THAT(texts(render(full_picture(), {.columns = 30, .rows = 11})),
              ElementsAre("mete top  127.0.0.1:6380", "up 1 min 30 s  connections 0", "meters 0  holds 0  memory 2 kB",
                          "decisions 30/s, denied 3/s", "memory only: lost when the se…", "",
                          "*LIMIT  DECISIONS/S  DENIED/S", "api             30         3", "",
                          "*BUSIEST KEY  LIMIT  DECISIONS…", "alice        api             …"));
}

TEST(TopFrame, TheFirstHasNoRates) {
  const auto lines = texts(render(first_picture("x", reading_at(0, 30, 3)), {}));
  EXPECT_EQ(lines[1], "measuring …");
  EXPECT_EQ(lines[5], "api              -         -");
}

}  // namespace
}  // namespace mete::cli
