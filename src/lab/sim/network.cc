#include "lab/sim/network.h"

#include <utility>

namespace mete::sim {

void Network::heal() {
  weather_ = {};
  for (Link& link : links_) link = {};
}

void Network::send(bool is_up, const Action& arrive) {
  Random& random = world_.random;
  if (!is_up || random.chance(weather_.lost_permille)) return;
  const int copies = random.chance(weather_.doubled_permille) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const std::int64_t half_ns = round_trip_.ns() / 2;
    Duration delay = Duration::from_ns(random.between(half_ns * 3 / 4, half_ns * 5 / 4));
    if (random.chance(weather_.late_permille)) delay = delay + random.between(Duration(), weather_.late_max);
    world_.events.after(delay, arrive);
  }
}

}  // namespace mete::sim
