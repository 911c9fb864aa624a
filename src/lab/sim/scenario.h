// Scenario: what is simulated: the limits and their keys, the nodes, and what may go wrong. Made from a seed, or by
// hand for a measurement. A value.
#pragma once

#include <mete/limit.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mete::sim {

// Bugs that the simulator must find, to prove that it can see. The shares have none of them: a simulated node makes
// them, in what it sends for its shares and in what it tells them.
enum class Planted : std::uint8_t {
  kNone,
  kDrawWithoutId,       // a draw that has no answer is asked again under another id
  kShareWithoutWindow,  // a share does not die with its window
  kShareKept,           // a node that was killed comes back with the share it had in memory some time before
  kGiveBeforeDeducted,  // a share can be spent until the shared store has confirmed that it is given back
};
inline constexpr std::string_view kPlantedNames =
    "none|draw-without-id|share-without-window|share-kept|give-before-deducted";

struct LimitPlan {
  Limit definition;
  Duration period;  // of a calendar: of its unit, in UTC
};

// A (limit, key), and how it is asked for.
struct MeterPlan {
  std::size_t limit = 0;  // its place in Scenario::limits
  std::string key;
  std::optional<Amount> override_amount = {};
  Duration mean_gap = {};            // between two requests of the whole cluster, while there are faults
  Duration mean_gap_after = {};      // and afterwards: more than the limit admits
  Amount cost_max = 1;               // while there are faults; then all cost 1
  std::vector<int> node_parts = {};  // how the load is spread: by weight; none: evenly
};

// What may happen. Each seed has some of them, so that a failure shows in as plain a run as can be.
struct FaultPlan {
  bool loses = false;  // requests or answers, and doubles or delays them
  bool parts = false;  // partitions
  bool crashes = false;
  bool pauses = false;
  bool store_fails = false;
  bool redefines = false;
  bool moves_nodes = false;  // adds and removes them
  Duration mean_gap = std::chrono::milliseconds(700);
};

struct Scenario {
  std::uint64_t seed = 0;
  Instant start;
  std::size_t nodes = 3;
  std::vector<LimitPlan> limits;
  std::vector<MeterPlan> meters;
  FaultPlan faults;
  Duration round_trip = std::chrono::milliseconds(2);
  Duration tick = std::chrono::milliseconds(100);
  Duration faults_end;  // since the start
  Duration end;         // of the load
  Planted planted = Planted::kNone;
};

// `nodes`: so many in place of what the seed says; 0: as it says.
Scenario make_scenario(std::uint64_t seed, std::size_t nodes, Planted planted);

}  // namespace mete::sim
