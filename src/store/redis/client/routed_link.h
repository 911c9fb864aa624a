// RoutedLink: the Link over any Topology.
#pragma once

#include <memory>

#include "store/redis/client/link.h"
#include "store/redis/client/listener.h"
#include "store/redis/client/topology.h"

namespace mete::store::redis {

class RoutedLink final : public Link {
 public:
  // `tls`: null without TLS.
  RoutedLink(std::unique_ptr<net::TlsClient> tls, std::unique_ptr<Topology> topology, Duration timeout)
      : tls_(std::move(tls)),
        topology_(std::move(topology)),
        timeout_(timeout),
        listener_([this] { return topology_->node_for(Batch::kAnySlot); }, timeout) {}

  // Connects, and checks that commands are answered.
  Result<void> open();

  void run(Batch& batch, Replies& replies) override;
  [[nodiscard]] bool is_cluster() const override { return topology_->shape() == Shape::kCluster; }
  Result<std::size_t> run_on_node(std::size_t number, Batch& batch, Replies& replies) override;
  Result<bool> wait_for_message(std::string_view channel, Duration at_most) override;
  void stop_listening() override { listener_.stop(); }
  [[nodiscard]] RemoteStatus status() const override;

 private:
  void count_failures(const Replies& replies);

  std::unique_ptr<net::TlsClient> tls_;  // the nodes refer to it
  std::unique_ptr<Topology> topology_;
  const Duration timeout_;
  Listener listener_;
  std::atomic<std::uint64_t> failures_ = 0;
};

}  // namespace mete::store::redis
