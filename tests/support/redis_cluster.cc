#include "support/redis_cluster.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "support/files.h"
#include "support/redis_client.h"
#include "support/shared_server.h"
#include "support/waiting.h"

namespace mete::support {

namespace {

using namespace std::chrono_literals;

constexpr Duration kPatience = 60s;
constexpr std::size_t kSlots = 16'384;
// Longer than any jump of a clock that tests set, and far from an overflow of Redis's sums.
constexpr std::chrono::milliseconds kEndless{std::int64_t{1} << 50};
constexpr Duration kStep = 100ms;

void expect_ok(const wire::RespValue& reply) {
  if (reply.text != "OK") fail("a node of the Cluster refuses: " + reply.text);
}

// The first of a share of the slots; that of the last share + 1 is where they end.
std::size_t first_slot(std::size_t share) { return kSlots * share / RedisCluster::kMasters; }

}  // namespace

RedisCluster::RedisCluster(const Options& options) : has_settable_clock_(options.has_settable_clock) {
  const std::chrono::milliseconds node_timeout = has_settable_clock_ ? kEndless : options.node_timeout;
  const std::size_t nodes = has_settable_clock_ ? kMasters : 2 * kMasters;
  for (std::size_t i = 0; i < nodes; ++i) {
    nodes_.push_back(std::make_unique<RedisServer>(
        RedisServer::Options{.arguments = {"--cluster-node-timeout", std::to_string(node_timeout.count()),
                                           "--repl-diskless-sync-delay", "0"},
                             .has_settable_clock = has_settable_clock_,
                             .is_cluster_node = true}));
  }
  for (std::size_t i = 0; i < kMasters; ++i) {
    expect_ok(nodes_[i]->call(
        {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first_slot(i)), std::to_string(first_slot(i + 1) - 1)}));
  }
  meet();
  if (!has_settable_clock_) replicate();
  await_health();
}

void RedisCluster::replicate() const {
  for (std::size_t i = 0; i < kMasters; ++i) expect_ok(nodes_[i + kMasters]->call({"CLUSTER", "REPLICATE", id_of(i)}));
  await_replicas();
}

void RedisCluster::await_replicas() const {
  for (std::size_t i = 0; i < kMasters; ++i) nodes_[i]->await_replica();
}

void RedisCluster::meet() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const RedisServer& node = *nodes_[i];
    expect_ok(node.call({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)}));
    if (i == 0) continue;
    expect_ok(nodes_[0]->call(
        {"CLUSTER", "MEET", "127.0.0.1", std::to_string(node.port()), std::to_string(node.bus_port())}));
  }
  const auto has_met_all = [&](const auto& node) {
    return node->cluster_info("cluster_known_nodes") == std::to_string(nodes_.size()) &&
           node->cluster_info("cluster_state") == "ok";
  };
  const auto have_met = [&] {
    if (has_settable_clock_) set_time(time() + kStep);  // A node serves two seconds after its start by its own clock.
    return std::all_of(nodes_.begin(), nodes_.end(), has_met_all);
  };
  if (!becomes_true(kPatience, have_met)) fail("the nodes of the Cluster do not find each other:\n" + nodes_[0]->log());
}

std::string RedisCluster::url() const {
  std::string text = "redis+cluster://";
  for (std::size_t i = 0; i < nodes_.size(); ++i) text += (i == 0 ? "" : ",") + nodes_[i]->address();
  return text;
}

const RedisServer& RedisCluster::any_up() const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (is_up(i)) return *nodes_[i];
  }
  fail("no node of the Cluster is up");
}

std::string RedisCluster::id_of(std::size_t number) const { return nodes_[number]->call({"CLUSTER", "MYID"}).text; }

int RedisCluster::slot_of(std::string_view key) const {
  return static_cast<int>(any_up().call({"CLUSTER", "KEYSLOT", key}).integer);
}

