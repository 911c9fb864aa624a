#include "cli/top/cluster_frame.h"

#include <algorithm>

#include "cli/frame/text.h"
#include "cli/top/rate.h"

namespace mete::cli {

namespace {

constexpr std::int64_t kWhole = 1'000;  // permille

// "99.5%"
std::string percent_text(std::int64_t permille) {
  return std::to_string(permille / 10) + "." + std::to_string(permille % 10) + "%";
}

std::string count_text(std::size_t count) { return number_text(static_cast<std::int64_t>(count)); }

}  // namespace

ClusterRates cluster_rates(const ClusterReading& before, const ClusterReading& after, std::uint64_t elapsed_ns) {
  ClusterRates rates{.draws = rate(before.draws, after.draws, elapsed_ns)};
  const std::int64_t decisions = growth(before.decisions, after.decisions);
  if (decisions == 0) return rates;
  const std::int64_t local = growth(before.local_decisions, after.local_decisions);
  const base::Uint128 scaled = base::Uint128{static_cast<std::uint64_t>(local)} * kWhole;
  // The two counts are not read at one moment.
  rates.local_permille = std::min(kWhole, static_cast<std::int64_t>(scaled / static_cast<std::uint64_t>(decisions)));
  return rates;
}

std::string cluster_trouble(const ClusterReading& reading) {
  if (!reading.halted.empty()) return "NOTHING IS DRAWN ANY MORE: " + escaped(reading.halted);
  if (reading.state == "unreachable") return "SHARED STORE UNREACHABLE: what is held is spent, then limits are denied";
  return {};
}

std::vector<std::string> cluster_parts(const ClusterReading& reading, const std::optional<ClusterRates>& rates) {
  const bool has_hit_rate = rates && rates->local_permille;
  return {"node " + printable(reading.node) + " of " + count_text(reading.peers.size() + 1),
          "linked " + count_text(reading.linked()) + " of " + count_text(reading.peers.size()),
          "shares " + number_text(reading.shares),
          "held " + number_text(reading.held),
          "outstanding " + number_text(reading.outstanding),
          "stranded " + number_text(reading.stranded),
          "draws " + (rates ? number_text(rates->draws) + "/s" : "-"),
          "local " + (has_hit_rate ? percent_text(*rates->local_permille) : "-")};
}

void write_cluster(const ClusterReading& reading, const ClusterRates& rates, wire::JsonWriter& writer) {
  writer.name("cluster").begin_object().member("node", reading.node).member("state", reading.state);
  writer.member("halted", reading.halted).member("shares", reading.shares).member("held", reading.held);
  writer.member("outstanding", reading.outstanding).member("stranded", reading.stranded);
  writer.member("draws_per_s", rates.draws);
  // Without decisions there is no such part of them.
  if (rates.local_permille) writer.member("local_permille", *rates.local_permille);
  writer.name("peers").begin_array();
  for (const PeerReading& peer : reading.peers) {
    writer.begin_object().member("name", peer.name).member("address", peer.address);
    writer.member("linked", peer.is_linked);
    if (peer.is_linked) writer.member("lag", peer.lag);
    writer.end_object();
  }
  writer.end_array().end_object();
}

}  // namespace mete::cli
