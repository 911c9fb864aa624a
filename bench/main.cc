// Runs the benchmarks in rounds that are mixed at random, and judges the medians by the bars.
//
// Takes the options of Google Benchmark, such as --benchmark_filter=hot. Exit status 1: a bar was missed.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <vector>

#include "bars.h"

int main(int argc, char** argv) {
  char rounds[] = "--benchmark_repetitions=5";
  char mixed[] = "--benchmark_enable_random_interleaving=true";
  char summary[] = "--benchmark_report_aggregates_only=true";
  char name[] = "mete_bench";
  std::vector<char*> arguments = {argc > 0 ? argv[0] : name, rounds, mixed, summary};
  // What the user says comes last, and counts.
  for (int i = 1; i < argc; ++i) arguments.push_back(argv[i]);
  int count = static_cast<int>(arguments.size());
  benchmark::AddCustomContext("mete", METE_VERSION);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;

  mete::bench::MedianReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return mete::bench::print_bars(reporter.medians()) ? 0 : 1;
}
