#include "store/mete/server.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "store/mete/replies.h"

namespace mete::store::servers {

void Server::run(Call& call) {
  CHECK(call.size() > 0);
  combiner_.join(call, [this](std::span<Call* const> calls) {
    exchange(calls);
    return true;
  });
  CHECK(call.is_answered());
  const auto failed = std::ranges::count_if(call.replies(), [](const Result<wire::RespValue>& reply) {
    return !reply && reply.error().code == ErrorCode::kUnavailable;
  });
  if (failed > 0) failures_.fetch_add(static_cast<std::uint64_t>(failed), std::memory_order_relaxed);
}

void Server::exchange(std::span<Call* const> calls) {
  const auto deadline = net::Deadline::in(timeout_);
  std::vector<Call*> lost = attempt(calls, deadline);
  std::erase_if(lost, [](const Call* call) { return call->repeat() == Call::Repeat::kNever; });
  if (lost.empty() || deadline.is_over()) return;
  for (Call* call : lost) call->forget_replies();
  attempt(lost, deadline);
}

std::vector<Call*> Server::attempt(std::span<Call* const> calls, const net::Deadline& deadline) {
  auto lease = node_.borrow(deadline);
  if (!lease) {
    for (Call* call : calls) call->fail_rest(lease.error());
    return {};
  }
  std::string joined;
  if (calls.size() > 1) {
    for (const Call* call : calls) joined += call->bytes();
  }
  auto failure = lease->client->send(calls.size() > 1 ? joined : calls[0]->bytes(), deadline);
  std::vector<Call*> lost;
  for (Call* call : calls) {
    while (failure && !call->is_answered()) {
      auto reply = lease->client->receive(deadline);
      if (!reply) {
        failure = tl::make_unexpected(reply.error());
      } else if (reply->is_error()) {
        call->answer(tl::make_unexpected(error_of(reply->text, address())));
      } else {
        call->answer(std::move(reply));
      }
    }
    if (call->is_answered()) continue;
    call->fail_rest({ErrorCode::kUnavailable, failure.error().message});
    lost.push_back(call);
  }
  if (lost.empty()) {
    node_.give_back(std::move(*lease));
  } else {
    node_.drop(std::move(*lease), deadline.is_over());
  }
  return lost;
}

}  // namespace mete::store::servers