std::size_t RedisCluster::master_of(int slot) const {
  for (const wire::RespValue& range : any_up().call({"CLUSTER", "SLOTS"}).elements) {
    if (slot < range.elements[0].integer || slot > range.elements[1].integer) continue;
    const std::int64_t port = range.elements[2].elements[1].integer;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->port() == port) return i;
    }
  }
  fail("nobody has slot " + std::to_string(slot));
}

// Every node that is up names the same masters for all slots, and these are up.
bool RedisCluster::is_healthy() const {
  std::vector<std::string> views;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!is_up(i)) continue;
    if (nodes_[i]->cluster_info("cluster_state") != "ok") return false;
    std::vector<std::string> view;
    for (const wire::RespValue& range : nodes_[i]->call({"CLUSTER", "SLOTS"}).elements) {
      const std::int64_t port = range.elements[2].elements[1].integer;
      const auto is_it = [&](const auto& node) { return node->port() == port && node->pid() > 0; };
      if (std::none_of(nodes_.begin(), nodes_.end(), is_it)) return false;
      view.push_back(std::to_string(range.elements[0].integer) + "-" + std::to_string(range.elements[1].integer) + ":" +
                     std::to_string(port));
    }
    std::sort(view.begin(), view.end());
    std::string words;
    for (const std::string& each : view) words += each + " ";
    views.push_back(words);
  }
  return std::all_of(views.begin(), views.end(), [&](const std::string& view) { return view == views.front(); });
}

void RedisCluster::await_health() const {
  if (!becomes_true(kPatience, [this] { return is_healthy(); }))
    fail("the nodes of the Cluster do not agree:\n" + any_up().call({"CLUSTER", "NODES"}).text);
}

void RedisCluster::begin_move(const Move& move) const {
  const std::string slot = std::to_string(move.slot);
  expect_ok(nodes_[move.to]->call({"CLUSTER", "SETSLOT", slot, "IMPORTING", id_of(move.from)}));
  expect_ok(nodes_[move.from]->call({"CLUSTER", "SETSLOT", slot, "MIGRATING", id_of(move.to)}));
}

std::size_t RedisCluster::move_keys(const Move& move, std::size_t count) const {
  RedisClient from(nodes_[move.from]->port());
  const auto keys = from.call({"CLUSTER", "GETKEYSINSLOT", std::to_string(move.slot), std::to_string(count)});
  for (const wire::RespValue& key : keys.elements) {
    expect_ok(from.call({"MIGRATE", "127.0.0.1", std::to_string(nodes_[move.to]->port()), key.text, "0", "5000"}));
  }
  return keys.elements.size();
}

void RedisCluster::end_move(const Move& move) const {
  const std::string slot = std::to_string(move.slot);
  const std::string owner = id_of(move.to);
  expect_ok(nodes_[move.to]->call({"CLUSTER", "SETSLOT", slot, "NODE", owner}));
  expect_ok(nodes_[move.from]->call({"CLUSTER", "SETSLOT", slot, "NODE", owner}));
  await_health();
}

void RedisCluster::set_time(Instant at) {
  for (const auto& node : nodes_) node->set_time(at);
}

void RedisCluster::clear() const {
  for (std::size_t i = 0; i < kMasters; ++i) {
    const std::string slots = nodes_[i]->call({"CLUSTER", "NODES"}).text;
    if (has(slots, "->-") || has(slots, "-<-")) fail("a test has left a slot on its way:\n" + slots);
    expect_ok(nodes_[i]->call({"FLUSHALL"}));
  }
}

RedisCluster& shared_cluster() {
  static SharedServer<RedisCluster> shared([](auto& cluster) { cluster.emplace(); },
                                           [](const RedisCluster& cluster) { cluster.clear(); });
  return shared.as_new();
}

RedisCluster& shared_cluster_on_time() {
  static SharedServer<RedisCluster> shared(
      [](auto& cluster) { cluster.emplace(RedisCluster::Options{.has_settable_clock = true}); },
      [](RedisCluster& cluster) {
        cluster.set_time(kServerStart);
        cluster.clear();
      });
  return shared.as_new();
}

}  // namespace mete::support
