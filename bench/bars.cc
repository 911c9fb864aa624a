#include "bars.h"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace mete::bench {

namespace {

enum class Reach { kAtMost, kAtLeast, kControl };

struct Bar {
  std::string what;
  std::string numerator;
  std::string denominator;  // empty: the numerator itself is judged
  Reach reach;
  double bar;
};

// What a meter with a million holds costs beside one with a single hold.
void add_bars_of_held_meters(std::vector<Bar>& bars) {
  for (const std::string_view kind : {"stock", "calendar", "sliding", "bucket"}) {
    for (const std::string_view act : {"usage", "take_and_give", "denied_take", "hold_and_cancel"}) {
      const std::string name = std::string(kind).append("/").append(act);
      bars.push_back({"1 M open holds on one meter / one: " + name, "million_holds/" + name, "one_hold/" + name,
                      Reach::kAtMost, 3.0});
    }
  }
}

std::vector<Bar> bars() {
  std::vector<Bar> bars = {
      {"decision on a hot key / bare increment under the same lock", "hot_key/decision", "hot_key/increment",
       Reach::kAtMost, 3.0},
      {"decision over 1 M random keys / find and increment in a flat map", "random_keys_1M/decision",
       "random_keys_1M/flat_map", Reach::kAtMost, 1.3},
      {"2 threads / 1 by processor time, each on its half of 1 M keys", "threads/own_keys/speedup_by_processor_time",
       "", Reach::kAtLeast, 1.8},
      {"2 threads / 1 by processor time, each on a hot key of its own", "threads/hot_keys/speedup_by_processor_time",
       "", Reach::kAtLeast, 1.8},
      {"  two threads that share nothing, by processor time", "threads/control/speedup_by_processor_time", "",
       Reach::kControl, 0},
      {"  in real time: half of 1 M keys each", "threads/own_keys/speedup", "", Reach::kControl, 0},
      {"  in real time: a hot key each", "threads/hot_keys/speedup", "", Reach::kControl, 0},
      {"  in real time: two threads that share nothing", "threads/control/speedup", "", Reach::kControl, 0},
      {"bytes a meter, 1 M buckets with 19-byte keys", "memory/bytes_per_meter", "", Reach::kAtMost, 72.0},
      {"sliding window / window on a hot key, admitted", "hot_key/sliding", "hot_key/window", Reach::kAtMost, 1.5},
      {"sliding window / window on a hot key, denied", "hot_key/sliding_denied", "hot_key/window_denied",
       Reach::kAtMost, 1.5},
      {"sliding window / window over 1 M keys, each in a slot of its own", "random_keys_1M/sliding",
       "random_keys_1M/window", Reach::kAtMost, 1.5},
      {"bytes a meter, sliding, amount 100", "memory_sliding_100/bytes_per_meter", "", Reach::kAtMost, 96.0},
      {"bytes a meter, sliding, amount 1 M", "memory_sliding_1M/bytes_per_meter", "", Reach::kAtMost, 192.0},
      {"decision over 10 M keys / over 1 M", "random_keys_10M/decision", "random_keys_1M/decision", Reach::kAtMost,
       1.5},
  };
  add_bars_of_held_meters(bars);
  return bars;
}

}  // namespace

void MedianReporter::ReportRuns(const std::vector<Run>& runs) {
  ConsoleReporter::ReportRuns(runs);
  for (const Run& run : runs) {
    const bool is_only = run.run_type == Run::RT_Iteration && run.repetitions <= 1;
    if (run.aggregate_name != "median" && !is_only) continue;
    const std::string name = run.run_name.function_name + (run.run_name.args.empty() ? "" : "/" + run.run_name.args);
    medians_[name] = run.GetAdjustedCPUTime();
    for (const auto& [counter, value] : run.counters) {
      medians_[std::string(name).append("/").append(counter)] = value.value;
    }
  }
}

bool print_bars(const std::map<std::string, double>& medians) {
  bool are_reached = true;
  std::printf("\n%-68s %9s %9s\n", "bar", "measured", "must be");
  for (const Bar& bar : bars()) {
    const auto numerator = medians.find(bar.numerator);
    const bool is_ratio = !bar.denominator.empty();
    const auto denominator = medians.find(bar.denominator);
    if (numerator == medians.end() || (is_ratio && denominator == medians.end())) continue;
    const double measured = is_ratio ? numerator->second / denominator->second : numerator->second;
    std::printf("%-68s %9.2f", bar.what.c_str(), measured);
    if (bar.reach == Reach::kControl) {
      std::printf("    for comparison\n");
      continue;
    }
    const bool is_reached = bar.reach == Reach::kAtMost ? measured <= bar.bar : measured >= bar.bar;
    are_reached = are_reached && is_reached;
    std::printf(" %s %6.2f  %s\n", bar.reach == Reach::kAtMost ? "<=" : ">=", bar.bar,
                is_reached ? "reached" : "MISSED");
  }
  return are_reached;
}

}  // namespace mete::bench
