#include "lab/bench/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/monotonic.h"
#include "base/time_text.h"
#include "base/try.h"
#include "cli/frame/command.h"
#include "lab/bench/load_worker.h"
#include "lab/bench/report.h"
#include "lab/bench/scenarios.h"
#include "lab/bench/server_process.h"
#include "wire/text.h"

namespace mete::lab {

namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(1);
constexpr std::size_t kSpareDescriptors = 64;
constexpr std::uint64_t kProcessIdMax = 1 << 22;  // of Linux

Result<void> check_range(std::string_view name, std::uint64_t value, std::uint64_t min, std::uint64_t max) {
  if (value >= min && value <= max) return {};
  return base::invalid("--" + std::string(name) + " is " + std::to_string(value) + "; it must be from " +
                       std::to_string(min) + " to " + std::to_string(max));
}

Result<void> check_options(const BenchOptions& options) {
  struct Range {
    std::string_view name;
    std::uint64_t value;
    std::uint64_t min;
    std::uint64_t max;
  };
  const Range ranges[] = {
      {"connections", options.connections, 1, kBenchConnectionsMax},
      {"pipeline", options.pipeline, 1, kBenchPipelineMax},
      {"threads", options.threads, 1, std::min<std::uint64_t>(kBenchThreadsMax, options.connections)},
      {"keys", options.keys, 1, kBenchKeysMax},
      {"rate", options.rate, 0, kBenchRateMax},
      {"requests", options.requests, 0, kBenchRequestsMax},
      {"pid", options.process_id, 0, kProcessIdMax},
  };
  for (const Range& range : ranges) {
    TRY(check_range(range.name, range.value, range.min, range.max));
  }
  if (options.server.tls) return base::invalid("bench does not speak TLS: leave out --tls");
  if (options.requests == 0 && options.duration <= Duration()) return base::invalid("--duration must be longer than 0");
  if (std::max(options.duration, options.warm_up) > kBenchDurationMax) {
    return base::invalid("--duration and --warm-up must be at most " + base::duration_text(kBenchDurationMax));
  }
  return {};
}

// A server of thousands of connections needs as many descriptors here.
void raise_descriptor_limit(std::size_t connections) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = connections + kSpareDescriptors;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // If it fails, opening the connections does, and says so.
}

// A measurement: workers in threads of their own, and the phases they go through.
class Measurement {
 public:
  Measurement(const BenchOptions& options, ServerProcess server, Workload workload, std::string target)
      : options_(options), server_(std::move(server)), target_(std::move(target)) {
    plan_.workload = std::move(workload);
    plan_.pipeline = options.pipeline;
    plan_.keys = options.keys;
    plan_.workers = options.threads;
    plan_.connections = options.connections;
    plan_.batches_per_second = static_cast<double>(options.rate) / static_cast<double>(options.pipeline) /
                               static_cast<double>(options.threads);
    plan_.is_counted = options.requests > 0;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    plan_.first_sequence =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }

  Result<BenchReport> run() {
    TRY(make_workers());
    std::vector<std::thread> threads;
    threads.reserve(workers_.size());
    const bool starts_measured = options_.requests > 0 && options_.warm_up == Duration();
    control_.phase = options_.fill ? LoadPhase::kFilling : starts_measured ? LoadPhase::kPaused : LoadPhase::kRunning;
    for (LoadWorker& worker : workers_) threads.emplace_back([&worker] { worker.run(); });
    auto report = conduct();
    control_.phase = LoadPhase::kDraining;
    for (std::thread& thread : threads) thread.join();
    for (const LoadWorker& worker : workers_) {
      if (worker.failure()) return *worker.failure();
      if (!report) continue;
      report->latencies.merge(worker.latencies());
      if (report->first_error.empty()) report->first_error = worker.first_error();
    }
    return report;
  }

 private:
  Result<void> make_workers() {
    cli::ConnectionOptions connecting = options_.server;
    connecting.address = target_;
    if (plan_.workload.is_http) connecting.password.clear();  // It is in each request.
    std::vector<std::vector<net::Descriptor>> sockets(options_.threads);
    for (std::size_t index = 0; index < options_.connections; ++index) {
      auto connection = TRY(cli::Connection::open(connecting));
      sockets[index % options_.threads].push_back(std::move(connection).release_socket());
    }
    for (std::size_t index = 0; index < options_.threads; ++index) {
      workers_.emplace_back(plan_, control_, index, std::move(sockets[index]));
    }
    return {};
  }

