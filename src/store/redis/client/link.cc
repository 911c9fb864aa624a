#include "store/redis/client/link.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/errors.h"
#include "base/names.h"
#include "base/try.h"
#include "store/redis/client/cluster_topology.h"
#include "store/redis/client/exchange.h"
#include "store/redis/client/listener.h"
#include "store/redis/client/sentinel_topology.h"

namespace mete::store::redis {

namespace {

// ServerTopology: one server, for everything.
class ServerTopology final : public Topology {
 public:
  ServerTopology(const Url& url, const net::TlsClient* tls, std::span<const Script> scripts)
      : node_(url.hosts.front(),
              {.credentials = url.credentials, .database = url.database, .tls = tls, .scripts = scripts}) {}

  [[nodiscard]] Shape shape() const override { return Shape::kServer; }
  Result<void> discover(const net::Deadline& deadline) override {
    return ask(node_, {"PING"}, deadline).map([](const wire::RespValue&) {});
  }
  void look_again(const net::Deadline& /*deadline*/) override {}

  [[nodiscard]] Node* node_for(std::uint16_t /*slot*/) override { return &node_; }
  [[nodiscard]] Node* node_at(const net::Address& /*address*/) override { return nullptr; }
  void moved(std::uint16_t /*slot*/, Node& /*node*/) override {}

  [[nodiscard]] std::vector<Node*> masters() override { return {&node_}; }
  [[nodiscard]] std::vector<Node*> nodes() override { return {&node_}; }

 private:
  Node node_;
};

std::unique_ptr<Topology> make_topology(const Url& url, const net::TlsClient* tls, std::span<const Script> scripts) {
  switch (url.shape) {
    case Shape::kServer:
      return std::make_unique<ServerTopology>(url, tls, scripts);
    case Shape::kSentinel:
      return std::make_unique<SentinelTopology>(url, tls, scripts);
    case Shape::kCluster:
      return std::make_unique<ClusterTopology>(url, tls, scripts);
  }
  __builtin_unreachable();
}

std::string_view name_of(Shape shape) { return base::name_of("server|sentinel|cluster", shape); }

// RoutedLink: the Link over any Topology.
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

Result<void> RoutedLink::open() {
  const auto deadline = net::Deadline::in(timeout_);
  TRY(topology_->discover(deadline));
  Batch batch;
  batch.add("", {"PING"});
  Replies replies(1);
  Exchange(*topology_, batch, replies, deadline).run();
  const auto& reply = replies[0];
  if (!reply) return reply.error();
  if (!reply->is_error()) return {};
  return base::invalid("Redis answers, but not to commands: " + reply->text);
}

void RoutedLink::run(Batch& batch, Replies& replies) {
  replies.resize(batch.size());
  if (batch.empty()) return;
  const auto deadline = net::Deadline::in(timeout_);
  Exchange(*topology_, batch, replies, deadline).run();
  count_failures(replies);
}

Result<std::size_t> RoutedLink::run_on_node(std::size_t number, Batch& batch, Replies& replies) {
  const std::vector<Node*> masters = topology_->masters();
  replies.clear();
  if (number >= masters.size()) {
    return base::unavailable("Redis has " + std::to_string(masters.size()) + " masters by now: begin anew");
  }
  replies.resize(batch.size());
  const auto deadline = net::Deadline::in(timeout_);
  Exchange(*topology_, batch, replies, deadline).run_on(*masters[number]);
  count_failures(replies);
  const auto failed = std::ranges::find_if(replies, [](const auto& reply) { return !reply; });
  if (failed != replies.end()) return failed->error();
  return masters.size();
}

Result<bool> RoutedLink::wait_for_message(std::string_view channel, Duration at_most) {
  const auto deadline = net::Deadline::in(at_most);
  auto message = listener_.wait(channel, at_most);
  if (message.has_value()) return message;
  topology_->look_again(net::Deadline::in(timeout_));
  listener_.pause(deadline);  // a server that is away is not asked more often than one that is there
  return message;
}

void RoutedLink::count_failures(const Replies& replies) {
  const auto failed = std::ranges::count_if(replies, [](const auto& reply) { return !reply; });
  if (failed > 0) failures_.fetch_add(static_cast<std::uint64_t>(failed), std::memory_order_relaxed);
}

RemoteStatus RoutedLink::status() const {
  RemoteStatus status;
  status.shape = name_of(topology_->shape());
  for (const Node* const node : topology_->masters()) {
    status.nodes.push_back(node->address().to_string());
    status.is_reachable = status.is_reachable && !node->lines().is_away();
  }
  for (const Node* const node : topology_->nodes()) {
    node->lines().add_to(status);
    status.script_reloads += node->script_reloads();
  }
  status.failures = failures_.load(std::memory_order_relaxed);
  return status;
}

}  // namespace

Result<std::unique_ptr<Link>> open_link(std::string_view url, std::span<const Script> scripts) {
  const auto parsed = TRY(parse_url(url));
  auto tls = TRY(load_tls(parsed));
  auto topology = make_topology(parsed, tls.get(), scripts);
  auto link = std::make_unique<RoutedLink>(std::move(tls), std::move(topology), parsed.timeout);
  TRY(link->open());
  return link;
}

}  // namespace mete::store::redis
