// What is told of a cluster and its nodes, in the same words by CLUSTER and INFO.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "escrow/status.h"
#include "server/limits/limit_fields.h"

namespace mete::server {

// Lines of name:value. None: this server is no node.
std::string cluster_text(const std::optional<escrow::ClusterStatus>& status);
std::vector<LimitField> describe_node(const escrow::NodeStatus& node);

}  // namespace mete::server