  // Fills, warms up, measures. Counts and processor times are read together, at both ends.
  Result<BenchReport> conduct() {
    const std::uint64_t fill_replies = options_.keys * plan_.workload.steps.size();
    if (options_.fill) wait_until([&] { return counts().replies >= fill_replies; });
    if (options_.warm_up > Duration() || options_.requests == 0) control_.phase = LoadPhase::kRunning;
    wait_for(options_.warm_up);
    const auto [start, end] = options_.requests > 0 ? measure_requests() : measure_time();
    BenchReport report;
    report.scenario = plan_.workload.name;
    report.target = target_;
    report.version = server_.version;
    report.commands_per_operation = plan_.workload.steps.size();
    report.seconds = static_cast<double>(end.at_ns - start.at_ns) / 1e9;
    report.counts = {.replies = end.counts.replies - start.counts.replies,
                     .errors = end.counts.errors - start.counts.errors,
                     .denials = end.counts.denials - start.counts.denials};
    report.own_processor_ns = end.own_ns - start.own_ns;
    if (server_.process_id == 0) return report;
    if (!start.server_ns) return start.server_ns.error();
    if (!end.server_ns) return end.server_ns.error();
    report.server_processor_ns = *end.server_ns - *start.server_ns;
    return report;
  }

  struct Sample {
    std::uint64_t at_ns = 0;
    LoadCounts counts;
    std::uint64_t own_ns = 0;
    Result<std::uint64_t> server_ns;
  };
  std::pair<Sample, Sample> measure_time() {
    control_.phase = LoadPhase::kMeasuring;
    const Sample start = sample();
    wait_for(options_.duration);
    return {start, sample()};
  }
  // Replies to what was sent before must not be among them.
  std::pair<Sample, Sample> measure_requests() {
    control_.phase = LoadPhase::kPaused;
    wait_until([&] {
      return std::all_of(workers_.begin(), workers_.end(), [](const LoadWorker& each) { return each.is_paused(); });
    });
    const std::uint64_t batches = (options_.requests + options_.pipeline - 1) / options_.pipeline;
    control_.batches_left = static_cast<std::int64_t>(batches);
    const Sample start = sample();
    control_.phase = LoadPhase::kMeasuring;
    wait_until([&] { return counts().replies - start.counts.replies >= batches * options_.pipeline; });
    return {start, sample()};
  }
  Sample sample() {
    return {.at_ns = base::monotonic_ns(),
            .counts = counts(),
            .own_ns = own_processor_time_ns(),
            .server_ns = server_.process_id == 0 ? Result<std::uint64_t>() : processor_time_ns(server_.process_id)};
  }

  LoadCounts counts() const {
    LoadCounts sum;
    for (const LoadWorker& worker : workers_) {
      const LoadCounts each = worker.counts();
      sum.replies += each.replies;
      sum.errors += each.errors;
      sum.denials += each.denials;
    }
    return sum;
  }

  // Or until a worker has failed.
  template <class Condition>
  void wait_until(Condition&& condition) {
    const auto failed = [](const LoadWorker& worker) { return worker.has_failed(); };
    while (!condition() && std::none_of(workers_.begin(), workers_.end(), failed)) {
      std::this_thread::sleep_for(kPollEvery);
    }
  }
  void wait_for(Duration duration) {
    const std::uint64_t end_ns = base::monotonic_ns() + static_cast<std::uint64_t>(duration.ns());
    wait_until([&] { return base::monotonic_ns() >= end_ns; });
  }

  const BenchOptions& options_;
  ServerProcess server_;
  std::string target_;
  LoadPlan plan_;
  LoadControl control_;
  std::deque<LoadWorker> workers_;  // which do not move
};

Result<BenchReport> measure(const BenchOptions& options) {
  raise_descriptor_limit(options.connections);
  auto control = TRY(cli::Connection::open(options.server));
  auto workload = TRY(prepare_workload(options, control));
  if (workload.is_http && options.pipeline != 1) return base::invalid("over HTTP --pipeline must be 1");
  auto server = TRY(find_server_process(options, control));
  std::string target = options.server.address;
  if (workload.is_http) {
    target = TRY(address_of_url(options.http));
  }
  return Measurement(options, std::move(server), std::move(workload), std::move(target)).run();
}

}  // namespace

int run_bench(const BenchOptions& options, std::ostream& output, std::ostream& error) {
  if (const auto done = check_options(options); !done) {
    error << "mete bench: " << done.error().message << '\n';
    return cli::kExitError;
  }
  const auto report = measure(options);
  if (!report) {
    error << "mete bench: " << report.error().message << '\n';
    return cli::kExitError;
  }
  (options.json ? print_json : print_table)(*report, options, output);
  return report->counts.errors == 0 ? cli::kExitDone : cli::kExitNo;
}

}  // namespace mete::lab
