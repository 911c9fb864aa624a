#include "lab/sim/run.h"

#include <array>
#include <cstdio>
#include <utility>

#include "lab/sim/cluster.h"
#include "lab/sim/scenario.h"

namespace mete::sim {

namespace {

constexpr std::array<std::pair<std::string_view, Planted>, 5> kPlanted = {{
    {"none", Planted::kNone},
    {"draw-without-id", Planted::kDrawWithoutId},
    {"share-without-window", Planted::kShareWithoutWindow},
    {"share-kept", Planted::kShareKept},
    {"give-before-deducted", Planted::kGiveBeforeDeducted},
}};

}  // namespace

std::optional<Planted> planted_named(std::string_view name) {
  for (const auto& [known, planted] : kPlanted) {
    if (known == name) return planted;
  }
  return std::nullopt;
}

std::string_view name_of(Planted planted) { return kPlanted[static_cast<std::size_t>(planted)].first; }

std::vector<std::string_view> planted_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, planted] : kPlanted) names.push_back(name);
  return names;
}

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
  if (options.planted != Planted::kNone) replay += " --planted " + std::string(name_of(options.planted));
  return "seed " + std::to_string(report.seed) + " fails after " + time + " s\n  " + report.violation->what +
         "\n  again: " + replay + "\n";
}

}  // namespace mete::sim
