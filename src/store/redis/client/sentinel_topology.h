// SentinelTopology: the master that Sentinels name.
//
// They are asked when the link is opened, and again when the master does not answer or says that it is none: the first
// of them whose word proves true (ROLE) decides, and is asked first the next time. A master that was replaced may go on
// taking writes for some seconds, and these are lost: so a thread listens to a Sentinel for +switch-master, too.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "net/fiber_mutex.h"
#include "store/redis/client/listener.h"
#include "store/redis/client/topology.h"

namespace mete::store::redis {

class SentinelTopology final : public Topology {
 public:
  SentinelTopology(const Url& url, const net::TlsClient* tls, std::span<const Script> scripts);
  ~SentinelTopology() override;

  [[nodiscard]] Shape shape() const override { return Shape::kSentinel; }
  Result<void> discover(const net::Deadline& deadline) override;
  void look_again(const net::Deadline& deadline) override;

  [[nodiscard]] Node* node_for(std::uint16_t /*slot*/) override { return master_.load(std::memory_order_acquire); }
  [[nodiscard]] Node* node_at(const net::Address& /*address*/) override { return nullptr; }
  void moved(std::uint16_t /*slot*/, Node& /*node*/) override {}

  [[nodiscard]] std::vector<Node*> masters() override;
  [[nodiscard]] std::vector<Node*> nodes() override;

 private:
  Result<Node*> ask_sentinel(Node& sentinel, const net::Deadline& deadline);
  [[nodiscard]] Node* trusted_sentinel() const;
  void watch();

  // A Sentinel that is gone is left for the next one after a while, and not sooner.
  static constexpr Duration kWatchPause = std::chrono::milliseconds(200);
  static constexpr Duration kWatchMax = std::chrono::seconds(10);  // without a message

  const std::string master_name_;
  const Duration timeout_;
  NodeSet sentinels_;
  NodeSet servers_;                  // masters, now and before
  net::FiberMutex discovery_mutex_;  // what was heard first must not replace what was heard later
  std::atomic<Node*> master_ = nullptr;
  std::atomic<std::size_t> trusted_ = 0;  // the Sentinel that is asked first
  LookGate gate_;
  Listener listener_;
  std::atomic<bool> is_ending_ = false;
  std::thread watcher_;  // from the first success on
};

}  // namespace mete::store::redis
