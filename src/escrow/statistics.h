// What is counted of shares: plain values, for INFO and /metrics, without the tables that they are counted in.
#pragma once

#include <mete/limit.h>

#include <cstddef>
#include <cstdint>

namespace mete::escrow {

struct ShareStatistics {
  std::uint64_t draws = 0;     // asked for, each once
  std::uint64_t denials = 0;   // of draws
  std::uint64_t granted = 0;   // units
  std::uint64_t returned = 0;  // units
  std::uint64_t lapsed = 0;    // units that died with their window, unspent

  ShareStatistics& operator+=(const ShareStatistics& other);
};

// Of all shares of a node.
struct SharesStatistics {
  ShareStatistics shares;
  std::uint64_t decisions = 0;
  std::uint64_t local_decisions = 0;  // those that waited for nobody
  std::size_t meters = 0;
  Amount usable = 0;
  Amount outstanding = 0;
};

}  // namespace mete::escrow
