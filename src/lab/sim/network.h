// Network: carries messages between nodes and the shared store: late, twice, out of order, or not at all. Thread
// safety: one thread.
#pragma once

#include <vector>

#include "lab/sim/world.h"

namespace mete::sim {

struct Weather {
  int lost_permille = 0;
  int doubled_permille = 0;
  int late_permille = 0;  // by up to `late_max`, past others
  Duration late_max;
};

class Network {
 public:
  // Half of the round trip is each way.
  Network(World& world, Duration round_trip) : world_(world), round_trip_(round_trip) {}

  void to_store(std::size_t node, const Action& arrive) { send(link(node).up, arrive); }
  void to_node(std::size_t node, const Action& arrive) { send(link(node).down, arrive); }

  struct Link {
    bool up = true;    // to the store
    bool down = true;  // from the store
  };
  Link& link(std::size_t node) {
    if (node >= links_.size()) links_.resize(node + 1);
    return links_[node];
  }
  void set_weather(const Weather& weather) { weather_ = weather; }
  void heal();

 private:
  void send(bool is_up, const Action& arrive);

  World& world_;
  const Duration round_trip_;
  Weather weather_;
  std::vector<Link> links_;
};

}  // namespace mete::sim
