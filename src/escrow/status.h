// ClusterStatus: what a node can tell of its cluster and of its shares, at one moment: for CLUSTER, INFO and /metrics.
// Plain values; thread safety: values.
#pragma once

#include <mete/time.h>

#include <optional>
#include <string>
#include <vector>

#include "escrow/nodes/registry.h"
#include "escrow/shares.h"

namespace mete::escrow {

struct NodeStatus {
  NodeInfo info;
  // Of the link over which counters go to it. None: there is no link, or it is this node.
  // How long ago it had everything that had changed by then.
  std::optional<Duration> lag = {};
};

struct ClusterStatus {
  ClusterNumber cluster = 0;
  Node self;
  std::vector<NodeStatus> nodes;      // by name, with this one
  std::optional<std::string> halted;  // why nothing is drawn any more, for good
  bool is_shared_reachable = true;
  SharesStatistics shares;
};

}  // namespace mete::escrow
