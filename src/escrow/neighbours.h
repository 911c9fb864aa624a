// Neighbours: which peers a node links to: those that it was told of, and those that it finds in the shared store. One
// that has fallen silent there is kept for a while: it may be the shared store that it does not reach. Pure.
#pragma once

#include <mete/time.h>

#include <map>
#include <string>
#include <vector>

#include "escrow/nodes/registry.h"
#include "escrow/peers/links.h"

namespace mete::escrow {

class Neighbours {
 public:
  static constexpr Duration kKeptFor = std::chrono::minutes(10);

  explicit Neighbours(std::vector<std::string> told) : told_(std::move(told)) {}

  // The peers to link to, given who is alive now.
  std::vector<PeerAddress> link_to(const std::vector<NodeInfo>& nodes, Instant now);

 private:
  struct Seen {
    std::string address;
    Instant at;
  };

  const std::vector<std::string> told_;  // addresses
  std::map<std::string, Seen> seen_;     // by name
};

}  // namespace mete::escrow
