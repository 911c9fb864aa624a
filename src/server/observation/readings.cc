#include "server/observation/readings.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <unordered_set>

#include "base/monotonic.h"
#include "core/reserved.h"
#include "server/running/service.h"
#include "server/running/worker.h"

namespace mete::server {

namespace {

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The limits that there are. What was counted of others is told no more; it stays in the sums of all of them.
struct LimitNames {
  std::optional<std::unordered_set<std::string>> names;  // none: the store does not say

  [[nodiscard]] bool has(const std::string& name) const {
    return !names || name == LoopMetrics::kOtherLimits || names->contains(name);
  }
  // Without those that Mete keeps for itself.
  [[nodiscard]] store::StoreStatistics::Count count() const {
    if (!names) return std::nullopt;
    return static_cast<std::size_t>(
        std::ranges::count_if(*names, [](const std::string& name) { return !core::is_reserved_limit(name); }));
  }
};

LimitNames limit_names(const Service& service) {
  const auto names = service.store.limits();
  if (!names) return {};
  return {std::unordered_set<std::string>(names->begin(), names->end())};
}

}  // namespace

Readings read(const Service& service) {
  Readings readings;
  readings.store = service.store.statistics();
  if (const store::Persistence* const persistence = service.store.persistence()) {
    readings.persistence = persistence->status();
  }
  readings.remote = service.store.remote();
  readings.clock = service.store.clock_status();
  readings.cluster = service.read_cluster();
  for (const auto& worker : service.workers) {
    const LoopMetrics& metrics = worker->metrics;
    metrics.add_decisions_to(readings.decisions);
    readings.commands += metrics.commands.get();
    readings.command_errors += metrics.command_errors.get();
    readings.http_requests += metrics.http_requests.get();
    readings.grpc_calls += metrics.grpc_calls.get();
    readings.grpc_late += metrics.grpc_late.get();
    for (std::size_t status = 0; status < readings.grpc_ends.size(); ++status) {
      readings.grpc_ends[status] += metrics.grpc_ends[status].get();
    }
    readings.protocol_errors += metrics.protocol_errors.get();
    for (std::size_t bucket = 0; bucket < readings.latency_counts.size(); ++bucket) {
      readings.latency_counts[bucket] += metrics.latency.count(bucket);
    }
    readings.latency_sum_ns += metrics.latency.sum_ns();
    readings.bytes_in += worker->connections.traffic().bytes_in;
    readings.bytes_out += worker->connections.traffic().bytes_out;
  }
  for (const auto& [limit, counts] : readings.decisions) {
    readings.all_decisions.allowed += counts.allowed;
    readings.all_decisions.denied += counts.denied;
    readings.all_decisions.shadow_denied += counts.shadow_denied;
  }
  const LimitNames names = limit_names(service);
  readings.limits = names.count();
  std::erase_if(readings.decisions, [&](const auto& each) { return !names.has(each.first); });
  readings.connections = service.connections_open;
  readings.uptime_seconds = (base::monotonic_ns() - service.started_at_ns) / 1'000'000'000;
  readings.resident_bytes = resident_bytes();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  readings.cpu_user_seconds = seconds_of(usage.ru_utime);
  readings.cpu_system_seconds = seconds_of(usage.ru_stime);
  return readings;
}

std::uint64_t last_save_unix_seconds(const Service& service) {
  const store::Persistence* const persistence = service.store.persistence();
  const Instant saved_at = persistence == nullptr ? Instant() : persistence->status().last_save_at;
  return saved_at == Instant() ? service.started_unix_seconds : saved_at.unix_seconds();
}

std::uint64_t saving_percent(const store::PersistenceStatus& status) {
  if (!status.is_saving || status.saving_total == 0) return 0;
  return std::min(status.saving_done, status.saving_total) * 100 / status.saving_total;
}

std::vector<BusyKey> busiest_keys(const Service& service, std::size_t count_max) {
  std::map<std::pair<std::string, std::string>, BusyKey> sums;
  for (const auto& worker : service.workers) worker->metrics.busy_keys.add_to(sums, base::monotonic_ns());
  std::vector<BusyKey> keys;
  const LimitNames names = limit_names(service);
  for (auto& [name, sum] : sums) {
    if (names.has(name.first)) keys.push_back({name.first, name.second, sum.decisions, sum.denied});
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min(count_max, keys.size()));
  std::partial_sort(keys.begin(), keys.begin() + count, keys.end(),
                    [](const BusyKey& a, const BusyKey& b) { return a.decisions > b.decisions; });
  keys.resize(static_cast<std::size_t>(count));
  return keys;
}

}  // namespace mete::server
