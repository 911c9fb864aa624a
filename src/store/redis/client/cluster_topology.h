// ClusterTopology: the masters of a Cluster, and which slots they have.
//
// The table is read from any node that answers when the link is opened, and again whenever something does not fit: a
// MOVED, a node that does not answer, a slot that nobody has.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "store/redis/client/routing.h"
#include "store/redis/client/topology.h"

namespace mete::store::redis {

class ClusterTopology final : public Topology {
 public:
  ClusterTopology(const Url& url, const net::TlsClient* tls, std::span<const Script> scripts);

  [[nodiscard]] Shape shape() const override { return Shape::kCluster; }
  Result<void> discover(const net::Deadline& deadline) override;
  void look_again(const net::Deadline& deadline) override;

  [[nodiscard]] Node* node_for(std::uint16_t slot) override;
  [[nodiscard]] Node* node_at(const net::Address& address) override { return nodes_.at(address); }
  void moved(std::uint16_t slot, Node& node) override { slots_[slot].store(&node, std::memory_order_release); }

  [[nodiscard]] std::vector<Node*> masters() override;
  [[nodiscard]] std::vector<Node*> nodes() override { return nodes_.all(); }

 private:
  // Masters first: they are those that are known to be there.
  [[nodiscard]] std::vector<Node*> nodes_to_ask();
  Result<std::vector<SlotRange>> ask_for_slots(Node& node, const net::Deadline& deadline);
  void take_over(const std::vector<SlotRange>& ranges);

  NodeSet nodes_;
  std::array<std::atomic<Node*>, kSlots> slots_ = {};
  std::mutex masters_mutex_;
  std::vector<Node*> masters_;  // under the mutex; by their first slots
  LookGate gate_;
};

}  // namespace mete::store::redis
