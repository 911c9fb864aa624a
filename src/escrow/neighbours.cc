#include "escrow/neighbours.h"

#include <algorithm>

namespace mete::escrow {

std::vector<PeerAddress> Neighbours::link_to(const std::vector<NodeInfo>& nodes, Instant now) {
  std::string own_address;
  for (const NodeInfo& each : nodes) {
    if (each.is_self) {
      own_address = each.node.address;
    } else if (!each.node.address.empty()) {
      seen_[each.node.name] = {each.node.address, now};
    }
  }
  std::erase_if(seen_, [&](const auto& entry) { return now - entry.second.at >= kKeptFor; });
  std::vector<PeerAddress> peers;
  for (const auto& [name, seen] : seen_) peers.push_back({name, seen.address});
  for (const std::string& address : told_) {
    const auto is_there = [&](const PeerAddress& peer) { return peer.address == address; };
    if (address == own_address || std::any_of(peers.begin(), peers.end(), is_there)) continue;
    peers.push_back({"", address});
  }
  if (peers.size() > PeerLinks::kPeersMax) peers.resize(PeerLinks::kPeersMax);
  return peers;
}

}  // namespace mete::escrow
