// Roster: the latest incarnation of every node that has been met. A node that started anew has another one; whoever
// still speaks for an older one is a leftover, or a second node under the same name.
//
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <map>
#include <mutex>
#include <string>

#include "escrow/counters/counter.h"

namespace mete::escrow {

class Roster {
 public:
  static constexpr std::size_t kNodesMax = 1024;

  // An error if a later incarnation of the node is known.
  [[nodiscard]] Result<void> check(const Writer& node) const;
  // Notes a node that has proved who it is.
  Result<void> note(const Writer& node);

 private:
  [[nodiscard]] Result<void> check_locked(const Writer& node) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> incarnations_;
};

}  // namespace mete::escrow
