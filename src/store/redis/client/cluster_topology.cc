#include "store/redis/client/cluster_topology.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "store/redis/client/batch.h"
#include "store/redis/client/node_call.h"

namespace mete::store::redis {

ClusterTopology::ClusterTopology(const Url& url, const net::TlsClient* tls, std::span<const Script> scripts)
    : nodes_({.credentials = url.credentials, .database = 0, .tls = tls, .scripts = scripts}) {
  for (const net::Address& host : url.hosts) nodes_.at(host);
}

Result<void> ClusterTopology::discover(const net::Deadline& deadline) {
  Error last;
  const std::vector<Node*> asked = nodes_to_ask();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto ranges = ask_for_slots(*asked[i], deadline.share(asked.size() - i));
    if (ranges) {
      take_over(*ranges);
      return {};
    }
    last = ranges.error();
  }
  return last;
}

void ClusterTopology::look_again(const net::Deadline& deadline) {
  if (!gate_.enter()) return;
  (void)discover(deadline);  // Without success the old table stays, and the nodes' breakers say what is wrong.
  gate_.leave();
}

std::vector<Node*> ClusterTopology::nodes_to_ask() {
  std::vector<Node*> asked = masters();
  for (Node* const node : nodes_.all()) {
    if (std::ranges::find(asked, node) == asked.end()) asked.push_back(node);
  }
  return asked;
}

Result<std::vector<SlotRange>> ClusterTopology::ask_for_slots(Node& node, const net::Deadline& deadline) {
  const auto reply = TRY(ask(node, {"CLUSTER", "SLOTS"}, deadline));
  const std::string name = node.address().to_string();
  if (reply.is_error()) {
    return base::invalid(name + " did not tell of its Cluster: " + reply.text + "; one server alone is redis://host");
  }
  if (reply.elements.empty()) {
    return base::unavailable(name + " knows of no slots: has the Cluster been made? redis-cli --cluster create");
  }
  return parse_slots(reply, node.address());
}

void ClusterTopology::take_over(const std::vector<SlotRange>& ranges) {
  std::vector<Node*> owners(kSlots, nullptr);
  std::vector<Node*> masters;
  for (const SlotRange& range : ranges) {
    Node* const node = nodes_.at(range.master);
    std::fill(owners.begin() + range.first, owners.begin() + range.last + 1, node);
    if (node != nullptr && std::ranges::find(masters, node) == masters.end()) masters.push_back(node);
  }
  for (std::size_t slot = 0; slot < kSlots; ++slot) slots_[slot].store(owners[slot], std::memory_order_release);
  const std::lock_guard lock(masters_mutex_);
  masters_ = std::move(masters);
}

Node* ClusterTopology::node_for(std::uint16_t slot) {
  if (slot != Batch::kAnySlot) return slots_[slot].load(std::memory_order_acquire);
  const std::vector<Node*> known = masters();
  const auto there = std::ranges::find_if(known, [](const Node* node) { return !node->lines().is_away(); });
  if (there != known.end()) return *there;
  return known.empty() ? nullptr : known.front();
}

std::vector<Node*> ClusterTopology::masters() {
  const std::lock_guard lock(masters_mutex_);
  return masters_;
}

}  // namespace mete::store::redis
