// Measurements of a simulated cluster in which nothing goes wrong: how much of a limit its nodes use when more is asked
// for, how many draws that takes, and how throughput grows with nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mete/limit.h>

namespace mete::sim {

struct UseCase {
  std::size_t nodes = 3;
  Amount amount = 60'000;
  Duration period = std::chrono::minutes(1);
  std::int64_t demand_percent = 150;  // of the limit
  std::vector<int> node_parts = {};   // of the load; none: even
};

struct Use {
  std::int64_t utilisation_permille = 0;  // of the last whole window
  std::uint64_t admissions = 0;
  std::uint64_t orders = 0;  // draws and settlings
  std::uint64_t waits = 0;   // requests that were not decided from the local share at once
};

Use measure_use(const UseCase& use_case);

// Every node is busy all the time with keys of its own: a decision costs its processor time, an order that of the
// shared store, which does one after the other.
struct Throughput {
  std::int64_t decisions_per_second = 0;
  std::int64_t store_busy_permille = 0;
};

Throughput measure_throughput(std::size_t nodes);

// Both, for the cases that docs/simulator.md has; a table.
std::string measure_all();

}  // namespace mete::sim
