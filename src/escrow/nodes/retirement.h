// Retirement: settles what nodes had drawn that never come back. Nobody knows how much of it was spent, and so all of
// it counts as such.
//
// A node may have had very many draws: they are settled some at a time, and whoever asks goes on asking while some are
// left. Thread safety: every call from any thread. The store and the clock are borrowed.
#pragma once

#include <mete/clock.h>

#include <string>
#include <string_view>
#include <vector>

#include "escrow/nodes/registry.h"
#include "net/fiber_mutex.h"
#include "store/store.h"

namespace mete::escrow {

// What was settled, and how many draws are left.
struct Retired {
  std::size_t lots = 0;
  Amount units = 0;
  std::size_t left = 0;
};

class Retirement {
 public:
  // A call settles so many draws at most, and begins none after this time: a client waits for five seconds.
  static constexpr std::size_t kLotsAtOnce = 1000;
  static constexpr Duration kTimeAtOnce = std::chrono::seconds(1);
  // Of how many nodes away() tells.
  static constexpr std::size_t kNodesMax = 1000;

  Retirement(store::Store& shared, const Clock& clock) : store_(shared), clock_(clock) {}

  // Of the holds that a node's draws are.
  static std::string tag_of(std::string_view node);

  Result<Retired> settle_some(std::string_view node);
  // The nodes that are not among these, and have draws in the store all the same, by name.
  Result<std::vector<std::string>> away(const std::vector<NodeInfo>& alive);

 private:
  // A hold that has gone meanwhile is none.
  Result<void> settle(const std::string& id, Retired& retired);

  store::Store& store_;
  const Clock& clock_;
  net::FiberMutex mutex_;          // held while the shared store is asked
  std::string node_;               // under mutex_: whose draws these are
  std::vector<std::string> left_;  // under mutex_: their ids, as they were listed by an earlier call
};

}  // namespace mete::escrow
