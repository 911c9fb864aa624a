// INFO: sections and names as Redis has them where it has them, so that its tools find what they look for.
#include <fmt/format.h>
#include <unistd.h>

#include "server/decisions/wait_queue.h"
#include "server/observation/readings.h"
#include "server/running/service.h"
#include "wire/text.h"

namespace mete::server {

namespace {

using Write = void (*)(std::string& text, Service& service, const Readings& readings);

struct Section {
  std::string_view name;
  Write write;
};

template <class Value>
void line(std::string& text, std::string_view name, const Value& value) {
  text += fmt::format("{}:{}\r\n", name, value);
}

// What the store does not know is left out.
void line_if_known(std::string& text, std::string_view name, store::StoreStatistics::Count count) {
  if (count) line(text, name, *count);
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<char, 4> kPrefixes = {'K', 'M', 'G', 'T'};
  auto size = static_cast<double>(bytes);
  if (size < 1024) return fmt::format("{}B", bytes);
  std::size_t unit = 0;
  for (size /= 1024; size >= 1024 && unit + 1 < kPrefixes.size(); size /= 1024) ++unit;
  return fmt::format("{:.2f}{}", size, kPrefixes[unit]);
}

void write_server(std::string& text, Service& service, const Readings& readings) {
  // Clients choose their ways by this version: those of Redis 7 are spoken here.
  line(text, "redis_version", "7.0.0");
  line(text, "mete_version", METE_VERSION);
  line(text, "redis_mode", "standalone");
  line(text, "os", "Linux");
  line(text, "arch_bits", 64);
  line(text, "multiplexing_api", "epoll");
  line(text, "process_id", ::getpid());
  line(text, "run_id", service.run_id);
  line(text, "tcp_port", service.resp_port);
  line(text, "threads", service.workers.size());
  line(text, "uptime_in_seconds", readings.uptime_seconds);
  line(text, "uptime_in_days", readings.uptime_seconds / 86'400);
  const std::lock_guard lock(service.config_mutex);
  line(text, "config_file", service.config_file);
  line(text, "store", service.store_name);
}

void write_clients(std::string& text, Service& service, const Readings& readings) {
  line(text, "connected_clients", readings.connections);
  line(text, "blocked_clients", service.waits.size());
  line(text, "maxclients", service.connections_max.load());
}

void write_memory(std::string& text, Service& service, const Readings& readings) {
  if (const auto bytes = readings.store.memory_bytes) {
    line(text, "used_memory", *bytes);
    line(text, "used_memory_human", human_bytes(*bytes));
  }
  line(text, "used_memory_rss", readings.resident_bytes);
  line(text, "used_memory_rss_human", human_bytes(readings.resident_bytes));
  line(text, "mem_clients_normal", service.buffers.bytes());
  const std::lock_guard lock(service.config_mutex);
  line(text, "maxmemory", service.config.max_memory);
  line(text, "maxmemory_human", human_bytes(service.config.max_memory));
  line(text, "maxmemory_policy", "noeviction");
}

std::string failure_text(const std::optional<Error>& failure) { return failure ? escaped(failure->message) : ""; }

void write_snapshots(std::string& text, Service& service, const store::PersistenceStatus& status) {
  const Duration saving_for = service.store.now() - status.saving_since;
  const bool has_saved = status.saves_total > 0;
  line(text, "rdb_bgsave_in_progress", status.is_saving ? 1 : 0);
  line(text, "rdb_last_bgsave_status", status.last_save_failure ? "err" : "ok");
  line(text, "rdb_last_bgsave_time_sec", has_saved ? status.last_save_took.seconds() : -1);
  line(text, "rdb_current_bgsave_time_sec", status.is_saving ? saving_for.seconds() : -1);
  line(text, "rdb_saves", status.saves_total);
  line(text, "snapshot_bytes", status.last_save_bytes);
  line(text, "snapshot_failure", failure_text(status.last_save_failure));
  line(text, "saving_progress", saving_percent(status));
}

void write_journal(std::string& text, const store::PersistenceStatus& status) {
  line(text, "aof_current_size", status.journal_bytes);
  line(text, "aof_last_write_status", status.failure ? "err" : "ok");
  line(text, "journal_bytes", status.journal_bytes);
  line(text, "journal_segments", status.journal_segments);
  line(text, "journal_unsynced_bytes", status.unsynced_bytes);
  line(text, "journal_records", status.records_total);
  line(text, "journal_syncs", status.syncs_total);
  line(text, "journal_last_sync_us", status.last_sync_us);
  line(text, "journal_failure", failure_text(status.failure));
  if (status.free_bytes) {
    line(text, "disk_free_bytes", *status.free_bytes);
    line(text, "disk_reserve_bytes", status.reserve_bytes);
    line(text, "disk_refuses_changes", status.room == journal::DiskRoom::Level::kNone ? 1 : 0);
  }
  line(text, "recovered_snapshot_bytes", status.recovered_snapshot_bytes);
  line(text, "recovered_records", status.recovered_records);
  line(text, "recovery_ms", status.recovery_took.ms());
  line(text, "cut_bytes", status.cut ? status.cut->bytes : 0);
}

void write_persistence(std::string& text, Service& service, const Readings& readings) {
  line(text, "loading", 0);
  line(text, "rdb_last_save_time", last_save_unix_seconds(service));
  line(text, "aof_enabled", readings.persistence ? 1 : 0);
  if (!readings.persistence) return;
  write_snapshots(text, service, *readings.persistence);
  write_journal(text, *readings.persistence);
}

Totals totals_of(const Service& service, const Readings& readings) {
  return {.connections_accepted = service.connections_accepted.load(),
          .connections_refused = service.connections_refused.load(),
          .commands = readings.commands,
          .errors = readings.command_errors + readings.protocol_errors,
          .http_requests = readings.http_requests,
          .grpc_calls = readings.grpc_calls,
          .protocol_errors = readings.protocol_errors,
          .wrong_passwords = service.security.wrong_passwords(),
          .bytes_in = readings.bytes_in,
          .bytes_out = readings.bytes_out};
}

void write_stats(std::string& text, Service& service, const Readings& readings) {
  const Totals now = totals_of(service, readings);
  const std::lock_guard lock(service.totals_mutex);
  const Totals& before = service.totals_before;
  line(text, "total_connections_received", now.connections_accepted - before.connections_accepted);
  line(text, "rejected_connections", now.connections_refused - before.connections_refused);
  line(text, "total_commands_processed", now.commands - before.commands);
  line(text, "total_error_replies", now.errors - before.errors);
  line(text, "total_http_requests", now.http_requests - before.http_requests);
  line(text, "total_grpc_calls", now.grpc_calls - before.grpc_calls);
  line(text, "protocol_errors", now.protocol_errors - before.protocol_errors);
  line(text, "authentication_failures", now.wrong_passwords - before.wrong_passwords);
  line(text, "total_net_input_bytes", now.bytes_in - before.bytes_in);
  line(text, "total_net_output_bytes", now.bytes_out - before.bytes_out);
  line(text, "decisions_allowed", readings.all_decisions.allowed);
  line(text, "decisions_denied", readings.all_decisions.denied);
  line(text, "decisions_shadow_denied", readings.all_decisions.shadow_denied);
  line(text, "reloads_succeeded", service.reloads.succeeded.load());
  line(text, "reloads_failed", service.reloads.failed.load());
}

void write_remote(std::string& text, const store::RemoteStatus& status) {
  line(text, "store_shape", status.shape);
  line(text, "store_nodes", fmt::format("{}", fmt::join(status.nodes, ",")));
  line(text, "store_reachable", status.is_reachable ? 1 : 0);
  line(text, "store_connections", status.connections);
  line(text, "store_reconnects", status.reconnects);
  line(text, "store_failures", status.failures);
  line(text, "store_away_ms", status.away_for.ms());
  line(text, "store_outages", status.outages);
  line(text, "store_refused", status.refused);
  line(text, "store_losses", status.losses);
  line(text, "store_loss", escaped(status.loss));
}

void write_store(std::string& text, Service& /*service*/, const Readings& readings) {
  line_if_known(text, "limits", readings.limits);
  line_if_known(text, "limits_retired", readings.store.retired_limits);
  line_if_known(text, "rules", readings.store.rules);
  line_if_known(text, "meters", readings.store.meters);
  line_if_known(text, "overrides", readings.store.overrides);
  line_if_known(text, "keys", readings.store.keys);
  line_if_known(text, "ids", readings.store.ids);
  line_if_known(text, "holds_open", readings.store.open_holds);
  line_if_known(text, "holds_expired", readings.store.expired_holds);
  line_if_known(text, "holds_orphaned", readings.store.orphans);
  line_if_known(text, "local_admissions", readings.store.local_admissions);
  line_if_known(text, "local_denials", readings.store.local_denials);
  line_if_known(text, "local_lost", readings.store.local_lost);
  line_if_known(text, "local_unsettled", readings.store.unsettled_meters);
  line(text, "clock_steps_refused", readings.clock.refused_steps);
  line(text, "clock_refused_by_ms", readings.clock.refused_by.ms());
  if (readings.remote) write_remote(text, *readings.remote);
}

void write_replication(std::string& text, Service& /*service*/, const Readings& /*readings*/) {
  line(text, "role", "master");
  line(text, "connected_slaves", 0);
}

void write_cluster(std::string& text, Service& /*service*/, const Readings& readings) {
  text += cluster_text(readings.cluster);
}

void write_cpu(std::string& text, Service& /*service*/, const Readings& readings) {
  line(text, "used_cpu_sys", fmt::format("{:.6f}", readings.cpu_system_seconds));
  line(text, "used_cpu_user", fmt::format("{:.6f}", readings.cpu_user_seconds));
}

void write_limits(std::string& text, Service& /*service*/, const Readings& readings) {
  for (const auto& [limit, counts] : readings.decisions) {
    text += fmt::format("limit_{}:allowed={},denied={},shadow_denied={}\r\n", escaped(limit), counts.allowed,
                        counts.denied, counts.shadow_denied);
  }
}

void write_keyspace(std::string& text, Service& /*service*/, const Readings& readings) {
  const store::StoreStatistics& store = readings.store;
  if (store.keys.value_or(0) > 0)
    text += fmt::format("db0:keys={},expires={}\r\n", *store.keys, store.expiring_keys.value_or(0));
}

constexpr std::array kSections = {
    Section{"Server", write_server},     Section{"Clients", write_clients},
    Section{"Memory", write_memory},     Section{"Persistence", write_persistence},
    Section{"Stats", write_stats},       Section{"Replication", write_replication},
    Section{"CPU", write_cpu},           Section{"Store", write_store},
    Section{"Limits", write_limits},     Section{"Cluster", write_cluster},
    Section{"Keyspace", write_keyspace},
};

bool is_wanted(std::string_view section, std::span<const std::string_view> wanted) {
  if (wanted.empty()) return true;
  return std::any_of(wanted.begin(), wanted.end(), [&](std::string_view name) {
    return wire::equals_ignoring_case(name, section) || wire::equals_ignoring_case(name, "all") ||
           wire::equals_ignoring_case(name, "default") || wire::equals_ignoring_case(name, "everything");
  });
}

}  // namespace

std::string info_text(Service& service, std::span<const std::string_view> sections) {
  const Readings readings = read(service);
  std::string text;
  for (const Section& section : kSections) {
    if (!is_wanted(section.name, sections)) continue;
    if (!text.empty()) text += "\r\n";
    text += fmt::format("# {}\r\n", section.name);
    section.write(text, service, readings);
  }
  return text;
}

void reset_totals(Service& service) {
  const Totals now = totals_of(service, read(service));
  const std::lock_guard lock(service.totals_mutex);
  service.totals_before = now;
}

}  // namespace mete::server
