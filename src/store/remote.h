// RemoteStatus: what an operator wants to see of a store that lies elsewhere.
#pragma once

#include <mete/time.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mete::store {

struct RemoteStatus {
  std::string shape;                 // "server", "sentinel", "cluster", "postgres", "etcd" or "mete"
  std::vector<std::string> nodes;    // servers in use, as host:port
  std::size_t connections = 0;       // open now
  std::size_t connections_max = 0;   // 0: as many as there are callers
  std::uint64_t reconnects = 0;      // since the start
  std::uint64_t failures = 0;        // commands that ended in kUnavailable
  std::uint64_t script_reloads = 0;  // since the server had lost its scripts
  bool is_reachable = true;          // none of the nodes is known to be away
  // Where somebody watches the store (store/away/watched_store.h).
  Duration away_for = {};     // of this outage; zero: there is none
  std::uint64_t outages = 0;  // since the start, as the next two
  std::uint64_t refused = 0;  // calls that were refused
  std::uint64_t losses = 0;   // times that the store had lost its state
  std::string loss = {};      // why takes are refused since the last of these; empty: they are not
};

}  // namespace mete::store
