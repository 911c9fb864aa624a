// Readings: the numbers that INFO, CLUSTER and /metrics tell, gathered from all event loops at one moment; and their
// texts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "escrow/status.h"
#include "server/observation/metrics.h"
#include "store/store.h"
#include "wire/named_value.h"

namespace mete::server {

struct Service;

struct Readings {
  store::StoreStatistics store;
  store::StoreStatistics::Count limits;                 // of clients; none: the store does not say
  std::optional<store::PersistenceStatus> persistence;  // none: the store keeps no files
  std::optional<store::RemoteStatus> remote;            // none: the state is in this process
  store::ClockStatus clock;
  std::optional<escrow::ClusterStatus> cluster;     // none: this server is no node
  std::map<std::string, DecisionCounts> decisions;  // by limit, of those that there are
  DecisionCounts all_decisions;                     // of those that have been dropped, too
  std::uint64_t commands = 0;
  std::uint64_t command_errors = 0;
  std::uint64_t http_requests = 0;
  std::uint64_t grpc_calls = 0;
  std::uint64_t grpc_late = 0;
  std::array<std::uint64_t, 17> grpc_ends{};
  std::uint64_t protocol_errors = 0;
  std::array<std::uint64_t, LatencyHistogram::kBuckets + 1> latency_counts{};
  std::uint64_t latency_sum_ns = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t connections = 0;
  std::uint64_t uptime_seconds = 0;
  std::uint64_t resident_bytes = 0;
  double cpu_user_seconds = 0;
  double cpu_system_seconds = 0;
};

Readings read(const Service& service);
// Before the first snapshot: when the server was started.
std::uint64_t last_save_unix_seconds(const Service& service);

// Of a snapshot that is being written; 0 where none is.
std::uint64_t saving_percent(const store::PersistenceStatus& status);

// Of all event loops together, the busiest first.
std::vector<BusyKey> busiest_keys(const Service& service, std::size_t count_max);

// INFO: "# Section" and name:value lines. `sections` empty, "all", "default" or "everything": all of them.
std::string info_text(Service& service, std::span<const std::string_view> sections);
// Lets the totals that INFO tells count from here on.
void reset_totals(Service& service);

// CLUSTER INFO, and its section of INFO: lines of name:value. None: this server is no node.
std::string cluster_text(const std::optional<escrow::ClusterStatus>& status);
wire::NamedValues describe_node(const escrow::NodeStatus& node);
// A value for such a line, which stays one line whatever its bytes are.
std::string escaped(std::string_view bytes);

// The exposition format of Prometheus, version 0.0.4.
std::string prometheus_text(const Service& service);

}  // namespace mete::server
