// Lot: what one draw from the shared store has granted, and how long it may be spent. Pure.
//
// A lot belongs to the window in which the shared store charged it, and dies with it. A node never asks what time it is
// there: the answer says for how long the charge counts, and that runs, by the node's own clock, from when the draw was
// first sent, which was before it was charged.
//
// A bucket's lot does not die at once: it leaks away as the bucket refills. Of a bucket that is full again at F, what
// nodes may still spend at t is never more than (F - t) · rate: else they could spend their shares and the full bucket
// too. The draws of a bucket queue up one behind the other, so each lot leaks from its own F on, and all of them
// together keep to that.
#pragma once

#include <mete/decision.h>

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <string>

#include "core/verdict.h"
#include "escrow/terms.h"

namespace mete::escrow {

// Clocks of different machines do not run equally fast: what ends in t ends here in t less a thousandth. Lots are not
// kept longer than this, so that the thousandth stays small; but a bucket's are, for they leak all the time.
inline constexpr Duration kLotAgeMax = std::chrono::minutes(10);
inline constexpr std::int64_t kClockDriftDivisor = 1000;

// What every take reads comes first.
struct Lot {
  Amount size = 0;  // what was granted
  Amount spent = 0;
  Amount left = 0;  // what is neither spent nor leaked
  Instant dies_at;  // by this node's clock
  Amount rate = 0;  // of a bucket: units that leak in `period`; 0: none do
  Duration period;
  std::uint64_t number = 0;  // made of its id: no other lot of this node has it
  Amount booked = 0;         // what the book of lots has as spent, at least
  Amount open = 0;           // spent by takes that have not ended: it may be undone yet
  Instant granted_at;        // when the answer was here
  Instant ends_at;           // the end of its window: until then its hold is charged, however old the lot is
  bool is_kept = false;      // in the book of lots
  std::string id;            // the draw's, and so the hold's in the shared store

  [[nodiscard]] Amount usable(Instant now) const {
    if (now >= dies_at) return 0;
    return rate == 0 ? left : not_leaked(now);
  }
  // Spends up to `units` of what is usable, and tells how much that was.
  Amount spend(Amount units, Instant now);
  // What was spent of it was not used after all.
  void unspend(Amount units);

 private:
  [[nodiscard]] Amount not_leaked(Instant now) const;
};

// Mostly it is one, and lies within the share.
using Lots = boost::container::small_vector<Lot, 1>;

// The lot of a draw that was first sent at `sent_at` and granted.
Lot make_lot(const Terms& terms, std::string id, Amount size, const core::Verdict& granted, Instant sent_at);

// When the window ends that an answer tells of, by this node's clock, and not later than it really does.
Instant window_end(const Terms& terms, Duration reset_after, Instant sent_at);

}  // namespace mete::escrow
