// /metrics: names by Prometheus's rules: base units, _total for counters.
#include <fmt/format.h>

#include "server/decisions/wait_queue.h"
#include "server/observation/readings.h"
#include "server/running/service.h"
#include "sync/worker.h"
#include "wire/text.h"

namespace mete::server {

namespace {

// In a label's value: backslash, quote and line feed are escaped, and a byte that is not UTF-8 is shown as \xNN.
std::string label(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    const std::size_t length = wire::utf8_length(value);
    if (length == 0) text += fmt::format("\\\\x{:02x}", static_cast<unsigned char>(value[0]));
    if (value[0] == '\\' || value[0] == '"') text += '\\';
    text += value[0] == '\n' ? "\\n" : value.substr(0, length);
    value.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

void family(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

template <class Value>
void single(std::string& text, std::string_view name, std::string_view type, std::string_view help,
            const Value& value) {
  family(text, name, type, help);
  text += fmt::format("{} {}\n", name, value);
}

// What the store does not know is left out.
void single_if_known(std::string& text, std::string_view name, std::string_view type, std::string_view help,
                     store::StoreStatistics::Count count) {
  if (count) single(text, name, type, help, *count);
}

void expose_decisions(std::string& text, const Readings& readings) {
  family(text, "mete_decisions_total", "counter", "Decisions by limit and outcome; one per charge.");
  for (const auto& [limit, counts] : readings.decisions) {
    const std::string name = label(limit);
    text += fmt::format("mete_decisions_total{{limit=\"{}\",outcome=\"allowed\"}} {}\n", name, counts.allowed);
    text += fmt::format("mete_decisions_total{{limit=\"{}\",outcome=\"denied\"}} {}\n", name, counts.denied);
  }
  family(text, "mete_shadow_denials_total", "counter", "Allowed decisions that a shadow limit would have denied.");
  for (const auto& [limit, counts] : readings.decisions) {
    text += fmt::format("mete_shadow_denials_total{{limit=\"{}\"}} {}\n", label(limit), counts.shadow_denied);
  }
}

void expose_latency(std::string& text, const Readings& readings) {
  constexpr std::string_view kName = "mete_request_duration_seconds";
  family(text, kName, "histogram", "From reading a request to its reply, in the server.");
  std::uint64_t sum = 0;
  for (std::size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
    sum += readings.latency_counts[bucket];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", kName, static_cast<double>(1ULL << bucket) / 1e6, sum);
  }
  sum += readings.latency_counts[LatencyHistogram::kBuckets];
  text += fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n", kName, sum);
  text += fmt::format("{}_sum {:.9f}\n", kName, static_cast<double>(readings.latency_sum_ns) / 1e9);
  text += fmt::format("{}_count {}\n", kName, sum);
}

void expose_store(std::string& text, const Readings& readings) {
  const store::StoreStatistics& store = readings.store;
  single_if_known(text, "mete_limits", "gauge", "Limits that are defined.", readings.limits);
  single_if_known(text, "mete_limits_retired", "gauge", "Limits that have left the file, and keep their usage.",
                  store.retired_limits);
  single_if_known(text, "mete_meters", "gauge", "Meters that differ from fresh ones.", store.meters);
  single_if_known(text, "mete_overrides", "gauge", "Keys with an amount of their own.", store.overrides);
  single_if_known(text, "mete_keys", "gauge", "Counters, quotas and throttles.", store.keys);
  single_if_known(text, "mete_operation_ids", "gauge", "Operation ids that are remembered.", store.ids);
  single_if_known(text, "mete_holds_active", "gauge", "Holds that are open.", store.open_holds);
  single_if_known(text, "mete_holds_expired_total", "counter", "Holds that nobody committed or cancelled in time.",
                  store.expired_holds);
  single_if_known(text, "mete_holds_orphaned", "gauge",
                  "Expired holds that are remembered: their workers have probably died.", store.orphans);
  single_if_known(text, "mete_store_memory_bytes", "gauge", "Memory of the store, where it is known.",
                  store.memory_bytes);
}

double seconds_of(Duration duration) { return static_cast<double>(duration.ns()) / 1e9; }

void expose_journal(std::string& text, const store::PersistenceStatus& status) {
  single(text, "mete_journal_bytes", "gauge", "Journal since the last snapshot.", status.journal_bytes);
  single(text, "mete_journal_segments", "gauge", "Files of the journal.", status.journal_segments);
  single(text, "mete_journal_unsynced_bytes", "gauge", "Journal that is not on disk yet.", status.unsynced_bytes);
  single(text, "mete_journal_records_total", "counter", "Records appended to the journal.", status.records_total);
  single(text, "mete_journal_syncs_total", "counter", "Syncs of the journal.", status.syncs_total);
  single(text, "mete_journal_last_sync_seconds", "gauge", "How long the last sync took.",
         static_cast<double>(status.last_sync_us) / 1e6);
  single(text, "mete_journal_recovered_records", "gauge", "Records of the journal that were read at the start.",
         status.recovered_records);
  single(text, "mete_journal_cut_bytes", "gauge",
         "Bytes at the end of the journal that were cut off at the start: they had never been acknowledged.",
         status.cut ? status.cut->bytes : 0);
}

void expose_snapshots(std::string& text, const store::PersistenceStatus& status) {
  single(text, "mete_snapshots_total", "counter", "Snapshots written.", status.saves_total);
  single(text, "mete_snapshot_in_progress", "gauge", "1 while a snapshot is being written.", status.is_saving ? 1 : 0);
  single(text, "mete_snapshot_progress_ratio", "gauge", "How much of that snapshot is written.",
         static_cast<double>(saving_percent(status)) / 100);
  single(text, "mete_snapshot_last_failed", "gauge", "1 if the last snapshot could not be written.",
         status.last_save_failure ? 1 : 0);
  single(text, "mete_snapshot_last_timestamp_seconds", "gauge", "When the last snapshot was written; 0: not yet.",
         status.last_save_at.unix_seconds());
  single(text, "mete_snapshot_last_duration_seconds", "gauge", "How long that took.",
         seconds_of(status.last_save_took));
  single(text, "mete_snapshot_bytes", "gauge", "Size of the last snapshot.", status.last_save_bytes);
  single(text, "mete_snapshot_recovered_bytes", "gauge", "Size of the snapshot that was read at the start.",
         status.recovered_snapshot_bytes);
  single(text, "mete_recovery_seconds", "gauge", "How long reading snapshot and journal took at the start.",
         seconds_of(status.recovery_took));
}

void expose_persistence(std::string& text, const Readings& readings) {
  const bool has_failed = readings.persistence && readings.persistence->failure;
  single(text, "mete_store_failed", "gauge", "1 if nothing reaches the disk any more until a restart.",
         has_failed ? 1 : 0);
  if (!readings.persistence) return;
  if (const auto free = readings.persistence->free_bytes) {
    single(text, "mete_disk_free_bytes", "gauge", "Free on the disk of the data.", *free);
    single(text, "mete_disk_reserve_bytes", "gauge", "With less than this free, changes are refused.",
           readings.persistence->reserve_bytes);
    single(text, "mete_disk_refuses_changes", "gauge", "1 while they are.",
           readings.persistence->room == journal::DiskRoom::Level::kNone ? 1 : 0);
  }
  expose_journal(text, *readings.persistence);
  expose_snapshots(text, *readings.persistence);
}

void expose_remote(std::string& text, const store::RemoteStatus& status) {
  single(text, "mete_store_reachable", "gauge", "1 while the store's servers answer.", status.is_reachable ? 1 : 0);
  single(text, "mete_store_nodes", "gauge", "Servers of the store that are in use.", status.nodes.size());
  single(text, "mete_store_connections", "gauge", "Open connections to the store.", status.connections);
  single(text, "mete_store_reconnects_total", "counter", "Connections to the store that were lost and made anew.",
         status.reconnects);
  single(text, "mete_store_failures_total", "counter", "Commands that the store did not answer in time.",
         status.failures);
  single(text, "mete_store_away_seconds", "gauge", "How long the store has been away; 0: it is not.",
         seconds_of(status.away_for));
  single(text, "mete_store_outages_total", "counter", "Times that the store was away.", status.outages);
  single(text, "mete_store_refused_total", "counter",
         "Calls that were refused because the store was away or had lost its state.", status.refused);
  single(text, "mete_store_losses_total", "counter",
         "Times that the store was found wiped, replaced or gone back to an earlier state.", status.losses);
  single(text, "mete_store_closed", "gauge", "1 while takes are refused because of that.", status.loss.empty() ? 0 : 1);
  single(text, "mete_store_script_reloads_total", "counter", "Times that the store had lost its scripts.",
         status.script_reloads);
}

void expose_shares(std::string& text, const escrow::SharesStatistics& shares) {
  single(text, "mete_escrow_shares", "gauge", "Meters of which this node has a share.", shares.meters);
  single(text, "mete_escrow_usable_units", "gauge", "Units that this node can spend without asking.", shares.usable);
  single(text, "mete_escrow_outstanding_units", "gauge",
         "Units that are charged to this node in the shared store and not spent.", shares.outstanding);
  single(text, "mete_escrow_draws_total", "counter", "Draws from the shared store.", shares.shares.draws);
  single(text, "mete_escrow_draws_denied_total", "counter", "Draws that the shared store denied.",
         shares.shares.denials);
  single(text, "mete_escrow_drawn_units_total", "counter", "Units drawn.", shares.shares.granted);
  single(text, "mete_escrow_returned_units_total", "counter", "Units given back.", shares.shares.returned);
  single(text, "mete_escrow_lapsed_units_total", "counter", "Units that nobody could use until their window ended.",
         shares.shares.lapsed);
  family(text, "mete_escrow_decisions_total", "counter",
         "Decisions on limits of scope escrow: from the share alone, or after waiting for the shared store.");
  text += fmt::format("mete_escrow_decisions_total{{path=\"local\"}} {}\n", shares.local_decisions);
  text += fmt::format("mete_escrow_decisions_total{{path=\"waited\"}} {}\n", shares.decisions - shares.local_decisions);
}

void expose_cluster(std::string& text, const escrow::ClusterStatus& status) {
  single(text, "mete_cluster_nodes", "gauge", "Nodes that are alive, with this one.", status.nodes.size());
  single(text, "mete_cluster_incarnation", "gauge", "How often a node of this name has started.",
         status.self.incarnation);
  single(text, "mete_cluster_halted", "gauge", "1 while this node draws nothing: CLUSTER INFO says why.",
         status.halted ? 1 : 0);
  family(text, "mete_cluster_peer_linked", "gauge", "1 while counters can go to that node.");
  for (const escrow::NodeStatus& node : status.nodes) {
    if (node.info.is_self) continue;
    text += fmt::format("mete_cluster_peer_linked{{node=\"{}\"}} {}\n", node.info.node.name, node.lag ? 1 : 0);
  }
  family(text, "mete_cluster_peer_lag", "gauge", "Counters with changes that the node has not acknowledged.");
  for (const escrow::NodeStatus& node : status.nodes) {
    if (!node.lag) continue;
    text += fmt::format("mete_cluster_peer_lag{{node=\"{}\"}} {}\n", node.info.node.name, *node.lag);
  }
  single(text, "mete_escrow_stranded_units", "gauge",
         "Units that this node had drawn before it was killed: used until their windows end.", status.stranded);
  single(text, "mete_cluster_counters_refused_total", "counter",
         "Times that a counter of another node was not taken in: there are too many here.", status.counters_refused);
  expose_shares(text, status.shares);
}

// As gRPC writes them, from 0 on.
constexpr std::array<std::string_view, 17> kGrpcStatuses = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

void expose_traffic(std::string& text, const Service& service, const Readings& readings) {
  single(text, "mete_connections", "gauge", "Open connections.", readings.connections);
  single(text, "mete_connections_accepted_total", "counter", "Connections accepted.",
         service.connections_accepted.load());
  single(text, "mete_connections_refused_total", "counter", "Connections refused because there were too many.",
         service.connections_refused.load());
  single(text, "mete_received_bytes_total", "counter", "Bytes received.", readings.bytes_in);
  single(text, "mete_sent_bytes_total", "counter", "Bytes sent.", readings.bytes_out);
  single(text, "mete_commands_total", "counter", "RESP commands.", readings.commands);
  single(text, "mete_command_errors_total", "counter", "RESP commands that were answered with an error.",
         readings.command_errors);
  single(text, "mete_protocol_errors_total", "counter", "Connections closed for what they sent.",
         readings.protocol_errors);
  single(text, "mete_authentication_failures_total", "counter", "Wrong passwords.", service.security.wrong_passwords());
  single(text, "mete_authentication_not_looked_at_total", "counter",
         "Passwords that were not looked at, after too many wrong ones.", service.security.not_looked_at());
  single(text, "mete_connections_evicted_total", "counter",
         "Connections without authentication that were closed because all were taken.",
         service.strangers_evicted.load());
  single(text, "mete_client_buffer_bytes", "gauge", "Memory of the buffers of all connections.",
         service.buffers.bytes());
  single(text, "mete_clients_cut_off_total", "counter",
         "Connections closed because their buffers were the largest of too many bytes.", service.buffers.cut_off());
  single(text, "mete_connections_unauthenticated", "gauge", "Connections that have not authenticated.",
         service.places[0].strangers() + service.places[1].strangers() + service.places[2].strangers());
  single(text, "mete_http_requests_total", "counter", "HTTP requests.", readings.http_requests);
  single(text, "mete_grpc_calls_total", "counter", "Calls by gRPC.", readings.grpc_calls);
  single(text, "mete_grpc_late_total", "counter",
         "Calls by gRPC whose answer came after their deadline, and was dropped.", readings.grpc_late);
  family(text, "mete_grpc_ends_total", "counter", "Calls by gRPC that have ended, by their status.");
  for (std::size_t status = 0; status < kGrpcStatuses.size(); ++status) {
    text +=
        fmt::format("mete_grpc_ends_total{{status=\"{}\"}} {}\n", kGrpcStatuses[status], readings.grpc_ends[status]);
  }
  single(text, "mete_waiting_takes", "gauge", "Takes that wait until they fit.", service.waits.size());
}

// One line for each plan that `value` has something to say of.
template <class Value>
void expose_syncs_family(std::string& text, const std::vector<sync::PlanStatus>& syncs, std::string_view name,
                         std::string_view help, Value value) {
  family(text, name, "gauge", help);
  for (const sync::PlanStatus& status : syncs) {
    if (const auto number = value(status))
      text += fmt::format("{}{{limit=\"{}\"}} {}\n", name, label(status.plan.limit), *number);
  }
}

void expose_syncs(std::string& text, const std::vector<sync::PlanStatus>& syncs) {
  if (syncs.empty()) return;
  family(text, "mete_sync_runs_total", "counter",
         "Syncs with a source of truth by limit and result; without dry runs.");
  for (const sync::PlanStatus& status : syncs) {
    for (std::size_t i = 0; i < sync::kOutcomes; ++i) {
      text += fmt::format("mete_sync_runs_total{{limit=\"{}\",result=\"{}\"}} {}\n", label(status.plan.limit),
                          to_string(static_cast<sync::Outcome>(i)), status.runs[i]);
    }
  }
  expose_syncs_family(text, syncs, "mete_sync_last_success_timestamp_seconds",
                      "When a sync was last done; 0: not since the start.", [](const sync::PlanStatus& status) {
                        return std::optional(status.last_success_at.value_or(Instant()).unix_seconds());
                      });
  const auto of_last = [&](std::string_view name, std::string_view help, auto read) {
    expose_syncs_family(text, syncs, name, help, [&](const sync::PlanStatus& status) {
      return status.last ? std::optional(read(*status.last)) : std::nullopt;
    });
  };
  of_last("mete_sync_duration_seconds", "How long the last sync took.",
          [](const sync::Report& report) { return seconds_of(report.took); });
  of_last("mete_sync_keys", "Keys that the source of the last sync told.",
          [](const sync::Report& report) { return report.keys; });
  of_last("mete_sync_changed_keys", "Keys that the last sync changed.",
          [](const sync::Report& report) { return report.changed_keys; });
  of_last("mete_sync_drift", "By how many units the last sync found usage wrong, up and down added up.",
          [](const sync::Report& report) { return report.drift; });
}

void expose_server(std::string& text, const Service& service, const Readings& readings) {
  family(text, "mete_config_reloads_total", "counter", "Reloads of the configuration by result.");
  text += fmt::format("mete_config_reloads_total{{result=\"success\"}} {}\n", service.reloads.succeeded.load());
  text += fmt::format("mete_config_reloads_total{{result=\"failure\"}} {}\n", service.reloads.failed.load());
  family(text, "mete_envoy_rules_reloads_total", "counter",
         "Times that the rules for Envoy were read again, by result.");
  text +=
      fmt::format("mete_envoy_rules_reloads_total{{result=\"success\"}} {}\n", service.rule_reloads.succeeded.load());
  text += fmt::format("mete_envoy_rules_reloads_total{{result=\"failure\"}} {}\n", service.rule_reloads.failed.load());
  single(text, "mete_config_last_reload_success_timestamp_seconds", "gauge", "When the configuration was last loaded.",
         service.reloads.last_success_unix_seconds.load());
  single(text, "mete_fail_open_admissions_total", "counter",
         "Admissions that the store could not record, by on_fail = open or local.",
         readings.store.unrecorded_admissions);
  single_if_known(text, "mete_fail_local_admissions_total", "counter", "Of these, those by on_fail = local.",
                  readings.store.local_admissions);
  single_if_known(text, "mete_fail_local_denials_total", "counter",
                  "Denials by this server's share of limits with on_fail = local.", readings.store.local_denials);
  single_if_known(text, "mete_fail_local_lost_total", "counter",
                  "Units that were admitted so, and that the store refuses to charge.", readings.store.local_lost);
  single_if_known(text, "mete_fail_local_unsettled_meters", "gauge",
                  "Meters of which the store has not been told yet what was admitted so.",
                  readings.store.unsettled_meters);
  single(text, "mete_clock_steps_refused_total", "counter",
         "Steps of the clock that the store goes by that were too large to be followed.", readings.clock.refused_steps);
  single(text, "mete_clock_refused_by_seconds", "gauge",
         "How far the machine's clock is ahead of the one that is gone by; 0: it is followed.",
         static_cast<double>(readings.clock.refused_by.ns()) / 1e9);
  single(text, "process_resident_memory_bytes", "gauge", "Resident memory of the process.", readings.resident_bytes);
  single(text, "process_cpu_seconds_total", "counter", "User and system CPU time of the process.",
         readings.cpu_user_seconds + readings.cpu_system_seconds);
  single(text, "process_start_time_seconds", "gauge", "Start of the process, in Unix time.",
         service.started_unix_seconds);
  family(text, "mete_build_info", "gauge", "Version of the server; the value is always 1.");
  text += fmt::format("mete_build_info{{version=\"{}\",compiler=\"{}\"}} 1\n", METE_VERSION, label(__VERSION__));
}

}  // namespace

std::string prometheus_text(const Service& service) {
  const Readings readings = read(service);
  std::string text;
  expose_decisions(text, readings);
  expose_latency(text, readings);
  expose_store(text, readings);
  expose_persistence(text, readings);
  if (readings.remote) expose_remote(text, *readings.remote);
  if (readings.cluster) expose_cluster(text, *readings.cluster);
  expose_traffic(text, service, readings);
  expose_syncs(text, service.syncs.plans());
  expose_server(text, service, readings);
  return text;
}

}  // namespace mete::server
