#include "serving/escrow_node.h"

#include <algorithm>

#include "store/embedded/embedded_store.h"

namespace mete::serving {

using namespace std::chrono_literals;

std::unique_ptr<store::Store> EscrowNode::open() {
  escrow::EscrowParts parts;
  parts.local = std::make_unique<store::EmbeddedStore>(Options{.clock = &clock_});
  parts.shared = std::make_unique<store::EmbeddedStore>(Options{.clock = &clock_});
  parts.node = "a";
  parts.incarnation = 1;
  parts.clock = &elapsed_;
  parts.has_threads = false;
  auto store = escrow::EscrowStore::open(std::move(parts)).value();
  store_ = store.get();
  return store;
}

// What was spent is settled at once, and an idle share goes back after 100 ms to 3 s. A leap over all of that would be
// a node that slept, and whose shares are lost.
void EscrowNode::set_time(Instant at) {
  const Duration step = at - clock_.now();
  if (step <= Duration()) {
    clock_.set(at);
    return;
  }
  store_->tend();
  const Instant start = clock_.now();
  for (const Duration passed : {Duration(100ms), Duration(1s), Duration(4s), step}) {
    if (passed <= step) pass(start + passed - clock_.now());
  }
}

void EscrowNode::pass(Duration step) {
  clock_.advance(step);
  elapsed_.advance(step);
  store_->tend();
}

}  // namespace mete::serving
