// NodeSet: the nodes that were ever heard of, by their address. They stay where they are until the set goes.
//
// Thread safety: every call from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "store/redis/client/node.h"

namespace mete::store::redis {

class NodeSet {
 public:
  // A Cluster has a thousand nodes at most; and some of them get other addresses over the years.
  static constexpr std::size_t kNodesMax = 10'000;

  explicit NodeSet(NodeSettings settings) : settings_(std::move(settings)) {}

  // Null if there are too many.
  Node* at(const net::Address& address) {
    const std::lock_guard lock(mutex_);
    for (const auto& node : nodes_) {
      if (node->address() == address) return node.get();
    }
    if (nodes_.size() == kNodesMax) return nullptr;
    return nodes_.emplace_back(std::make_unique<Node>(address, settings_)).get();
  }

  [[nodiscard]] std::vector<Node*> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<Node*> nodes;
    nodes.reserve(nodes_.size());
    for (const auto& node : nodes_) nodes.push_back(node.get());
    return nodes;
  }

 private:
  const NodeSettings settings_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Node>> nodes_;  // in the order in which they were heard of
};

}  // namespace mete::store::redis
