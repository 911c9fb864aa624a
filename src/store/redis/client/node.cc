#include "store/redis/client/node.h"

#include <utility>

#include "base/check.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "store/redis/client/routing.h"
#include "wire/resp_command.h"

namespace mete::store::redis {

namespace {

// What a server answered to the first commands of a connection.
Error refusal(const net::Address& address, const std::string& text) {
  std::string message = address.to_string() + " refused: " + text;
  if (text.starts_with("NOAUTH")) message += "; put the password into the URL: redis://:password@host";
  if (text.starts_with("NOPERM")) message += "; the user needs the commands SCRIPT LOAD, EVALSHA and EVAL";
  return {ErrorCode::kInvalid, std::move(message)};
}

}  // namespace

void Node::append_script_loads(std::string& output) const {
  for (const Script& script : settings_.scripts) {
    const std::string_view words[] = {"SCRIPT", "LOAD", script.text()};
    wire::append_command(output, words);
  }
}

Result<Lease> Node::borrow(const net::Deadline& deadline) {
  Lease lease;
  {
    const std::lock_guard lock(mutex_);
    lease.admission = breaker_.admit(base::monotonic_now());
    if (lease.admission == Breaker::Admission::kRefused) return tl::unexpected(last_failure_);
  }
  lease.client = take_idle();
  if (lease.client) return lease;
  auto client = connect(deadline);
  if (!client) {
    const std::lock_guard lock(mutex_);
    fail(lease.admission, client.error());
    return tl::unexpected(client.error());
  }
  lease.client = std::move(*client);
  return lease;
}

std::unique_ptr<RespClient> Node::take_idle() {
  std::unique_lock lock(mutex_);
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    lock.unlock();
    // Those that a restart of the server has closed are seen here, before anything is sent.
    if (base::monotonic_now() - last.since <= kIdleMax && last.client->socket().is_quiet())
      return std::move(last.client);
    --connections_;
    script_state_.doubt();
    lock.lock();
    ++lost_;
  }
  return nullptr;
}

void Node::give_back(Lease lease) {
  CHECK(lease.client != nullptr);
  const std::lock_guard lock(mutex_);
  breaker_.succeeded();
  if (idle_.size() == kIdleConnectionsMax) {
    --connections_;
    return;
  }
  idle_.push_back({std::move(lease.client), base::monotonic_now()});
}

void Node::drop(Lease lease, bool is_away) {
  CHECK(lease.client != nullptr);
  script_state_.doubt();
  --connections_;
  const std::lock_guard lock(mutex_);
  ++lost_;
  if (!is_away && lease.admission != Breaker::Admission::kTrial) return;
  fail(lease.admission,
       {ErrorCode::kUnavailable, address_.to_string() + " does not answer; it is tried again in a moment"});
}

void Node::fail(Breaker::Admission admission, Error reason) {
  last_failure_ = std::move(reason);
  breaker_.failed(admission, base::monotonic_now(), base::random_number());
  connections_ -= idle_.size();
  lost_ += idle_.size();
  idle_.clear();
  script_state_.doubt();
}

bool Node::is_away() const {
  const std::lock_guard lock(mutex_);
  return breaker_.is_open();
}

Result<RespClient> Node::connect_apart(const net::Deadline& deadline) const {
  return RespClient::open({.address = address_,
                           .user = settings_.credentials.user,
                           .password = settings_.credentials.password,
                           .tls = settings_.tls},
                          deadline);
}

Result<std::unique_ptr<RespClient>> Node::connect(const net::Deadline& deadline) {
  auto client = connect_apart(deadline);
  if (!client) return tl::unexpected(client.error());
  if (auto done = prepare(*client, deadline); !done) return tl::unexpected(done.error());
  ++connections_;
  const std::lock_guard lock(mutex_);
  if (lost_ > 0) {
    --lost_;
    ++reconnects_;
  }
  return std::make_unique<RespClient>(std::move(*client));
}

Result<void> Node::prepare(RespClient& client, const net::Deadline& deadline) {
  std::string bytes;
  std::size_t replies = 0;
  if (settings_.database != 0) {
    const std::string database = std::to_string(settings_.database);
    const std::string_view words[] = {"SELECT", database};
    wire::append_command(bytes, words);
    ++replies;
  }
  const bool loads =
      !settings_.scripts.empty() && !script_state_.are_loaded() && script_state_.begin(script_state_.loads());
  if (loads) {
    append_script_loads(bytes);
    replies += script_count();
  }
  auto failure = client.send(bytes, deadline);
  bool has_loaded = loads;
  for (; replies > 0 && failure; --replies) {
    const auto reply = client.receive(deadline);
    if (!reply) {
      failure = tl::unexpected(reply.error());
    } else if (kind_of(*reply) != ReplyKind::kAnswer) {
      has_loaded = false;  // A server that is still loading says so again, when it is asked for more.
    } else if (reply->is_error()) {
      failure = tl::unexpected(refusal(address_, reply->text));
    }
  }
  if (loads) script_state_.finished(failure && has_loaded);
  return failure;
}

Node* NodeSet::at(const net::Address& address) {
  const std::lock_guard lock(mutex_);
  for (const auto& node : nodes_) {
    if (node->address() == address) return node.get();
  }
  if (nodes_.size() == kNodesMax) return nullptr;
  return nodes_.emplace_back(std::make_unique<Node>(address, settings_)).get();
}

std::vector<Node*> NodeSet::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Node*> nodes;
  nodes.reserve(nodes_.size());
  for (const auto& node : nodes_) nodes.push_back(node.get());
  return nodes;
}

}  // namespace mete::store::redis
