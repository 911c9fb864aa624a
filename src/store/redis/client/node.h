// Node: one server of Redis: the connections to it, and who loads the scripts.
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
#include "store/network/lines.h"
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

class Node {
 public:
  Node(net::Address address, NodeSettings settings);

  [[nodiscard]] Lines<RespPipeline>& lines() { return lines_; }
  [[nodiscard]] const Lines<RespPipeline>& lines() const { return lines_; }
  // A connection that is the caller's, and does not count here.
  Result<RespClient> connect_apart(const net::Deadline& deadline) const;

  [[nodiscard]] const net::Address& address() const { return address_; }
  [[nodiscard]] ScriptState& script_state() { return script_state_; }
  [[nodiscard]] std::size_t script_count() const { return settings_.scripts.size(); }
  // SCRIPT LOAD of each script.
  void append_script_loads(std::string& output) const;
  [[nodiscard]] std::uint64_t script_reloads() const { return script_reloads_.load(std::memory_order_relaxed); }
  void count_script_reload() { script_reloads_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Result<void> prepare(RespClient& client, const net::Deadline& deadline);

  const net::Address address_;
  const NodeSettings settings_;
  ScriptState script_state_;
  std::atomic<std::uint64_t> script_reloads_ = 0;
  Lines<RespPipeline> lines_;
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
