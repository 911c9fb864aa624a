#include "escrow/counters/progress.h"

namespace mete::escrow {

Counters::Changes Progress::next(Counters& counters, Instant now) const {
  const Source source = peer_.node.empty() ? kNobody : source_of(peer_);
  return counters.changes_since(acknowledged_, {source, now}, kBatchBytes);
}

void Progress::answered(const Counters::Cursor& brought, const Writer& peer, Instant steady) {
  const bool is_known = peer == peer_ && steady - heard_at_ < kGoneKept;
  acknowledged_ = is_known ? brought : Counters::Cursor();
  peer_ = peer;
  heard_at_ = steady;
}

}  // namespace mete::escrow
