// Node: one server of Redis, with the connections to it and its breaker.
//
// Calls of the fibers of one event loop share a few connections (store/network/resp_pipeline.h): as many calls as there
// are can be under way. A plain thread has a connection to itself for the time of a call; the one given back last is
// borrowed first, so that those beyond need grow old and go. A connection with a reply that is still to come, and that
// nobody will read, is closed.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/deadline.h"
#include "net/event_loop.h"
#include "net/signal.h"
#include "store/breaker.h"
#include "store/network/resp_client.h"
#include "store/network/resp_pipeline.h"
#include "store/redis/client/scripts.h"
#include "store/redis/client/url.h"

namespace mete::store::redis {

struct NodeSettings {
  Credentials credentials = {};
  std::int64_t database = 0;
  const net::TlsClient* tls = nullptr;   // null: without TLS
  std::span<const Script> scripts = {};  // that the node is to have; they outlive it
};

// A connection for the time of a call.
struct Lease {
  std::shared_ptr<RespPipeline> line;
  bool is_shared = false;
  Breaker::Admission admission = Breaker::Admission::kRefused;
};

class Node {
 public:
  static constexpr std::size_t kIdleConnectionsMax = 64;
  // Of the fibers of one loop: another connection is worth its while when so many calls wait on each of the others.
  static constexpr std::size_t kSharedConnectionsMax = 4;
  static constexpr std::size_t kCallsWorthAnother = 512;
  static constexpr Duration kIdleMax = std::chrono::minutes(1);

  Node(net::Address address, NodeSettings settings) : address_(std::move(address)), settings_(std::move(settings)) {}
  ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // A connection that may be used, or a new one. While the breaker is open: kUnavailable, at once.
  Result<Lease> borrow(const net::Deadline& deadline);
  // All replies have been read.
  void give_back(Lease lease);
  // Not all of them have. `is_away`: the node did not answer in time.
  void drop(const Lease& lease, bool is_away);

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
    std::shared_ptr<RespPipeline> line;
    Instant since;
  };
  // The connections of a loop's fibers. It is that loop's thread alone that looks at them.
  struct Shared {
    std::vector<Idle> lines;
    bool is_opening = false;
    net::Signal opened;  // or not: then `failure` says why
    std::optional<Error> failure;
    std::uint64_t failures_seen = 0;
  };

  // The next one that is still good, or null.
  [[nodiscard]] std::shared_ptr<RespPipeline> take_idle();
  Result<std::shared_ptr<RespPipeline>> find_shared(Shared& shared, const net::Deadline& deadline);
  Result<std::shared_ptr<RespPipeline>> open_shared(Shared& shared, const net::Deadline& deadline);
  void forget_retired(Shared& shared);
  Result<std::shared_ptr<RespPipeline>> connect(const net::Deadline& deadline);
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
  Breaker breaker_;                                 // under mutex_
  std::vector<Idle> idle_;                          // under mutex_; the last was used last
  std::map<const net::EventLoop*, Shared> shared_;  // under mutex_, but for its parts
  std::atomic<std::uint64_t> failures_ = 0;         // of the node: what was connected before is not trusted
  std::uint64_t lost_ = 0;                          // under mutex_: connections that nothing has replaced yet
  Error last_failure_ = {};                         // under mutex_: why the breaker is open
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
