// Topology: which nodes there are, and which of them a command goes to: the seam between the shapes of a Redis.
//
// Nodes live as long as the link, so that nobody has to count who uses them: one that left the Cluster costs some
// hundred bytes. Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/monotonic.h"
#include "net/deadline.h"
#include "store/redis/client/node.h"
#include "store/redis/client/url.h"

namespace mete::store::redis {

class Topology {
 public:
  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  virtual ~Topology() = default;

  [[nodiscard]] virtual Shape shape() const = 0;
  // Finds out, when the link is opened. The error says what to do.
  virtual Result<void> discover(const net::Deadline& deadline) = 0;
  // Something is not as it was believed: finds out anew, unless somebody does that now or has just done it.
  virtual void look_again(const net::Deadline& deadline) = 0;

  // Where commands of the slot go; Batch::kAnySlot: any master. Null if nobody is known.
  [[nodiscard]] virtual Node* node_for(std::uint16_t slot) = 0;
  // The node that a MOVED or ASK names; null if there can be no such.
  [[nodiscard]] virtual Node* node_at(const net::Address& address) = 0;
  // A node said that this one has the slot now.
  virtual void moved(std::uint16_t slot, Node& node) = 0;

  // In an order that stays while the topology does.
  [[nodiscard]] virtual std::vector<Node*> masters() = 0;
  // Whoever was ever connected to, for the status.
  [[nodiscard]] virtual std::vector<Node*> nodes() = 0;
};

// LookGate: lets one thread at a time find out how things stand, and nobody right after it.
//
// Thread safety: every call from any thread.
class LookGate {
 public:
  static constexpr Duration kPauseMin = std::chrono::milliseconds(50);

  // Whether the caller is to look: it must say leave() then.
  [[nodiscard]] bool enter() {
    if (base::monotonic_ns() < next_ns_.load(std::memory_order_relaxed)) return false;
    return !is_taken_.exchange(true, std::memory_order_acquire);
  }
  void leave() {
    next_ns_.store(base::monotonic_ns() + static_cast<std::uint64_t>(kPauseMin.ns()), std::memory_order_relaxed);
    is_taken_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> is_taken_ = false;
  std::atomic<std::uint64_t> next_ns_ = 0;
};

}  // namespace mete::store::redis
