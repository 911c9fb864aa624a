#include "escrow/peers/roster.h"

#include <algorithm>

namespace mete::escrow {

Result<void> Roster::check(const Writer& node) const {
  const std::lock_guard lock(mutex_);
  return check_locked(node);
}

Result<void> Roster::note(const Writer& node) {
  const std::lock_guard lock(mutex_);
  if (auto fine = check_locked(node); !fine) return fine;
  incarnations_[node.node] = node.incarnation;
  return Done{};
}

Result<void> Roster::check_locked(const Writer& node) const {
  const auto known = incarnations_.find(node.node);
  if (known == incarnations_.end()) {
    if (incarnations_.size() < kNodesMax) return Done{};
    return tl::unexpected(Error{ErrorCode::kInvalid, "more than " + std::to_string(kNodesMax) +
                                                         " nodes have been met: give nodes names that stay"});
  }
  if (known->second <= node.incarnation) return Done{};
  return tl::unexpected(Error{ErrorCode::kInvalid, "node '" + node.node + "' has started anew since, as incarnation " +
                                                       std::to_string(known->second) + ", and this is incarnation " +
                                                       std::to_string(node.incarnation) +
                                                       ": stop the older one, or give it another name"});
}

}  // namespace mete::escrow
