// BenchReport: what a run of `mete bench` has measured, as a table to read or as JSON.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "lab/bench/bench.h"
#include "lab/bench/histogram.h"
#include "lab/bench/load_worker.h"

namespace mete::lab {

struct BenchReport {
  std::string scenario;
  std::string target;   // where the requests went
  std::string version;  // of the server
  std::size_t commands_per_operation = 1;
  double seconds = 0;
  LoadCounts counts;
  std::string first_error;
  Histogram latencies;
  std::optional<std::uint64_t> server_processor_ns;  // if the server's process is known
  std::uint64_t own_processor_ns = 0;
};

void print_table(const BenchReport& report, const BenchOptions& options, std::ostream& output);
// One line.
void print_json(const BenchReport& report, const BenchOptions& options, std::ostream& output);

}  // namespace mete::lab
