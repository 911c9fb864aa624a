#include "store/redis/client/node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/monotonic.h"
#include "base/random.h"
#include "base/try.h"
#include "store/redis/client/routing.h"
#include "wire/resp_command.h"

namespace mete::store::redis {

namespace {

// What a server answered to the first commands of a connection.
Error refusal(const net::Address& address, const std::string& text) {
  std::string message = address.to_string() + " refused: " + text;
  if (text.starts_with("NOAUTH")) message += "; put the password into the URL: redis://:password@host";
  if (text.starts_with("NOPERM")) message += "; the user needs the commands SCRIPT LOAD, EVALSHA and EVAL";
  return base::invalid(std::move(message));
}

}  // namespace

void Node::append_script_loads(std::string& output) const {
  for (const Script& script : settings_.scripts) {
    const std::string_view words[] = {"SCRIPT", "LOAD", script.text()};
    wire::append_command(output, words);
  }
}

Result<Lease> Node::borrow(const net::Deadline& deadline) {
  Lease lease{.line = nullptr, .is_shared = net::is_on_fiber()};
  Shared* shared = nullptr;
  {
    const std::lock_guard lock(mutex_);
    lease.admission = breaker_.admit(base::monotonic_now());
    if (lease.admission == Breaker::Admission::kRefused) return last_failure_;
    if (lease.is_shared) shared = &shared_[net::EventLoop::current()];
  }
  if (!lease.is_shared) lease.line = take_idle();
  if (lease.line) return lease;
  auto line = lease.is_shared ? find_shared(*shared, deadline) : connect(deadline);
  if (!line) {
    const std::lock_guard lock(mutex_);
    fail(lease.admission, line.error());
    return line.error();
  }
  lease.line = std::move(*line);
  return lease;
}

std::shared_ptr<RespPipeline> Node::take_idle() {
  std::unique_lock lock(mutex_);
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    lock.unlock();
    // Those that a restart of the server has closed are seen here, before anything is sent.
    if (base::monotonic_now() - last.since <= kIdleMax && last.line->is_quiet()) return std::move(last.line);
    --connections_;
    script_state_.doubt();
    lock.lock();
    ++lost_;
  }
  return nullptr;
}

Result<std::shared_ptr<RespPipeline>> Node::find_shared(Shared& shared, const net::Deadline& deadline) {
  forget_retired(shared);
  const auto least = std::ranges::min_element(shared.lines, {}, [](const Idle& each) { return each.line->waiting(); });
  if (least != shared.lines.end()) {
    const bool is_enough = least->line->waiting() < kCallsWorthAnother || shared.lines.size() >= kSharedConnectionsMax;
    if (is_enough || shared.is_opening) {
      least->since = base::monotonic_now();
      return least->line;
    }
  }
  if (!shared.is_opening) return open_shared(shared, deadline);
  std::unique_lock lock(mutex_);
  if (!shared.opened.wait(lock, deadline, [&] { return !shared.is_opening; }) || shared.lines.empty()) {
    return shared.failure.value_or(base::unavailable("cannot connect to " + address_.to_string() + " in time"));
  }
  return shared.lines.back().line;
}

// One connects, and others wait for that.
Result<std::shared_ptr<RespPipeline>> Node::open_shared(Shared& shared, const net::Deadline& deadline) {
  shared.is_opening = true;
  auto line = connect(deadline);
  if (line) shared.lines.push_back({*line, base::monotonic_now()});
  const std::lock_guard lock(mutex_);
  shared.failure = line ? std::nullopt : std::optional(line.error());
  shared.is_opening = false;
  shared.opened.notify_all();
  return line;
}

void Node::forget_retired(Shared& shared) {
  const std::uint64_t failures = failures_.load(std::memory_order_relaxed);
  const bool are_doubtful = std::exchange(shared.failures_seen, failures) != failures;
  const auto forgotten = std::erase_if(shared.lines, [&](const Idle& each) {
    if (each.line->is_retired() || are_doubtful) return true;
    if (each.line->waiting() > 0) return false;
    return base::monotonic_now() - each.since > kIdleMax || !each.line->is_quiet();
  });
  if (forgotten == 0) return;
  connections_ -= forgotten;
  script_state_.doubt();
  const std::lock_guard lock(mutex_);
  lost_ += forgotten;
}

void Node::give_back(Lease lease) {
  CHECK(lease.line != nullptr);
  const std::lock_guard lock(mutex_);
  breaker_.succeeded();
  if (lease.is_shared) return;
  if (idle_.size() == kIdleConnectionsMax) {
    --connections_;
    return;
  }
  idle_.push_back({std::move(lease.line), base::monotonic_now()});
}

void Node::drop(const Lease& lease, bool is_away) {
  CHECK(lease.line != nullptr);
  script_state_.doubt();
  lease.line->retire();
  const std::lock_guard lock(mutex_);
  if (!lease.is_shared) {
    --connections_;
    ++lost_;
  }
  if (!is_away && lease.admission != Breaker::Admission::kTrial) return;
  fail(lease.admission, base::unavailable(address_.to_string() + " does not answer; it is tried again in a moment"));
}

void Node::fail(Breaker::Admission admission, Error reason) {
  last_failure_ = std::move(reason);
  breaker_.failed(admission, base::monotonic_now(), base::random_number());
  connections_ -= idle_.size();
  lost_ += idle_.size();
  idle_.clear();
  failures_.fetch_add(1, std::memory_order_relaxed);
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

Result<std::shared_ptr<RespPipeline>> Node::connect(const net::Deadline& deadline) {
  auto client = TRY(connect_apart(deadline));
  TRY(prepare(client, deadline));
  ++connections_;
  const std::lock_guard lock(mutex_);
  if (lost_ > 0) {
    --lost_;
    ++reconnects_;
  }
  return std::make_shared<RespPipeline>(std::move(client));
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
      failure = reply.error();
    } else if (kind_of(*reply) != ReplyKind::kAnswer) {
      has_loaded = false;  // A server that is still loading says so again, when it is asked for more.
    } else if (reply->is_error()) {
      failure = refusal(address_, reply->text);
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
