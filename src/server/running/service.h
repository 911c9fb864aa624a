// Service: what all of a server's connections share. Its parts are declared here, not defined: most users need one or
// two of them, and include those.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "escrow/others/others.h"
#include "escrow/status.h"
#include "net/buffer_budget.h"
#include "server/configuration/config.h"
#include "server/doors/doorkeeper.h"
#include "server/doors/turn.h"
#include "server/observation/server_log.h"
#include "server/observation/slow_log.h"
#include "server/running/clients.h"
#include "server/running/places.h"
#include "wire/resp_request.h"

namespace mete::escrow {
struct ClusterStatus;
struct CounterMessage;
struct Retired;
struct Writer;
}  // namespace mete::escrow
namespace mete::store {
class Store;
}
namespace mete::sync {
struct RunRecord;
class Worker;
}  // namespace mete::sync

namespace mete::server {

class Background;
class WaitQueue;
class Worker;

// What happened to reloads of the configuration.
struct ReloadCounts {
  std::atomic<std::uint64_t> succeeded{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> last_success_unix_seconds{0};
};

// What INFO tells of all that has happened.
struct Totals {
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;
  std::uint64_t commands = 0;
  std::uint64_t errors = 0;
  std::uint64_t http_requests = 0;
  std::uint64_t grpc_calls = 0;
  std::uint64_t protocol_errors = 0;
  std::uint64_t wrong_passwords = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

struct Service {
  Service(store::Store& with_store, Config with_config, std::vector<std::unique_ptr<Worker>> with_workers);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();
  // Ends the work beside the loops, and then the connections that are still open: before what their sessions use. The
  // loops do not run any more.
  void end();

  // Where the store keeps files: from here on answers wait for what they tell of to be on disk. Before the first
  // connection. `on_failure` is called at most once, from any thread: from then on nothing reaches the disk.
  void watch_persistence(std::function<void(const Error&)> on_failure);

  // For whoever sends requests here, by any door. None: the server is ready for them.
  [[nodiscard]] std::optional<std::string> why_not_ready() const;
  // None: this server is no node of a cluster.
  [[nodiscard]] std::optional<escrow::ClusterStatus> read_cluster() const;

  store::Store& store;
  std::vector<std::unique_ptr<Worker>> workers;
  Doorkeeper doorkeeper;
  Clients clients;
  SlowLog slow_log;
  ReloadCounts reloads;
  ReloadCounts rule_reloads;  // of the rules for Envoy
  SecurityLog security;
  net::BufferBudget buffers;

  // The settings that are in effect; CONFIG SET and a reload replace them.
  std::mutex config_mutex;
  Config config;

  // Where INFO counts from since CONFIG RESETSTAT. What is counted for /metrics only ever grows.
  std::mutex totals_mutex;
  Totals totals_before;

  std::atomic<std::int64_t> slow_threshold_ns{0};
  Duration turn = kTurn;  // tests that count on one have a longer one
  wire::RequestLimits request_limits;
  std::size_t pipeline_max = 0;
  std::uint64_t started_at_ns = 0;  // the monotonic clock
  std::uint64_t started_unix_seconds = 0;
  std::string run_id;
  std::string config_file;
  std::string store_name;
  int resp_port = 0;
  bool is_store_elsewhere = false;  // all of it: then no command is slow on this machine
  std::array<Places, 3> places;     // of RESP, HTTP and gRPC
  std::atomic<std::size_t> connections_open{0};
  std::atomic<std::size_t> connections_max{0};
  std::atomic<std::uint64_t> connections_accepted{0};
  std::atomic<std::uint64_t> connections_refused{0};
  std::atomic<std::uint64_t> strangers_evicted{0};
  std::atomic<bool> is_ready{false};
  std::atomic<bool> is_failure_told{false};
  std::function<escrow::ClusterStatus()> cluster_status;  // of a node; from any thread
  // Of a node, what another one brings; from any thread.
  std::function<Result<escrow::Writer>(const escrow::CounterMessage&)> merge_counters;
  // Of a node, for another one: what it has of some meters.
  std::function<Result<std::vector<escrow::NodeShare>>(escrow::ClusterNumber, const escrow::ShareQuestion&)>
      tell_shares;
  std::function<Result<escrow::Retired>(std::string_view)> retire_node;
  std::function<void()> shut_down;                          // from any thread
  std::function<void()> apply_config;                       // makes `config` count; with config_mutex held
  std::function<void(const sync::RunRecord&)> on_sync_end;  // from the worker's thread; set before the first plan is

  // These have threads of their own or tasks on a loop, which use all of the above: so they end first.
  struct Working;
  const std::unique_ptr<Working> working;
  WaitQueue& waits;
  Background& background;
  sync::Worker& syncs;

 private:
  void cut_off(const net::BufferBudget::Victim& victim);
  void note_sync(const sync::RunRecord& record);
};

}  // namespace mete::server
