#include "lab/sim/run.h"

#include <cstdio>

#include "base/names.h"
#include "lab/sim/cluster.h"
#include "lab/sim/scenario.h"

namespace mete::sim {

Report run_seed(std::uint64_t seed, const RunOptions& options) {
  const Scenario scenario = make_scenario(seed, options.nodes, options.planted);
  World world(seed, scenario.start, options.trace);
  Cluster cluster(world, scenario);
  cluster.run();
  return {.seed = seed,
          .violation = world.violation(),
          .trace_hash = world.trace_hash(),
          .statistics = cluster.statistics(),
          .orders = cluster.store().orders()};
}

std::string explain(const Report& report, const RunOptions& options) {
  if (!report.violation) return "seed " + std::to_string(report.seed) + ": all is well\n";
  char time[32];
  std::snprintf(time, sizeof time, "%.6f", static_cast<double>(report.violation->at.ns()) / 1e9);
  std::string replay = "mete sim --seed " + std::to_string(report.seed) + " --trace";
  if (options.nodes > 0) replay += " --nodes " + std::to_string(options.nodes);
  if (options.planted != Planted::kNone)
    replay += " --planted " + std::string(base::name_of(kPlantedNames, options.planted));
  return "seed " + std::to_string(report.seed) + " fails after " + time + " s\n  " + report.violation->what +
         "\n  again: " + replay + "\n";
}

}  // namespace mete::sim
