// Node: one server of Redis, with the connections to it that nobody uses at the moment, and its breaker.
//
// A call borrows a connection and gives it back when it has read all its replies, or drops it: a connection with a
// reply that is still to come is closed, so that it is never taken for the reply of another command. The connection
// given back last is borrowed first, so that those beyond need grow old and go.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "net/deadline.h"
#include "store/breaker.h"
#include "store/redis/client/scripts.h"
#include "store/redis/client/url.h"
#include "store/resp_client.h"

namespace mete::store::redis {

struct NodeSettings {
  Credentials credentials = {};
  std::int64_t database = 0;
  const net::TlsClient* tls = nullptr;   // null: without TLS
  std::span<const Script> scripts = {};  // that the node is to have; they outlive it
};

// A connection for the time of a call.
struct Lease {
  std::unique_ptr<RespClient> client;
  Breaker::Admission admission = Breaker::Admission::kRefused;
};

class Node {
 public:
  static constexpr std::size_t kIdleConnectionsMax = 64;
  static constexpr Duration kIdleMax = std::chrono::minutes(1);

  Node(net::Address address, NodeSettings settings) : address_(std::move(address)), settings_(std::move(settings)) {}
  ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // A connection that was idle, or a new one. While the breaker is open: kUnavailable, at once.
  Result<Lease> borrow(const net::Deadline& deadline);
  void give_back(Lease lease);
  // `is_away`: the node did not answer in time.
  void drop(Lease lease, bool is_away);

  // A connection that is the caller's, and does not count here.
  Result<RespClient> connect_apart(const net::Deadline& deadline) const;

  [[nodiscard]] const net::Address& address() const { return address_; }
  [[nodiscard]] ScriptState& script_state() { return script_state_; }
  [[nodiscard]] std::size_t script_count() const { return settings_.scripts.size(); }
  // SCRIPT LOAD of each script.
  void append_script_loads(std::string& output) const;
  // For the status of the link.
  [[nodiscard]] bool is_away() const;
  [[nodiscard]] std::size_t connections() const { return connections_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t reconnects() const { return reconnects_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t script_reloads() const { return script_reloads_.load(std::memory_order_relaxed); }
  void count_script_reload() { script_reloads_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Idle {
    std::unique_ptr<RespClient> client;
    Instant since;
  };

  // The next one that is still good, or null.
  [[nodiscard]] std::unique_ptr<RespClient> take_idle();
  Result<std::unique_ptr<RespClient>> connect(const net::Deadline& deadline);
  Result<void> prepare(RespClient& client, const net::Deadline& deadline);
  // With mutex_ locked.
  void fail(Breaker::Admission admission, Error reason);

  const net::Address address_;
  const NodeSettings settings_;
  ScriptState script_state_;
  std::atomic<std::size_t> connections_ = 0;
  std::atomic<std::uint64_t> reconnects_ = 0;
  std::atomic<std::uint64_t> script_reloads_ = 0;
  mutable std::mutex mutex_;
  Breaker breaker_;          // under mutex_
  std::vector<Idle> idle_;   // under mutex_; the last was used last
  std::uint64_t lost_ = 0;   // under mutex_: connections that nothing has replaced yet
  Error last_failure_ = {};  // under mutex_: why the breaker is open
};

// NodeSet: the nodes that were ever heard of, by their address. They stay where they are until the set goes.
//
// Thread safety: every call from any thread.
class NodeSet {
 public:
  // A Cluster has a thousand nodes at most; and some of them get other addresses over the years.
  static constexpr std::size_t kNodesMax = 10'000;

  explicit NodeSet(NodeSettings settings) : settings_(std::move(settings)) {}

  // Null if there are too many.
  Node* at(const net::Address& address);
  [[nodiscard]] std::vector<Node*> all() const;

 private:
  const NodeSettings settings_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Node>> nodes_;  // in the order in which they were heard of
};

}  // namespace mete::store::redis
