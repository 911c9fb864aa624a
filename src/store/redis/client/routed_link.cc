#include "store/redis/client/routed_link.h"

#include <algorithm>
#include <utility>

#include "store/redis/client/exchange.h"

namespace mete::store::redis {

namespace {

std::string_view name_of(Shape shape) {
  switch (shape) {
    case Shape::kServer:
      return "server";
    case Shape::kSentinel:
      return "sentinel";
    case Shape::kCluster:
      return "cluster";
  }
  __builtin_unreachable();
}

}  // namespace

Result<void> RoutedLink::open() {
  const auto deadline = net::Deadline::in(timeout_);
  if (auto found = topology_->discover(deadline); !found) return found;
  Batch batch;
  batch.add("", {"PING"});
  Replies replies(1);
  Exchange(*topology_, batch, replies, deadline).run();
  const auto& reply = replies[0];
  if (!reply) return tl::unexpected(reply.error());
  if (!reply->is_error()) return Done{};
  return tl::unexpected(Error{ErrorCode::kInvalid, "Redis answers, but not to commands: " + reply->text});
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
    return tl::unexpected(
        Error{ErrorCode::kUnavailable, "Redis has " + std::to_string(masters.size()) + " masters by now: begin anew"});
  }
  replies.resize(batch.size());
  const auto deadline = net::Deadline::in(timeout_);
  Exchange(*topology_, batch, replies, deadline).run_on(*masters[number]);
  count_failures(replies);
  const auto failed = std::ranges::find_if(replies, [](const auto& reply) { return !reply; });
  if (failed != replies.end()) return tl::unexpected(failed->error());
  return masters.size();
}

Result<bool> RoutedLink::wait_for_message(std::string_view channel, Duration at_most) {
  auto message = listener_.wait(channel, at_most);
  if (!message) topology_->look_again(net::Deadline::in(timeout_));
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
    status.is_reachable = status.is_reachable && !node->is_away();
  }
  for (const Node* const node : topology_->nodes()) {
    status.connections += node->connections();
    status.reconnects += node->reconnects();
    status.script_reloads += node->script_reloads();
  }
  status.failures = failures_.load(std::memory_order_relaxed);
  return status;
}

}  // namespace mete::store::redis
