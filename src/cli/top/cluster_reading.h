// ClusterReading: how a node and its cluster are doing at one moment, from its replies to INFO and CLUSTER NODES.
//
// Thread safety: values.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/resp_reply.h"

namespace mete::cli {

// Another node, as this one sees it.
struct PeerReading {
  std::string name = {};
  std::string address = {};
  bool is_linked = false;
  std::int64_t lag = 0;  // counters with changes that it has not acknowledged; means nothing without a link
};

struct ClusterReading {
  std::string node = {};    // empty: the server is no node of a cluster
  std::string state = {};   // of the shared store: "ok", "unreachable"; "halted": nothing is drawn any more, for good
  std::string halted = {};  // why
  std::int64_t shares = 0;
  std::int64_t held = 0;         // units that it can spend without asking
  std::int64_t outstanding = 0;  // units charged in the shared store and not spent
  std::int64_t stranded = 0;     // units that it had before it was killed
  std::int64_t draws = 0;        // since the server started, as the following
  std::int64_t decisions = 0;
  std::int64_t local_decisions = 0;     // those that waited for nobody
  std::vector<PeerReading> peers = {};  // by name

  [[nodiscard]] bool is_node() const { return !node.empty(); }
  [[nodiscard]] std::size_t linked() const;
};

// Takes a line "name:value" of INFO, if it is one of the cluster's.
void parse_cluster_line(std::string_view name, std::string_view value, ClusterReading& reading);
// The reply to CLUSTER NODES, without the node that was asked.
Result<std::vector<PeerReading>> parse_peers(const wire::RespValue& reply);

}  // namespace mete::cli
