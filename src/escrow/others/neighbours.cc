#include "escrow/others/neighbours.h"

namespace mete::escrow {

std::vector<PeerAddress> Neighbours::link_to(const std::vector<NodeInfo>& nodes, Instant now) {
  for (const NodeInfo& each : nodes) {
    if (!each.is_self && !each.node.address.empty()) seen_[each.node.name] = {each.node.address, now};
  }
  std::erase_if(seen_, [&](const auto& entry) { return now - entry.second.at >= kKeptFor; });
  std::vector<PeerAddress> peers;
  for (const auto& [name, seen] : seen_) peers.push_back({name, seen.address});
  return peers;
}

}  // namespace mete::escrow
