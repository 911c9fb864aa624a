#include "lab/bench/report.h"

#include <fmt/format.h>

#include <array>
#include <ostream>

#include "wire/text.h"

namespace mete::lab {

namespace {

struct Percentile {
  const char* name;
  const char* json_name;
  std::uint64_t parts_per_million;
};
constexpr std::array<Percentile, 5> kPercentiles = {{{"p50", "p50", 500'000},
                                                     {"p90", "p90", 900'000},
                                                     {"p99", "p99", 990'000},
                                                     {"p99.9", "p999", 999'000},
                                                     {"max", "max", 1'000'000}}};

double per_second(const BenchReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.counts.replies) / report.seconds : 0;
}

double per_request(std::uint64_t ns, const BenchReport& report) {
  return report.counts.replies > 0 ? static_cast<double>(ns) / static_cast<double>(report.counts.replies) : 0;
}

double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

// What is not plain ASCII is not needed here: errors are.
std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') quoted += '\\';
    quoted += byte >= ' ' && byte <= '~' ? byte : '?';
  }
  return quoted += '"';
}

}  // namespace

void print_table(const BenchReport& report, const BenchOptions& options, std::ostream& output) {
  const auto line = [&](std::string_view name, const std::string& value) {
    output << fmt::format("  {:<22}{}\n", name, value);
  };
  output << fmt::format("{} on {}{}{}: {} connections, pipeline {}, {} keys{}\n", report.scenario, report.target,
                        report.version.empty() ? "" : ", ", report.version, options.connections, options.pipeline,
                        options.keys, options.rate > 0 ? fmt::format(", {} requests/s are due", options.rate) : "");
  line("throughput",
       fmt::format("{:.0f} requests/s ({} in {:.2f} s)", per_second(report), report.counts.replies, report.seconds));
  std::string latency;
  for (const Percentile& percentile : kPercentiles) {
    latency += fmt::format("{}{} {:.1f}", latency.empty() ? "" : ", ", percentile.name,
                           microseconds(report.latencies.value_at(percentile.parts_per_million)));
  }
  line("latency, us", latency);
  line("denied", std::to_string(report.counts.denials));
  line("errors", std::to_string(report.counts.errors) +
                     (report.first_error.empty() ? "" : ", the first: " + wire::quote(report.first_error)));
  if (report.server_processor_ns) {
    const double each = per_request(*report.server_processor_ns, report);
    const auto commands = static_cast<double>(report.commands_per_operation);
    line("server's processor",
         fmt::format("{:.0f} ns a request", each) +
             (report.commands_per_operation > 1 ? fmt::format(", {:.0f} ns an operation", each * commands) : ""));
  } else {
    line("server's processor", "not known: give the server's process id on this machine with --pid");
  }
  line("generator's processor", fmt::format("{:.0f} ns a request", per_request(report.own_processor_ns, report)));
}

void print_json(const BenchReport& report, const BenchOptions& options, std::ostream& output) {
  std::string latency;
  for (const Percentile& percentile : kPercentiles) {
    latency += fmt::format("{}\"{}\":{:.3f}", latency.empty() ? "" : ",", percentile.json_name,
                           microseconds(report.latencies.value_at(percentile.parts_per_million)));
  }
  const std::string server_each =
      report.server_processor_ns ? fmt::format("{:.2f}", per_request(*report.server_processor_ns, report)) : "null";
  output << fmt::format(R"({{"scenario":{},"target":{},"server":{},)", json_string(report.scenario),
                        json_string(report.target), json_string(report.version))
         << fmt::format(R"("connections":{},"pipeline":{},"threads":{},"keys":{},"rate":{},)", options.connections,
                        options.pipeline, options.threads, options.keys, options.rate)
         << fmt::format(R"("seconds":{:.6f},"requests":{},"requests_per_second":{:.1f},"commands_per_operation":{},)",
                        report.seconds, report.counts.replies, per_second(report), report.commands_per_operation)
         << fmt::format(R"("denials":{},"errors":{},"first_error":{},)", report.counts.denials, report.counts.errors,
                        json_string(report.first_error))
         << fmt::format(R"("latency_us":{{{}}},"server_cpu_ns_per_request":{},"generator_cpu_ns_per_request":{:.2f}}})",
                        latency, server_each, per_request(report.own_processor_ns, report))
         << "\n";
}

}  // namespace mete::lab
