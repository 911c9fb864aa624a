// What a server remembers of its clients and commands: roles, counts, busy keys, slow commands, connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/doors/authentication.h"
#include "server/doors/resp/command_table.h"
#include "server/observation/busy_keys.h"
#include "server/observation/metrics.h"
#include "server/observation/slow_log.h"
#include "server/running/clients.h"

namespace mete::server {
namespace {

TEST(Authentication, GivesEachPasswordItsRole) {
  const struct {
    std::string_view admin;
    std::string_view use;
    std::string_view given;
    std::optional<Role> role;
  } rows[] = {
      {"a", "u", "a", Role::kAdmin},  {"a", "u", "u", Role::kUse},
      {"a", "u", "x", std::nullopt},  {"a", "u", "", std::nullopt},
      {"a", "u", "aa", std::nullopt}, {"a", "", "a", Role::kAdmin},
      {"a", "", "", std::nullopt},    {"", "u", "u", Role::kUse},
      {"", "u", "", std::nullopt},    {"same", "same", "same", Role::kAdmin},
      {"", "", "", std::nullopt},
  };
  for (const auto& row : rows) {
    const Authentication authentication({.admin = row.admin, .use = row.use});
    const auto found = authentication.find(row.given);
    EXPECT_EQ(found ? std::optional(found->role) : std::nullopt, row.role)
        << row.admin << " " << row.use << " " << row.given;
    EXPECT_EQ(authentication.is_needed(), !row.admin.empty() || !row.use.empty());
  }
  const std::string with_zero("a\0b", 3);
  EXPECT_FALSE(Authentication({.admin = "a"}).find(with_zero).has_value());
  EXPECT_TRUE(Authentication({.admin = with_zero}).find(with_zero).has_value());
}

TEST(LatencyHistogram, CountsInPowersOfTwo) {
  const struct {
    std::uint64_t ns;
    std::size_t bucket;
  } rows[] = {
      {0, 0},
      {1, 0},
      {1'000, 0},
      {1'001, 1},
      {2'000, 1},
      {2'001, 2},
      {4'000, 2},
      {4'001, 3},
      {1'024'000, 10},
      {1'024'001, 11},
      {1'048'576'000, 20},
      {1'048'576'001, 21},
      {3'600'000'000'000, 21},
  };
  for (const auto& row : rows) {
    LatencyHistogram histogram;
    histogram.observe(row.ns, 3);
    EXPECT_EQ(histogram.count(row.bucket), 3U) << row.ns;
    EXPECT_EQ(histogram.sum_ns(), row.ns * 3);
  }
}

TEST(LoopMetrics, CountsDecisionsByLimit) {
  net::EventLoop loop;
  LoopMetrics metrics(loop);
  const std::vector<Charge> charges = {{"api", "alice"}, {"day", "alice"}};
  metrics.on_decision(charges, true, 0);
  metrics.on_decision(charges, false, 0b10);
  metrics.on_decision(charges, true, 0b01);  // api is a shadow
  std::map<std::string, DecisionCounts> sums;
  metrics.add_decisions_to(sums);
  metrics.add_decisions_to(sums);  // as if of a second loop
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums["api"].allowed, 4U);
  EXPECT_EQ(sums["api"].denied, 2U);
  EXPECT_EQ(sums["api"].shadow_denied, 2U);
  EXPECT_EQ(sums["day"].shadow_denied, 0U);
}

// Limits come and go for ever; what is counted of them is bounded.
TEST(LoopMetrics, CountsLimitsBeyondItsBoundTogether) {
  net::EventLoop loop;
  LoopMetrics metrics(loop);
  for (int index = 0; index < 10'100; ++index) {
    const std::string name = "limit" + std::to_string(index);
    const Charge charge{name, "k"};
    metrics.on_decision({&charge, 1}, true, 0);
  }
  std::map<std::string, DecisionCounts> sums;
  metrics.add_decisions_to(sums);
  EXPECT_EQ(sums.size(), 10'001U);
  EXPECT_EQ(sums["(other)"].allowed, 100U);
}

std::uint64_t seconds(std::uint64_t count) { return count * 1'000'000'000; }

using Sums = std::map<std::pair<std::string, std::string>, BusyKey>;

TEST(BusyKeys, TellsRatesOfTheLastSlices) {
  BusyKeys keys;
  for (int count = 0; count < 500; ++count) keys.observe({"api", "alice"}, count % 5 != 0, seconds(100));
  const struct {
    std::uint64_t now_ns;
    std::uint64_t decisions;
    std::uint64_t denied;
  } rows[] = {
      {seconds(100), 500, 100},  // a second is the least that makes a rate
      {seconds(101), 500, 100}, {seconds(102), 250, 50}, {seconds(105) - 1, 100, 20}, {seconds(109), 56, 11},
  };
  for (const auto& row : rows) {
    Sums sums;
    keys.add_to(sums, row.now_ns);
    const BusyKey& alice = sums[{"api", "alice"}];
    EXPECT_EQ(alice.decisions, row.decisions) << row.now_ns;
    EXPECT_EQ(alice.denied, row.denied) << row.now_ns;
  }
  Sums sums;
  keys.add_to(sums, seconds(120));
  EXPECT_TRUE(sums.empty()) << "nothing has happened for a while";
}

// Keys that are asked about in turn, at a steady rate, beside one that was there long before.
TEST(BusyKeys, TellsTheRateOfASteadyLoadFromItsSecondSecondOn) {
  const struct {
    std::uint64_t keys;
    std::uint64_t rate_of_each;
  } rows[] = {{1, 10}, {1, 50'000}, {5, 100}, {20, 40}, {60, 500}};
  for (const auto& row : rows) {
    BusyKeys keys;
    for (std::uint64_t step = 0; step < 100; ++step) keys.observe({"api", "old"}, true, seconds(60) + step);
    for (std::uint64_t second = 103; second < 124; ++second) {
      const std::uint64_t steps = row.keys * row.rate_of_each;
      for (std::uint64_t step = 0; step < steps; ++step) {
        const std::string key = "key" + std::to_string(step % row.keys);
        keys.observe({"api", key}, true, seconds(second) + step * seconds(1) / steps);
      }
      Sums sums;
      keys.add_to(sums, seconds(second + 1));
      ASSERT_EQ(sums.size(), row.keys) << second;
      for (const auto& [name, key] : sums) {
        EXPECT_NEAR(static_cast<double>(key.decisions), static_cast<double>(row.rate_of_each),
                    static_cast<double>(row.rate_of_each) / 10)
            << name.second << " of " << row.keys << " at " << second;
      }
    }
  }
}

TEST(BusyKeys, ForgetsWhatIsOld) {
  BusyKeys keys;
  for (int count = 0; count < 100; ++count) keys.observe({"api", "old"}, true, seconds(100));
  keys.observe({"api", "new"}, true, seconds(105));
  keys.observe({"api", "new"}, true, seconds(110));
  Sums sums;
  keys.add_to(sums, seconds(111));
  EXPECT_EQ(sums.count({"api", "old"}), 0U);
  EXPECT_EQ(sums.count({"api", "new"}), 1U);
}

// Among very many keys that come once each, the busy one is found, and no count is beyond what there was.
TEST(BusyKeys, FindsTheBusyOneAmongMany) {
  BusyKeys keys;
  constexpr std::uint64_t kRounds = 100'000;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::string rare = "rare" + std::to_string(round);
    keys.observe({"api", rare}, false, seconds(100));
    keys.observe({"api", "busy"}, false, seconds(100));
  }
  Sums sums;
  keys.add_to(sums, seconds(105) - 1);
  std::uint64_t most = 0;
  for (const auto& [name, key] : sums) {
    most = std::max(most, key.decisions);
    EXPECT_LE(key.denied, key.decisions) << name.second;
  }
  const BusyKey& busy = sums[{"api", "busy"}];
  EXPECT_EQ(busy.decisions, most);
  EXPECT_GT(busy.decisions, kRounds / 5 * 8 / 10);
  EXPECT_LE(busy.decisions, kRounds / 5 * 12 / 10);
  EXPECT_LE(sums.size(), 1024U);
}

TEST(SlowLog, KeepsTheLatest) {
  SlowLog log;
  EXPECT_EQ(log.size(), 0U);
  for (int index = 0; index < 200; ++index) log.add({0, 0, index, {}, {}, {}});
  EXPECT_EQ(log.size(), 128U);
  const auto latest = log.latest(3);
  ASSERT_EQ(latest.size(), 3U);
  EXPECT_EQ(latest[0].id, 199U);
  EXPECT_EQ(latest[0].microseconds, 199);
  EXPECT_EQ(latest[2].id, 197U);
  EXPECT_EQ(log.latest(static_cast<std::size_t>(-1)).size(), 128U);
  log.reset();
  EXPECT_EQ(log.size(), 0U);
  log.add({});
  EXPECT_EQ(log.latest(1)[0].id, 200U) << "numbers are not used again";
}

TEST(SlowLog, ShortensCommands) {
  const std::vector<std::string_view> few = {"GET", "a"};
  EXPECT_EQ(shorten(few), (std::vector<std::string>{"GET", "a"}));
  const std::string long_word(200, 'x');
  std::vector<std::string_view> many(40, long_word);
  const auto kept = shorten(many);
  ASSERT_EQ(kept.size(), 32U);
  EXPECT_EQ(kept[0], std::string(128, 'x') + "... (72 more bytes)");
  EXPECT_EQ(kept[31], "... (9 more arguments)");
  EXPECT_EQ(shorten(std::vector<std::string_view>(32, "a")).back(), "a");
}

std::shared_ptr<Client> make_client(std::uint64_t id) {
  auto client = std::make_shared<Client>();
  client->id = id;
  client->address = "10.0.0." + std::to_string(id) + ":5000";
  client->local_address = "10.0.0.9:6380";
  client->connected_at_ns = seconds(10);
  client->active_at_ns = seconds(60);
  return client;
}

TEST(Clients, AreListedInTheOrderOfTheirIds) {
  Clients clients;
  const auto two = make_client(2);
  const auto one = make_client(1);
  clients.add(two);
  clients.add(one);
  clients.change(*two, [](Client& client) { client.name = "joe"; });
  std::string seen;
  clients.for_each([&](const Client& client) { seen += std::to_string(client.id) + client.name + " "; });
  EXPECT_EQ(seen, "1 2joe ");
  clients.set_monitor(*one, true);
  clients.set_monitor(*one, true);
  clients.set_monitor(*two, true);
  EXPECT_TRUE(clients.has_monitors());
  clients.set_monitor(*two, false);
  clients.remove(*one);
  EXPECT_FALSE(clients.has_monitors());
  EXPECT_EQ(clients.size(), 1U);
}

TEST(Clients, AreDescribedInALine) {
  const auto client = make_client(3);
  client->socket = 8;
  const std::string idle = describe(*client, seconds(100));
  EXPECT_THAT(idle, ::testing::StartsWith(
                        "id=3 addr=10.0.0.3:5000 laddr=10.0.0.9:6380 fd=8 name= age=90 idle=40 flags=N db=0 sub=0 "
                        "psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 obl=0 oll=0 omem=0 tot-mem="));
  EXPECT_THAT(idle, ::testing::EndsWith(" events=r user=look redir=-1 resp=2 lib-name= lib-ver= cmd=NULL"));
  client->role = Role::kAdmin;
  client->is_blocked = true;
  client->last_command = all_commands().data();
  client->input_bytes = 100;
  client->input_bytes_free = 412;
  client->output_bytes = 3000;
  client->output_capacity = 4096;
  const std::string busy = describe(*client, seconds(5));
  EXPECT_THAT(busy, ::testing::HasSubstr(" age=0 idle=0 flags=b "));
  EXPECT_THAT(busy, ::testing::HasSubstr(" qbuf=100 qbuf-free=412 argv-mem=0 obl=3000 oll=0 omem=4096 tot-mem="));
  EXPECT_THAT(busy, ::testing::HasSubstr(" user=default "));
  EXPECT_THAT(busy, ::testing::EndsWith(" cmd=take"));
  const auto memory = [](const std::string& line) { return std::stoul(line.substr(line.find("tot-mem=") + 8)); };
  EXPECT_EQ(memory(busy) - memory(idle), 100U + 412U + 4096U);
}

}  // namespace
}  // namespace mete::server
