// Reading: how a server is doing at one moment, from its replies to INFO, TOP and CLUSTER NODES.
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wire/resp_reply.h"

namespace mete::cli {

class Connection;

// Another node, as this one sees it.
struct PeerReading {
  std::string name = {};
  std::string address = {};
  bool is_linked = false;
  std::int64_t lag = 0;  // counters with changes that it has not acknowledged; means nothing without a link
};

// How a node and its cluster are doing.
struct ClusterReading {
  std::string node = {};    // empty: the server is no node of a cluster
  std::string state = {};   // of the shared store: "ok", "unreachable"; "halted": nothing is drawn
  std::string halted = {};  // why
  std::int64_t shares = 0;
  std::int64_t held = 0;         // units that it can spend without asking
  std::int64_t outstanding = 0;  // units charged in the shared store and not spent
  std::int64_t stranded = 0;     // units that it had before it was killed
  std::int64_t draws = 0;        // since the server started, as the following
  std::int64_t decisions = 0;
  std::int64_t local_decisions = 0;     // those that waited for nobody
  std::vector<PeerReading> peers = {};  // by name

  [[nodiscard]] bool is_node() const { return !node.empty(); }
  [[nodiscard]] std::size_t linked() const;
};

struct DecisionCount {
  std::int64_t decisions = 0;
  std::int64_t denied = 0;
};

struct BusyKey {
  std::string limit;
  std::string key;
  DecisionCount per_second;  // as the server estimates it
};

struct OldHold {
  std::string id;
  std::string limit;  // of its first charge
  std::string key;
  std::int64_t age_ms = 0;
  std::int64_t expires_in_ms = 0;
};

// What a server tells about its files.
struct Durability {
  std::int64_t is_durable = 0;  // 0: it has none, and keeps everything in memory
  std::int64_t journal_bytes = 0;
  std::int64_t last_sync_us = 0;
  std::int64_t is_saving = 0;
  std::int64_t saving_percent = 0;
  std::string failure;           // empty: none
  std::string snapshot_failure;  // of the last one
};

struct Reading {
  std::uint64_t at_ns = 0;  // by the monotonic clock of this machine
  std::int64_t uptime_seconds = 0;
  std::int64_t connections = 0;
  std::int64_t meters = 0;
  std::int64_t open_holds = 0;
  std::int64_t memory_bytes = 0;
  Durability durability;
  ClusterReading cluster;
  DecisionCount all;  // since the server started
  std::map<std::string, DecisionCount> limits;
  std::vector<BusyKey> keys;   // the busiest first
  std::vector<OldHold> holds;  // the oldest first
};

// At most `count` keys and holds.
Result<Reading> read_server(Connection& server, std::size_t count);

// Without keys, holds and peers, which INFO does not tell. Lines that are not known are passed over.
Reading parse_info(std::string_view text);

// The reply to CLUSTER NODES, without the node that was asked.
Result<std::vector<PeerReading>> parse_peers(const wire::RespValue& reply);

}  // namespace mete::cli
