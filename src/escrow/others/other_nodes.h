// OtherNodes: asks the other nodes of the cluster at their RESP listeners, all of them at the same time.
//
//     STORE SHARES cluster limit gives_back key …  ──▶  held, spent, usable, returned for each key
//
// It has one thread, and a few connections to each node that it has asked. A node that does not answer in time is not
// asked again for a while: who is denied must not wait for it each time. Thread safety: every call from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "escrow/nodes/roll.h"
#include "escrow/others/others.h"
#include "net/event_loop.h"
#include "net/fiber.h"

namespace mete::escrow {

class OtherNodes final : public Others {
 public:
  // Two round trips between distant places: one to the node, and one from there to the shared store.
  static constexpr Duration kAnswerWithin = std::chrono::milliseconds(300);
  static constexpr Duration kSilentFor = std::chrono::seconds(1);
  // To each node: what comes while all of them are in use is not asked.
  static constexpr std::size_t kConnectionsMax = 16;

  struct Parts {
    ClusterNumber cluster = 0;
    std::shared_ptr<const PeerCredentials> credentials = std::make_shared<const PeerCredentials>();
  };
  explicit OtherNodes(Parts parts);
  // Waits for what is under way, for kAnswerWithin at most.
  ~OtherNodes() override;

  void ask(ShareQuestion question, Done done) override;
  void set_peers(std::vector<PeerAddress> peers) override;
  void set_credentials(std::shared_ptr<const PeerCredentials> credentials) override;

 private:
  struct Link;
  struct Round;

  // These are on the thread.
  void begin(const std::shared_ptr<Round>& round);
  Result<void> ask_one(Link& link, Round& round);
  Result<PeerConnection> connect(Link& link, const net::Deadline& deadline);
  void finish();

  const ClusterNumber cluster_;
  std::atomic<bool> is_stopping_{false};
  // Of the thread:
  std::shared_ptr<const PeerCredentials> credentials_;
  std::vector<std::shared_ptr<Link>> links_;
  net::EventLoop loop_;
  net::Fibers fibers_{loop_};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mete::escrow
