// What is told of a cluster and its nodes, in the same words by CLUSTER and INFO.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "server/observation/readings.h"
#include "wire/text.h"

namespace mete::server {

namespace {

std::int64_t number(std::uint64_t count) { return static_cast<std::int64_t>(count); }

std::string_view state_of(const escrow::ClusterStatus& status) {
  if (status.halted) return "halted";
  return status.is_shared_reachable ? "ok" : "unreachable";
}

wire::NamedValues describe_cluster(const escrow::ClusterStatus& status) {
  const escrow::SharesStatistics& shares = status.shares;
  return {
      {"cluster_state", std::string(state_of(status))},
      {"cluster_halted", status.halted.value_or("")},
      {"cluster_id", status.cluster},
      {"cluster_known_nodes", number(status.nodes.size())},
      {"cluster_nodes_away", fmt::format("{}", fmt::join(status.away, ","))},
      {"node", status.self.name},
      {"incarnation", status.self.incarnation},
      {"shares", number(shares.meters)},
      {"shares_usable", shares.usable},
      {"shares_outstanding", shares.outstanding},
      {"draws", number(shares.shares.draws)},
      {"draws_denied", number(shares.shares.denials)},
      {"units_drawn", number(shares.shares.granted)},
      {"units_returned", number(shares.shares.returned)},
      {"units_lapsed", number(shares.shares.lapsed)},
      {"units_stranded", status.stranded},
      {"counters_refused", number(status.counters_refused)},
      {"escrow_decisions", number(shares.decisions)},
      {"escrow_decisions_local", number(shares.local_decisions)},
  };
}

}  // namespace

std::string escaped(std::string_view bytes) {
  const std::string quoted = wire::quote(bytes, bytes.size());
  return quoted.substr(1, quoted.size() - 2);
}

std::string cluster_text(const std::optional<escrow::ClusterStatus>& status) {
  // By this clients tell whether to look for the slots of a Redis Cluster, and a node has none: any key goes to any.
  std::string text = "cluster_enabled:0\r\n";
  if (!status) return text;
  for (const wire::NamedValue& field : describe_cluster(*status)) {
    const auto* integer = std::get_if<std::int64_t>(&field.value);
    text += fmt::format("{}:{}\r\n", field.name,
                        integer != nullptr ? std::to_string(*integer) : escaped(std::get<std::string>(field.value)));
  }
  return text;
}

wire::NamedValues describe_node(const escrow::NodeStatus& node) {
  return {
      {"name", node.info.node.name},       {"incarnation", node.info.node.incarnation},
      {"address", node.info.node.address}, {"self", node.info.is_self},
      {"linked", node.lag.has_value()},    {"lag", node.lag ? number(*node.lag) : -1},
  };
}

}  // namespace mete::server
