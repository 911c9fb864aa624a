// Neighbours: which nodes a node brings its counters to: those that it finds in the shared store. One that has fallen
// silent there is kept for a while: it may be the shared store that it does not reach. Pure.
#pragma once

#include <mete/time.h>

#include <map>
#include <string>
#include <vector>

#include "escrow/nodes/registry.h"
#include "escrow/others/peers.h"

namespace mete::escrow {

class Neighbours {
 public:
  static constexpr Duration kKeptFor = std::chrono::minutes(10);

  // The peers to link to, given who is alive now.
  std::vector<PeerAddress> link_to(const std::vector<NodeInfo>& nodes, Instant now);

 private:
  struct Seen {
    std::string address;
    Instant at;
  };

  std::map<std::string, Seen> seen_;  // by name
};

}  // namespace mete::escrow
