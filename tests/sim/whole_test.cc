// Simulated clusters of whole nodes: no limit is exceeded and nothing is lost, whatever goes wrong. And bugs that were
// planted around them, each of which must be found.
#include "lab/sim/whole/whole.h"

#include <gtest/gtest.h>

#include "base/names.h"
#include "support/long_form.h"

namespace mete::sim {
namespace {

constexpr std::uint64_t kWholeParts = 10;
constexpr std::uint64_t kWholeSeeds = 500;
constexpr std::uint64_t kWholeSeedsLong = 50'000;
constexpr std::uint64_t kFoundWithin = 2'000;

class WholeClusters : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(WholeClusters, NothingIsExceededOrLost) {
  const std::uint64_t seeds =
      (support::is_long_form() ? kWholeSeedsLong : support::search_size(kWholeSeeds)) / kWholeParts;
  for (std::uint64_t seed = GetParam() * seeds + 1; seed <= (GetParam() + 1) * seeds; ++seed) {
    const WholeReport report = run_whole(seed, WholeBug::kNone, nullptr);
    ASSERT_FALSE(report.violation) << "mete sim --whole --seed " << seed << " --trace\n" << *report.violation;
  }
}

INSTANTIATE_TEST_SUITE_P(Part, WholeClusters, ::testing::Range(std::uint64_t{0}, kWholeParts));

class WholeBugs : public ::testing::TestWithParam<int> {};

TEST_P(WholeBugs, AreFound) {
  const auto bug = static_cast<WholeBug>(GetParam());
  for (std::uint64_t seed = 1; seed <= kFoundWithin; ++seed) {
    if (!run_whole(seed, bug, nullptr).violation) continue;
    EXPECT_FALSE(run_whole(seed, WholeBug::kNone, nullptr).violation) << "seed " << seed << " fails without it too";
    return;
  }
  FAIL() << base::name_of(kWholeBugNames, bug) << " is not found in " << kFoundWithin << " seeds";
}

INSTANTIATE_TEST_SUITE_P(Each, WholeBugs, ::testing::Range(1, static_cast<int>(WholeBug::kGenerationForAll) + 1));

}  // namespace
}  // namespace mete::sim
