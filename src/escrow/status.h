// ClusterStatus: what a node can tell of its cluster and of its shares, at one moment: for CLUSTER, INFO and /metrics.
// Plain values; thread safety: values.
#pragma once

#include <mete/time.h>

#include <optional>
#include <string>
#include <vector>

#include "escrow/nodes/registry.h"
#include "escrow/statistics.h"

namespace mete::escrow {

struct NodeStatus {
  NodeInfo info;
  // How many counters have changes that it has not acknowledged. None: there is no link to it, or it is this node.
  std::optional<std::size_t> lag = {};
};

struct ClusterStatus {
  ClusterNumber cluster = 0;
  Node self;
  std::vector<NodeStatus> nodes;      // by name, with this one
  std::vector<std::string> away;      // nodes that are not alive and have draws: until they start again or are retired
  std::optional<std::string> halted;  // why nothing is drawn
  bool is_shared_reachable = true;
  SharesStatistics shares;
  std::uint64_t counters_refused = 0;  // of other nodes: there was no room
  Amount stranded = 0;                 // what this node had before it was killed, in windows that have not ended
};

}  // namespace mete::escrow
