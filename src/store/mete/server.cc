#include "store/mete/server.h"

#include <algorithm>

#include "base/check.h"
#include "base/errors.h"
#include "store/mete/replies.h"

namespace mete::store::servers {

void Server::run(Call& call) {
  CHECK(call.size() > 0);
  const auto deadline = net::Deadline::in(timeout_);
  const bool is_lost = !attempt(call, deadline);
  if (is_lost && call.is_repeatable() && !deadline.is_over()) {
    call.forget_replies();
    attempt(call, deadline);
  }
  CHECK(call.is_answered());
  const auto failed = std::ranges::count_if(call.replies(), [](const Result<wire::RespValue>& reply) {
    return !reply && reply.error().code == ErrorCode::kUnavailable;
  });
  if (failed > 0) failures_.fetch_add(static_cast<std::uint64_t>(failed), std::memory_order_relaxed);
}

bool Server::attempt(Call& call, const net::Deadline& deadline) {
  auto lease = node_.lines().borrow(deadline);
  if (!lease) {
    call.fail_rest(lease.error());
    return true;
  }
  const auto turn = lease->line->send(call.bytes(), call.size(), deadline);
  while (!call.is_answered()) {
    auto reply = turn ? (*turn)->next(deadline) : Result<wire::RespValue>(turn.error());
    if (!reply) {
      call.fail_rest(base::unavailable(reply.error().message));
      node_.lines().drop(*lease, deadline.is_over());
      return false;
    }
    if (reply->is_error()) {
      call.answer(error_of(reply->text, address()));
    } else {
      call.answer(std::move(reply));
    }
  }
  node_.lines().give_back(std::move(*lease));
  return true;
}

}  // namespace mete::store::servers
