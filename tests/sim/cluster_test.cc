// Simulated clusters: 1,000 seeds in which no limit is exceeded, whatever goes wrong; with METE_TEST_LONG=1 100,000.
// And bugs that were planted, each of which must be found.
#include <gtest/gtest.h>

#include <sstream>

#include "base/names.h"
#include "lab/sim/measure.h"
#include "lab/sim/run.h"
#include "lab/sim/scenario.h"
#include "support/long_form.h"

namespace mete::sim {
namespace {

constexpr std::uint64_t kParts = 10;
constexpr std::uint64_t kClusterSeeds = 1'000;
constexpr std::uint64_t kClusterSeedsLong = 100'000;

std::uint64_t seeds_of_part() {
  return (support::is_long_form() ? kClusterSeedsLong : support::search_size(kClusterSeeds)) / kParts;
}

class ClusterSeeds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ClusterSeeds, NothingIsExceededLostOrGrantedTwice) {
  const std::uint64_t seeds = seeds_of_part();
  const std::uint64_t from = GetParam() * seeds + 1;
  for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
    const Report report = run_seed(seed, {});
    ASSERT_FALSE(report.violation) << explain(report, {});
  }
}

INSTANTIATE_TEST_SUITE_P(Part, ClusterSeeds, ::testing::Range(std::uint64_t{0}, kParts));

class PlantedBugs : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedBugs, AreFound) {
  const RunOptions options{.planted = GetParam()};
  for (std::uint64_t seed = 1; seed <= kClusterSeeds; ++seed) {
    const Report report = run_seed(seed, options);
    if (!report.violation) continue;
    EXPECT_FALSE(run_seed(seed, {}).violation) << "the seed fails without the bug too";
    EXPECT_NE(explain(report, options).find("--seed " + std::to_string(seed) + " --trace --planted"),
              std::string::npos);
    return;
  }
  FAIL() << base::name_of(kPlantedNames, GetParam()) << " is not found in " << kClusterSeeds << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedBugs,
                         ::testing::Values(Planted::kDrawWithoutId, Planted::kShareWithoutWindow, Planted::kShareKept,
                                           Planted::kGiveBeforeDeducted));

TEST(ClusterReplay, ASeedIsAlwaysTheSameRun) {
  for (const std::uint64_t seed : {1U, 7U, 42U}) {
    std::ostringstream first;
    std::ostringstream second;
    const Report one = run_seed(seed, {.trace = &first});
    const Report two = run_seed(seed, {.trace = &second});
    EXPECT_EQ(one.trace_hash, two.trace_hash);
    EXPECT_EQ(first.str(), second.str());
    EXPECT_EQ(one.trace_hash, run_seed(seed, {}).trace_hash) << "tracing changes nothing";
    EXPECT_NE(one.trace_hash, run_seed(seed + 1, {}).trace_hash);
  }
}

TEST(ClusterMeasure, UseIsHighWithLoadThatIsUneven) {
  const Use use = measure_use({.nodes = 3, .amount = 6'000, .demand_percent = 150, .node_parts = {90, 9, 1}});
  EXPECT_GE(use.utilisation_permille, 990);
  EXPECT_LT(use.orders * 10, use.admissions) << "most decisions are local";
}

TEST(ClusterMeasure, ThroughputGrowsWithNodes) {
  const std::int64_t one = measure_throughput(1).decisions_per_second;
  const std::int64_t three = measure_throughput(3).decisions_per_second;
  EXPECT_GE(three * 100, one * 3 * 95);
}

}  // namespace
}  // namespace mete::sim
