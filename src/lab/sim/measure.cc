#include "lab/sim/measure.h"

#include <array>
#include <cstdio>

#include "base/check.h"
#include "lab/sim/cluster.h"
#include "lab/sim/scenario.h"
#include "lab/sim/world.h"

namespace mete::sim {

namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kWindows = 2;  // the second is counted

Scenario scenario_of(const UseCase& use_case) {
  Scenario scenario;
  scenario.seed = kSeed;
  scenario.start = kEpoch;
  scenario.nodes = use_case.nodes;
  scenario.limits.push_back({window("limit").amount(use_case.amount).per(use_case.period), use_case.period});
  MeterPlan meter{.limit = 0, .key = "key"};
  meter.mean_gap = Duration::from_ns(use_case.period.ns() * 100 / (use_case.amount * use_case.demand_percent));
  meter.mean_gap_after = meter.mean_gap;
  meter.node_parts = use_case.node_parts;
  scenario.meters.push_back(meter);
  scenario.end = use_case.period * kWindows + milliseconds(1);
  return scenario;
}

struct Case {
  const char* name = nullptr;
  UseCase use_case;
};

std::array<Case, 6> cases() {
  const std::vector<int> skewed = {90, 9, 1};
  return {{{"3 nodes, load 90/9/1", {.nodes = 3, .demand_percent = 120, .node_parts = skewed}},
           {"3 nodes, load 90/9/1", {.nodes = 3, .demand_percent = 300, .node_parts = skewed}},
           {"16 nodes", {.nodes = 16, .demand_percent = 120}},
           {"16 nodes", {.nodes = 16, .demand_percent = 300}},
           {"1000 nodes", {.nodes = 1000, .amount = 600'000, .demand_percent = 120}},
           {"1000 nodes", {.nodes = 1000, .amount = 600'000, .demand_percent = 300}}}};
}

}  // namespace

Use measure_use(const UseCase& use_case) {
  const Scenario scenario = scenario_of(use_case);
  World world(kSeed, scenario.start, nullptr);
  Cluster cluster(world, scenario);
  cluster.run();
  const auto utilisation = cluster.utilisation_permille();
  CHECK(utilisation);  // It got as far as the end of the window that is counted.
  const NodeStatistics statistics = cluster.statistics();
  return {.utilisation_permille = *utilisation,
          .admissions = statistics.admissions,
          .orders = cluster.store().orders(),
          .waits = statistics.waits};
}

std::string measure_all() {
  std::string text = "cluster               asked for    used  orders per admission  waited\n";
  char line[160];
  for (const auto& [name, use_case] : cases()) {
    const Use use = measure_use(use_case);
    const auto admissions = static_cast<double>(use.admissions);
    std::snprintf(line, sizeof line, "%-20s  %7lld %%  %5.1f %%  %20.4f  %5.2f %%\n", name,
                  static_cast<long long>(use_case.demand_percent), static_cast<double>(use.utilisation_permille) / 10,
                  static_cast<double>(use.orders) / admissions, static_cast<double>(use.waits) * 100 / admissions);
    text += line;
  }
  text += "\nnodes  decisions a second  against 1  shared store busy\n";
  const auto one = static_cast<double>(measure_throughput(1).decisions_per_second);
  for (const std::size_t nodes : {1UL, 2UL, 3UL, 8UL}) {
    const Throughput throughput = measure_throughput(nodes);
    std::snprintf(line, sizeof line, "%5zu  %18lld  %7.2f x  %15.1f %%\n", nodes,
                  static_cast<long long>(throughput.decisions_per_second),
                  static_cast<double>(throughput.decisions_per_second) / one,
                  static_cast<double>(throughput.store_busy_permille) / 10);
    text += line;
  }
  return text;
}

}  // namespace mete::sim
