#include "lab/cluster/plan.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"
#include "cli/frame/text.h"
#include "store/open.h"
#include "wire/text.h"

namespace mete::lab {

namespace {

constexpr std::int64_t kPortMax = 65'535;
constexpr int kLimitAmount = 100;  // a minute: so few that one can use them up by hand

std::string on_port(std::string_view scheme, std::uint16_t port) { return fmt::format("{}127.0.0.1:{}", scheme, port); }

// A URL's user and password are nobody's business.
std::string without_secret(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t at = url.rfind('@', url.find_first_of("/?", scheme + 3));
  return at == std::string::npos || at < scheme ? url : url.substr(0, scheme + 3) + url.substr(at + 1);
}

Result<void> check_shared(const std::string& text, std::string_view etcd, ClusterOptions& options) {
  if (text.empty()) {
    options.shared = etcd.empty() ? SharedKind::kMete : SharedKind::kEtcd;
    return {};
  }
  if (text == "mete") {
    options.shared = SharedKind::kMete;
    return {};
  }
  if (text == "etcd") {
    options.shared = SharedKind::kEtcd;
    if (!etcd.empty()) return {};
    return base::invalid(
        "there is no program 'etcd' on the PATH: install it (Debian: etcd-server), or share "
        "through Mete itself with --shared mete");
  }
  // A store in this process would be opened, and be of no use to the nodes.
  if (text.find("://") == std::string::npos || text.starts_with("embedded:")) {
    return base::invalid(
        "option '--shared' must be etcd, mete or the URL of a store that several can use, as "
        "\"redis://127.0.0.1:6379\", not " +
        cli::shown(text));
  }
  options.shared = SharedKind::kUrl;
  options.shared_url = text;
  return store::check_url(text);
}

PlannedProcess plan_etcd(const ClusterPlace& place) {
  const std::string client = on_port("http://", place.free_ports[0]);
  const std::string peer = on_port("http://", place.free_ports[1]);
  return {.name = "shared",
          .words = {place.etcd, "--name", "shared", "--data-dir", place.directory + "/shared", "--listen-client-urls",
                    client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                    "--initial-advertise-peer-urls", peer, "--initial-cluster", "shared=" + peer},
          .log = place.directory + "/shared.log"};
}

PlannedProcess plan_mete(const ClusterPlace& place) {
  return {.name = "shared",
          .words = {place.program, "serve", "--resp", on_port("", place.free_ports[0]), "--http", "off", "--data",
                    place.directory + "/shared"},
          .log = place.directory + "/shared.log"};
}

PlannedNode plan_node(const ClusterPlace& place, const std::string& shared_url, std::string name, std::uint16_t port) {
  PlannedNode node{.process = {}, .port = port};
  node.process = {.name = name,
                  .words = {place.program, "serve", "--resp", node.address(), "--http", "off", "--data",
                            place.directory + "/" + name, "--escrow-shared", shared_url, "--escrow-node", name},
                  .log = place.directory + "/" + name + ".log"};
  return node;
}

// What is started for the shared store listens on the first of the free ports, etcd on the first two.
std::size_t ports_of_shared(SharedKind kind) {
  if (kind == SharedKind::kUrl) return 0;
  return kind == SharedKind::kEtcd ? 2 : 1;
}

}  // namespace

Result<ClusterOptions> check_cluster_words(const ClusterWords& words, std::string_view etcd) {
  const std::int64_t nodes = wire::parse_integer(words.nodes).value_or(0);
  if (nodes < 1 || nodes > static_cast<std::int64_t>(kClusterNodesMax)) {
    return base::invalid(fmt::format("option '--nodes' must be 1 to {}", kClusterNodesMax));
  }
  const std::int64_t port = wire::parse_integer(words.port).value_or(0);
  const std::int64_t port_max = kPortMax - nodes + 1;
  if (port < 1 || port > port_max) {
    return base::invalid(fmt::format("option '--port' must be 1 to {}: each node has a port", port_max));
  }
  ClusterOptions options{.nodes = static_cast<std::size_t>(nodes), .port = static_cast<std::uint16_t>(port)};
  TRY(check_shared(words.shared, etcd, options));
  return options;
}

std::size_t free_ports_needed(const ClusterOptions& options) { return ports_of_shared(options.shared); }

ClusterPlan make_cluster_plan(const ClusterOptions& options, const ClusterPlace& place) {
  CHECK(place.free_ports.size() == free_ports_needed(options));
  ClusterPlan plan{.shared_url = options.shared_url, .shared = {}, .nodes = {}};
  if (options.shared == SharedKind::kEtcd) {
    plan.shared = plan_etcd(place);
    plan.shared_url = on_port("etcd://", place.free_ports[0]);
  }
  if (options.shared == SharedKind::kMete) {
    plan.shared = plan_mete(place);
    plan.shared_url = on_port("mete://", place.free_ports[0]);
  }
  for (std::size_t i = 0; i < options.nodes; ++i) {
    plan.nodes.push_back(plan_node(place, plan.shared_url, "node-" + std::to_string(i + 1),
                                   static_cast<std::uint16_t>(options.port + i)));
  }
  return plan;
}

std::vector<std::string> cluster_limit_words() {
  return {"LIMIT", "SET",   std::string(kClusterLimit), "WINDOW", std::to_string(kLimitAmount), "PER", "1m",
          "SCOPE", "escrow"};
}

std::string cluster_introduction(const ClusterPlan& plan) {
  std::string text = fmt::format(
      "The limit '{}' is one for all nodes: {} a minute for each key, whichever node is asked. They share it through "
      "{}\n\n",
      kClusterLimit, kLimitAmount, cli::escaped(without_secret(plan.shared_url)));
  for (const PlannedNode& node : plan.nodes) {
    text += fmt::format("  {:<8} redis-cli -p {} TAKE {} alice\n", node.process.name, node.port, kClusterLimit);
  }
  text += fmt::format("\nUse it up:    redis-cli -p {} -r {} TAKE {} alice\n", plan.nodes.back().port, kLimitAmount,
                      kClusterLimit);
  text += fmt::format("Watch a node: mete top --server {}\n", plan.nodes.front().address());
  text += fmt::format("All it knows: redis-cli -p {} CLUSTER INFO\n", plan.nodes.front().port);
  return text;
}

}  // namespace mete::lab
