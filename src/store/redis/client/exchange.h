// Exchange: one batch on its way, until each command has its reply, has failed, or the time is over.
//
// It goes in rounds. In each, the commands that are still open are sent to their nodes, to all of them before the first
// reply is read; what a node has not carried out, and says so, is open in the next round: elsewhere, or a little later.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "net/deadline.h"
#include "store/redis/client/node_call.h"
#include "store/redis/client/topology.h"

namespace mete::store::redis {

class Exchange {
 public:
  static constexpr std::size_t kRoundsMax = 1000;  // the deadline comes before that, but for a ring of redirections
  static constexpr Duration kPauseMin = std::chrono::milliseconds(1);
  static constexpr Duration kPauseMax = std::chrono::milliseconds(20);

  // What they refer to outlives the exchange. `replies` is as long as the batch.
  Exchange(Topology& topology, const Batch& batch, Replies& replies, const net::Deadline& deadline)
      : topology_(topology), batch_(batch), replies_(replies), deadline_(deadline) {}

  void run();
  // All commands to this node, whatever their slots.
  void run_on(Node& node);

 private:
  struct Open {
    std::uint32_t command = 0;
    Node* node = nullptr;  // where it was sent to by another node, if it was
    bool is_asking = false;
  };

  void go();
  void round();
  NodeCall& call_to(Node& node);
  void judge(const NodeCall& call);
  void redirect(std::uint32_t command, Node& said_by);
  void give_up_node(const NodeCall& call, const Error& error);
  void fail(std::uint32_t command, std::string reason);
  // False if there is no time for it.
  bool pause();

  Topology& topology_;
  const Batch& batch_;
  Replies& replies_;
  const net::Deadline& deadline_;
  Node* only_ = nullptr;
  std::vector<Open> open_;
  std::vector<NodeCall> calls_;  // of the present round
  bool needs_pause_ = false;
  Duration pause_ = kPauseMin;
};

}  // namespace mete::store::redis
