#include "cli/top/picture.h"

#include <algorithm>

#include "base/math.h"
#include "cli/frame/table.h"
#include "cli/frame/text.h"
#include "wire/json.h"

namespace mete::cli {

namespace {

constexpr std::size_t kTitleRows = 2;  // of a table: an empty line, and its titles
constexpr std::size_t kNamesPerRow =
    3;  // a name takes at most such a part of the row, so that the numbers stay in sight
constexpr std::size_t kNameColumnsMin = 8;

// By how much a count has grown. A server that has started again counts from nothing.
std::int64_t growth(std::int64_t before, std::int64_t after) { return after >= before ? after - before : after; }

// A second, to the nearest.
std::int64_t rate(std::int64_t before, std::int64_t after, std::uint64_t elapsed_ns) {
  constexpr base::Uint128 kSecondNs = 1'000'000'000;
  const base::Uint128 scaled = static_cast<base::Uint128>(growth(before, after)) * kSecondNs;
  return static_cast<std::int64_t>((scaled + elapsed_ns / 2) / std::max<std::uint64_t>(elapsed_ns, 1));
}

constexpr std::int64_t kWhole = 1'000;  // permille

// "99.5%"
std::string percent_text(std::int64_t permille) {
  return std::to_string(permille / 10) + "." + std::to_string(permille % 10) + "%";
}

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

// What keeps the node from drawing, if something does; else empty.
std::string cluster_trouble(const ClusterReading& reading) {
  if (!reading.halted.empty()) return "NOTHING IS DRAWN: " + escaped(reading.halted);
  if (reading.state == "unreachable") return "SHARED STORE UNREACHABLE: what is held is spent, then limits are denied";
  return {};
}

// "node n1", "linked 2 of 2", …: one after the other they are the lines about the cluster. Without rates there was no
// reading before.
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

// As the member "cluster".
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

DecisionCount rates(const DecisionCount& before, const DecisionCount& after, std::uint64_t elapsed_ns) {
  return {rate(before.decisions, after.decisions, elapsed_ns), rate(before.denied, after.denied, elapsed_ns)};
}

// The parts one after the other, in as many lines as they need.
std::vector<ScreenLine> flow(const std::vector<std::string>& parts, std::size_t columns) {
  constexpr std::string_view kBetween = "  ";
  std::vector<ScreenLine> lines(1);
  for (const std::string& part : parts) {
    const bool is_first = lines.back().text.empty();
    if (!is_first && columns_of(lines.back().text) + kBetween.size() + columns_of(part) > columns) lines.emplace_back();
    if (!lines.back().text.empty()) lines.back().text += kBetween;
    lines.back().text += part;
  }
  return lines;
}

// "12.3 ms"
std::string milliseconds_text(std::int64_t us) {
  return number_text(us / 1'000) + "." + std::to_string(us % 1'000 / 100) + " ms";
}

std::string bar(std::int64_t percent) {
  constexpr std::int64_t kSavingColumns = 20;
  const std::int64_t filled = std::clamp<std::int64_t>(percent * kSavingColumns / 100, 0, kSavingColumns);
  std::string text = "[";
  for (std::int64_t column = 0; column < kSavingColumns; ++column) text += column < filled ? '#' : '.';
  return text + "] " + std::to_string(percent) + "%";
}

// Trouble stands out as the titles do.
std::vector<ScreenLine> durability_lines(const Durability& durability, std::size_t columns) {
  if (durability.is_durable == 0) return {{.text = "memory only: lost when the server stops"}};
  std::vector<std::string> parts = {"durable", "journal " + size_text(durability.journal_bytes),
                                    "last sync " + milliseconds_text(durability.last_sync_us)};
  if (durability.is_saving != 0) parts.push_back("snapshot " + bar(durability.saving_percent));
  auto lines = flow(parts, columns);
  if (!durability.failure.empty()) {
    lines.insert(lines.begin(), {"DISK FAILED, restart needed: " + escaped(durability.failure), true});
  }
  if (!durability.snapshot_failure.empty()) {
    lines.push_back({"SNAPSHOT FAILED: " + escaped(durability.snapshot_failure), true});
  }
  return lines;
}

// Nothing, unless the server is a node of a cluster.
std::vector<ScreenLine> cluster_lines(const Picture& picture, std::size_t columns) {
  const ClusterReading& cluster = picture.reading.cluster;
  if (!cluster.is_node()) return {};
  auto lines = flow(cluster_parts(cluster, picture.has_rates ? std::optional(picture.cluster) : std::nullopt), columns);
  const std::string trouble = cluster_trouble(cluster);
  if (!trouble.empty()) lines.insert(lines.begin(), {trouble, true});
  return lines;
}

std::vector<ScreenLine> header(const Picture& picture, std::size_t columns) {
  const Reading& reading = picture.reading;
  auto lines = flow({"mete top", printable(picture.server), "up " + duration_text(reading.uptime_seconds * 1'000),
                     "connections " + number_text(reading.connections), "meters " + number_text(reading.meters),
                     "holds " + number_text(reading.open_holds), "memory " + size_text(reading.memory_bytes)},
                    columns);
  lines.push_back({.text = picture.has_rates ? "decisions " + number_text(picture.per_second.decisions) +
                                                   "/s, denied " + number_text(picture.per_second.denied) + "/s"
                                             : "measuring …"});
  for (ScreenLine& line : durability_lines(reading.durability, columns)) lines.push_back(std::move(line));
  for (ScreenLine& line : cluster_lines(picture, columns)) lines.push_back(std::move(line));
  return lines;
}

class Tables {
 public:
  explicit Tables(ScreenSize size)
      : name_columns_(std::max(size.columns / kNamesPerRow, kNameColumnsMin)), rows_(size.rows) {}

  void add(const Table& table) {
    if (table.size() > 0) tables_.push_back({.lines = table.lines()});
  }
  [[nodiscard]] std::string name(std::string_view bytes) const { return cut(printable(bytes), name_columns_); }

  // Row after row is given to each table in turn that has more to show.
  void append_to(std::vector<ScreenLine>& lines) {
    std::size_t free = rows_ > lines.size() ? rows_ - lines.size() : 0;
    for (Shown& table : tables_) {
      if (free <= kTitleRows) break;
      free -= kTitleRows + 1;
      table.rows = 1;
    }
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (Shown& table : tables_) {
        if (free == 0 || table.rows == 0 || table.rows + 1 >= table.lines.size()) continue;
        ++table.rows, --free, is_changed = true;
      }
    }
    for (const Shown& table : tables_) append(table, lines);
  }

 private:
  struct Shown {
    std::vector<std::string> lines;  // with the titles
    std::size_t rows = 0;            // without them; 0: there is no room for the table
  };

  static void append(const Shown& table, std::vector<ScreenLine>& lines) {
    if (table.rows == 0) return;
    lines.push_back({});
    for (std::size_t index = 0; index <= table.rows; ++index) lines.push_back({table.lines[index], index == 0});
  }

  std::size_t name_columns_;
  std::size_t rows_;
  std::vector<Shown> tables_;
};

Table peers_table(const Picture& picture, const Tables& tables) {
  Table table({{"PEER"}, {"ADDRESS"}, {"LINK"}, {"LAG", Table::kRight}});
  for (const PeerReading& each : picture.reading.cluster.peers) {
    table.add({tables.name(each.name), tables.name(each.address), each.is_linked ? "up" : "down",
               each.is_linked ? number_text(each.lag) : "-"});
  }
  return table;
}

Table limits_table(const Picture& picture, const Tables& tables) {
  Table table({{"LIMIT"}, {"DECISIONS/S", Table::kRight}, {"DENIED/S", Table::kRight}});
  for (const auto& [limit, count] : picture.limits) {
    table.add({tables.name(limit), picture.has_rates ? number_text(count.decisions) : "-",
               picture.has_rates ? number_text(count.denied) : "-"});
  }
  return table;
}

Table keys_table(const Picture& picture, const Tables& tables) {
  Table table({{"BUSIEST KEY"}, {"LIMIT"}, {"DECISIONS/S", Table::kRight}, {"DENIED/S", Table::kRight}});
  for (const BusyKey& each : picture.reading.keys) {
    table.add({tables.name(each.key), tables.name(each.limit), number_text(each.per_second.decisions),
               number_text(each.per_second.denied)});
  }
  return table;
}

Table holds_table(const Picture& picture, const Tables& tables) {
  Table table({{"OLDEST HOLD"}, {"LIMIT"}, {"KEY"}, {"AGE", Table::kRight}, {"EXPIRES"}});
  for (const OldHold& each : picture.reading.holds) {
    table.add({tables.name(each.id), tables.name(each.limit), tables.name(each.key), duration_text(each.age_ms),
               moment_text(each.expires_in_ms)});
  }
  return table;
}

void write_rates(const DecisionCount& count, wire::JsonWriter& writer) {
  writer.member("decisions_per_s", count.decisions).member("denied_per_s", count.denied);
}

void write_durability(const Durability& durability, wire::JsonWriter& writer) {
  writer.name("durability").begin_object().member("durable", durability.is_durable != 0);
  writer.member("journal_bytes", durability.journal_bytes).member("last_sync_us", durability.last_sync_us);
  writer.member("saving", durability.is_saving != 0).member("saving_percent", durability.saving_percent);
  writer.member("failure", durability.failure).member("snapshot_failure", durability.snapshot_failure).end_object();
}

}  // namespace

Picture first_picture(std::string server, Reading reading) {
  Picture picture{
      .server = std::move(server), .reading = std::move(reading), .per_second = {}, .cluster = {}, .limits = {}};
  for (const auto& [limit, count] : picture.reading.limits) picture.limits.emplace_back(limit, DecisionCount());
  return picture;
}

Picture next_picture(std::string server, const Reading& before, Reading after) {
  const std::uint64_t elapsed_ns = after.at_ns - before.at_ns;
  const DecisionCount per_second = rates(before.all, after.all, elapsed_ns);
  const ClusterRates cluster = cluster_rates(before.cluster, after.cluster, elapsed_ns);
  Picture picture{.server = std::move(server),
                  .reading = std::move(after),
                  .has_rates = true,
                  .per_second = per_second,
                  .cluster = cluster,
                  .limits = {}};
  for (const auto& [limit, count] : picture.reading.limits) {
    const auto earlier = before.limits.find(limit);
    const DecisionCount counted = earlier == before.limits.end() ? DecisionCount() : earlier->second;
    picture.limits.emplace_back(limit, rates(counted, count, elapsed_ns));
  }
  std::stable_sort(picture.limits.begin(), picture.limits.end(),
                   [](const auto& a, const auto& b) { return a.second.decisions > b.second.decisions; });
  return picture;
}

std::vector<ScreenLine> render(const Picture& picture, ScreenSize size) {
  std::vector<ScreenLine> lines = header(picture, size.columns);
  Tables tables(size);
  tables.add(peers_table(picture, tables));
  tables.add(limits_table(picture, tables));
  tables.add(keys_table(picture, tables));
  tables.add(holds_table(picture, tables));
  tables.append_to(lines);
  if (lines.size() > size.rows) lines.resize(size.rows);
  for (ScreenLine& line : lines) line.text = cut(line.text, size.columns);
  return lines;
}

void write_picture(const Picture& picture, wire::JsonWriter& writer) {
  const Reading& reading = picture.reading;
  writer.member("server", picture.server).member("uptime_s", reading.uptime_seconds);
  writer.member("connections", reading.connections).member("meters", reading.meters);
  writer.member("holds", reading.open_holds).member("memory_bytes", reading.memory_bytes);
  write_durability(reading.durability, writer);
  if (reading.cluster.is_node()) write_cluster(reading.cluster, picture.cluster, writer);
  write_rates(picture.per_second, writer);
  writer.name("limits").begin_array();
  for (const auto& [limit, count] : picture.limits) {
    writer.begin_object().member("limit", limit);
    write_rates(count, writer);
    writer.end_object();
  }
  writer.end_array().name("keys").begin_array();
  for (const BusyKey& each : reading.keys) {
    writer.begin_object().member("limit", each.limit).member("key", each.key);
    write_rates(each.per_second, writer);
    writer.end_object();
  }
  writer.end_array().name("oldest_holds").begin_array();
  for (const OldHold& each : reading.holds) {
    writer.begin_object().member("id", each.id).member("limit", each.limit).member("key", each.key);
    writer.member("age_ms", each.age_ms).member("expires_in_ms", each.expires_in_ms).end_object();
  }
  writer.end_array();
}

}  // namespace mete::cli
