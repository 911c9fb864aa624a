// EscrowNode: the only node of a cluster, with a store of its own and one to share, both in memory, on clocks that the
// test sets.
//
//     EscrowNode node(start);
//     const auto store = node.open();
//     store->define(window("api").amount(10).per(1h).scope(Scope::kEscrow));
//     node.set_time(node.now() + 30s);
//
// It has no threads: while its time passes it does what they would do, as often as it makes a difference. Thread
// safety: none; that of the store is its own.
#pragma once

#include <mete/clock.h>

#include <memory>

#include "escrow/escrow_store.h"
#include "store/store.h"

namespace mete::serving {

class EscrowNode {
 public:
  explicit EscrowNode(Instant start) : clock_(start) {}

  // Another one, whose stores are empty. One at a time, and it must not be used when this object has ended.
  std::unique_ptr<store::Store> open();

  [[nodiscard]] Instant now() const { return clock_.now(); }
  // Of the store that is open. The clocks of both its stores can be set back; that by which it tells how long things
  // take never is, as on a real machine.
  void set_time(Instant at);

 private:
  void pass(Duration step);

  ManualClock clock_;
  ManualClock elapsed_{Instant::from_unix_seconds(3600)};
  escrow::EscrowStore* store_ = nullptr;  // the one that is open
};

}  // namespace mete::serving
