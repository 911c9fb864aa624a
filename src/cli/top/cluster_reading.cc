#include "cli/top/cluster_reading.h"

#include <algorithm>
#include <array>

#include "cli/client/reply_reader.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

struct ClusterNumber {
  std::string_view name;
  std::int64_t ClusterReading::*member;
};
constexpr std::array<ClusterNumber, 7> kNumbers = {{{"shares", &ClusterReading::shares},
                                                    {"shares_usable", &ClusterReading::held},
                                                    {"shares_outstanding", &ClusterReading::outstanding},
                                                    {"units_stranded", &ClusterReading::stranded},
                                                    {"draws", &ClusterReading::draws},
                                                    {"escrow_decisions", &ClusterReading::decisions},
                                                    {"escrow_decisions_local", &ClusterReading::local_decisions}}};

struct ClusterText {
  std::string_view name;
  std::string ClusterReading::*member;
};
constexpr std::array<ClusterText, 3> kTexts = {{{"node", &ClusterReading::node},
                                                {"cluster_state", &ClusterReading::state},
                                                {"cluster_halted", &ClusterReading::halted}}};

}  // namespace

std::size_t ClusterReading::linked() const {
  return static_cast<std::size_t>(
      std::count_if(peers.begin(), peers.end(), [](const PeerReading& peer) { return peer.is_linked; }));
}

void parse_cluster_line(std::string_view name, std::string_view value, ClusterReading& reading) {
  for (const ClusterNumber& each : kNumbers) {
    if (each.name == name) reading.*each.member = wire::parse_integer(value).value_or(0);
  }
  for (const ClusterText& each : kTexts) {
    if (each.name == name) reading.*each.member = wire::unescape(value);
  }
}

Result<std::vector<PeerReading>> parse_peers(const wire::RespValue& reply) {
  std::vector<PeerReading> peers;
  for (const wire::RespValue& node : reply.elements) {
    PeerReading peer;
    bool is_self = false;
    ReplyReader reader(node);
    while (reader.has_more()) {
      const std::string name = reader.text();
      const wire::RespValue& value = reader.any();
      if (name == "name") peer.name = value.text;
      if (name == "address") peer.address = value.text;
      if (name == "self") is_self = value.integer != 0;
      if (name == "linked") peer.is_linked = value.integer != 0;
      if (name == "lag") peer.lag = value.integer;
    }
    if (const auto ok = reader.finish(); !ok) return tl::unexpected(ok.error());
    if (!is_self) peers.push_back(std::move(peer));
  }
  return peers;
}

}  // namespace mete::cli
