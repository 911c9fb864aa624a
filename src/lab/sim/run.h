// Running seeds. A seed is a whole run of a simulated cluster, always the same.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/sim/node.h"
#include "lab/sim/scenario.h"
#include "lab/sim/world.h"

namespace mete::sim {

inline constexpr std::size_t kNodesMax = 1000;

struct RunOptions {
  std::size_t nodes = 0;  // 0: as the seed says
  Planted planted = Planted::kNone;
  std::ostream* trace = nullptr;
};

struct Report {
  std::uint64_t seed = 0;
  std::optional<Violation> violation;
  std::uint64_t trace_hash = 0;
  NodeStatistics statistics;
  std::uint64_t orders = 0;  // that the shared store carried out
};

Report run_seed(std::uint64_t seed, const RunOptions& options);
// What went wrong, when, and how to see it again: three lines.
std::string explain(const Report& report, const RunOptions& options);

}  // namespace mete::sim
