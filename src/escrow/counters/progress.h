// Progress: what another node is known to have of this node's counters, and what to bring it next. Pure.
//
//     const Counters::Changes batch = progress.next(counters, now);    STORE MERGE … to the node, also if it is empty
//     progress.answered(batch.cursor, the node's answer, now);         or nothing, if there was none: then it is asked
//                                                                      again, with what has changed since
//
// Merging twice is merging once, so nothing is numbered and nothing has to arrive in order. A node that began anew has
// forgotten everything, and gets everything; so does one that was not heard of for longer than counters which have gone
// are remembered: what one of the two has forgotten is no change any more, and the other may still have it.
// Thread safety: none.
#pragma once

#include "escrow/counters/counters.h"

namespace mete::escrow {

class Progress {
 public:
  static constexpr std::size_t kBatchBytes = std::size_t{64} << 10;

  [[nodiscard]] Counters::Changes next(Counters& counters, Instant now) const;
  // The node has merged what next() told. `peer`: which of its lives it is in. `steady`: a clock that never steps.
  void answered(const Counters::Cursor& brought, const Writer& peer, Instant steady);

  [[nodiscard]] const Counters::Cursor& acknowledged() const { return acknowledged_; }
  [[nodiscard]] const Writer& peer() const { return peer_; }

 private:
  Writer peer_;  // no name: not heard of yet
  Counters::Cursor acknowledged_;
  Instant heard_at_;
};

}  // namespace mete::escrow
