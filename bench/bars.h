// Bars: what the benchmarks must reach, as ratios between results of one run.
//
// The machine may be shared and noisy, so nothing is judged by absolute time: both sides of a ratio run in the same
// process, their rounds mixed at random, and the medians are compared.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>

namespace mete::bench {

// Prints as usual, and keeps the median time of each benchmark in nanoseconds of processor time (real time for several
// threads) per iteration.
class MedianReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override;

  // Medians by benchmark name; not those that a filter left out.
  [[nodiscard]] const std::map<std::string, double>& medians() const { return medians_; }

 private:
  std::map<std::string, double> medians_;
};

// Prints each bar that can be judged by these medians; false if one is missed.
bool print_bars(const std::map<std::string, double>& medians);

}  // namespace mete::bench
