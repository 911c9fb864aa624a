#include "cli/top/reading.h"

#include <algorithm>

#include "base/monotonic.h"
#include "base/try.h"
#include "cli/client/client.h"
#include "cli/client/replies.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

std::int64_t number(std::string_view text) { return wire::parse_integer(text).value_or(0); }

// Lines "name:value" of INFO, and the members that they set.
template <class Owner, class Value>
struct InfoLine {
  std::string_view name;
  Value Owner::*member;
};
template <class Owner>
using InfoNumber = InfoLine<Owner, std::int64_t>;
template <class Owner>
using InfoText = InfoLine<Owner, std::string>;

constexpr InfoNumber<Reading> kServerNumbers[] = {{"uptime_in_seconds", &Reading::uptime_seconds},
                                                  {"connected_clients", &Reading::connections},
                                                  {"meters", &Reading::meters},
                                                  {"holds_open", &Reading::open_holds},
                                                  {"used_memory_rss", &Reading::memory_bytes}};
constexpr InfoNumber<Durability> kDurabilityNumbers[] = {{"aof_enabled", &Durability::is_durable},
                                                         {"journal_bytes", &Durability::journal_bytes},
                                                         {"journal_last_sync_us", &Durability::last_sync_us},
                                                         {"rdb_bgsave_in_progress", &Durability::is_saving},
                                                         {"saving_progress", &Durability::saving_percent}};
constexpr InfoText<Durability> kDurabilityTexts[] = {{"journal_failure", &Durability::failure},
                                                     {"snapshot_failure", &Durability::snapshot_failure}};
constexpr InfoNumber<ClusterReading> kClusterNumbers[] = {{"shares", &ClusterReading::shares},
                                                          {"shares_usable", &ClusterReading::held},
                                                          {"shares_outstanding", &ClusterReading::outstanding},
                                                          {"units_stranded", &ClusterReading::stranded},
                                                          {"draws", &ClusterReading::draws},
                                                          {"escrow_decisions", &ClusterReading::decisions},
                                                          {"escrow_decisions_local", &ClusterReading::local_decisions}};
constexpr InfoText<ClusterReading> kClusterTexts[] = {{"node", &ClusterReading::node},
                                                      {"cluster_state", &ClusterReading::state},
                                                      {"cluster_halted", &ClusterReading::halted}};

template <class Owner, std::size_t kCount>
void set_number(const InfoNumber<Owner> (&lines)[kCount], std::string_view name, std::string_view value, Owner& owner) {
  for (const auto& each : lines) {
    if (each.name == name) owner.*each.member = number(value);
  }
}

template <class Owner, std::size_t kCount>
void set_text(const InfoText<Owner> (&lines)[kCount], std::string_view name, std::string_view value, Owner& owner) {
  for (const auto& each : lines) {
    if (each.name == name) owner.*each.member = wire::unescape(value);
  }
}

// "allowed=7,denied=2,shadow_denied=0": a shadow limit's denials were allowed.
DecisionCount parse_counts(std::string_view text) {
  DecisionCount count;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::int64_t value = number(item.substr(std::min(equals + 1, item.size())));
    if (item.substr(0, equals) == "allowed") count.decisions += value;
    if (item.substr(0, equals) == "denied") count.decisions += value, count.denied = value;
    text.remove_prefix(std::min(item.size() + 1, text.size()));
  }
  return count;
}

void parse_line(std::string_view line, Reading& reading) {
  constexpr std::string_view kLimit = "limit_";
  // The name of a limit may have colons in it.
  const std::size_t colon = line.starts_with(kLimit) ? line.rfind(':') : line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = line.substr(colon + 1);
  if (name.starts_with(kLimit)) {
    reading.limits[wire::unescape(name.substr(kLimit.size()))] = parse_counts(value);
    return;
  }
  if (name == "decisions_allowed") reading.all.decisions += number(value);
  if (name == "decisions_denied") reading.all.decisions += number(value), reading.all.denied = number(value);
  set_number(kServerNumbers, name, value, reading);
  set_number(kDurabilityNumbers, name, value, reading.durability);
  set_text(kDurabilityTexts, name, value, reading.durability);
  set_number(kClusterNumbers, name, value, reading.cluster);
  set_text(kClusterTexts, name, value, reading.cluster);
}

Result<void> read_keys(const wire::RespValue& list, Reading& reading) {
  for (const wire::RespValue& each : list.elements) {
    ReplyReader reader(each);
    reading.keys.push_back({reader.text(), reader.text(), {reader.integer(), reader.integer()}});
    TRY(reader.finish());
  }
  return {};
}

Result<void> read_holds(const wire::RespValue& list, Reading& reading) {
  for (const wire::RespValue& each : list.elements) {
    ReplyReader reader(each);
    reading.holds.push_back({reader.text(), reader.text(), reader.text(), reader.integer(), reader.integer()});
    TRY(reader.finish());
  }
  return {};
}

Result<void> read_peers(Connection& server, Reading& reading) {
  if (!reading.cluster.is_node()) return {};
  const auto nodes = TRY(ask(server, {"CLUSTER", "NODES"}));
  reading.cluster.peers = TRY(parse_peers(nodes));
  return {};
}

Result<void> read_lists(Connection& server, std::size_t count, Reading& reading) {
  const auto top = ask(server, {"TOP", "COUNT", std::to_string(count)});
  // A node that cannot reach the shared store has no lists to tell, and this is when one wants to see the rest.
  if (!top && top.error().code == ErrorCode::kUnavailable && reading.cluster.is_node()) return {};
  if (!top) return top.error();
  ReplyReader reader(*top);
  while (reader.has_more()) {
    const std::string name = reader.text();
    const wire::RespValue& list = reader.any();
    TRY(name == "keys" ? read_keys(list, reading) : Result<void>());
    TRY(name == "holds" ? read_holds(list, reading) : Result<void>());
  }
  return reader.finish();
}

}  // namespace

std::size_t ClusterReading::linked() const {
  return static_cast<std::size_t>(
      std::count_if(peers.begin(), peers.end(), [](const PeerReading& peer) { return peer.is_linked; }));
}

Reading parse_info(std::string_view text) {
  Reading reading;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\r\n"), text.size());
    parse_line(text.substr(0, end), reading);
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return reading;
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
    TRY(reader.finish());
    if (!is_self) peers.push_back(std::move(peer));
  }
  return peers;
}

Result<Reading> read_server(Connection& server, std::size_t count) {
  const auto info = TRY(ask(server, {"INFO"}));
  ReplyReader whole(info);
  Reading reading = parse_info(whole.text());
  TRY(whole.finish());
  reading.at_ns = base::monotonic_ns();
  TRY(read_peers(server, reading));
  TRY(read_lists(server, count, reading));
  return reading;
}

}  // namespace mete::cli
