// Terms: what a share must know of its limit to be drawn, spent and given back.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

namespace mete::escrow {

struct Terms {
  Kind kind = Kind::kWindow;
  Amount amount = 1;
  Amount capacity = 1;  // what a fresh meter has
  Duration period;      // of a calendar: the longest that its unit can be
  // How long a draw is held in the shared store. By then its window is over, or its bucket full again, so that nothing
  // comes back when it expires: what a node has spent of it may not be known there. A stock's is taken, not held; there
  // it is for how long things are looked ahead.
  Duration ttl;

  bool operator==(const Terms&) const = default;
};

// kInvalid: no share can be drawn of such a limit.
Result<Terms> terms_of(const Limit& limit);

}  // namespace mete::escrow
