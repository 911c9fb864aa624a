// The part of a frame that is about a cluster: what `mete top` shows of a node besides what every server has.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/cluster_reading.h"
#include "wire/json.h"

namespace mete::cli {

struct ClusterRates {
  std::int64_t draws = 0;  // a second
  // Of the decisions between two readings, how many in a thousand waited for nobody, rounded down; none without any.
  std::optional<std::int64_t> local_permille = {};
};

ClusterRates cluster_rates(const ClusterReading& before, const ClusterReading& after, std::uint64_t elapsed_ns);

// What keeps the node from drawing, if something does; else empty.
std::string cluster_trouble(const ClusterReading& reading);
// "node n1", "linked 2 of 2", …: one after the other they are the lines about the cluster. Without rates there was no
// reading before.
std::vector<std::string> cluster_parts(const ClusterReading& reading, const std::optional<ClusterRates>& rates);

// As the member "cluster".
void write_cluster(const ClusterReading& reading, const ClusterRates& rates, wire::JsonWriter& writer);

}  // namespace mete::cli
