// Terms and orders: what a share must know of its limit, and what it wants of the shared store.
#pragma once

#include <mete/limit.h>
#include <mete/result.h>

#include <cstdint>
#include <string>

namespace mete::escrow {

// What must be known to draw, spend and give back.
struct Terms {
  Kind kind = Kind::kWindow;
  Amount amount = 1;
  Amount capacity = 1;  // what a fresh meter has
  Duration period;      // of a calendar: the longest that its unit can be
  // How long a draw is held in the shared store. By then its window is over, or its bucket full again, so that nothing
  // comes back when it expires: what a node has spent of it may not be known there. A stock has no end: its draws are
  // held for as long as can be, and settled long before.
  Duration ttl;
  // Which of the limits that had this name, one after the other: what was drawn of one is nothing of another.
  Amount generation = 0;
  // A stock, or a window that goes on for long: what a node has of it is written down, and outlives a crash.
  bool is_kept = false;
  bool is_over = false;          // nothing is drawn of it any more
  bool is_exactly_kept = false;  // to the unit, as often as something is spent: the limit is durable always

  bool operator==(const Terms&) const = default;
};

// From this on a window is long.
inline constexpr Duration kLongWindow = std::chrono::minutes(10);

// kInvalid: no share can be drawn of such a limit.
Result<Terms> terms_of(const Limit& limit, Amount generation);

// Whether a share goes back when nobody asks for it. A bucket's leaks, and of a sliding window there is none.
inline bool goes_back(const Terms& terms) { return terms.kind != Kind::kBucket && terms.kind != Kind::kSliding; }

// A share that nobody has asked for so long goes back by itself.
Duration idle_time(const Terms& terms);

// For how long a denial is, which the shared store has told with `retry_after`. It knows shares as holds that expire
// far from now; but what other nodes hold and do not use is back within seconds.
Duration denied_for(const Terms& terms, Duration retry_after, bool others_hold);

// Order: what a share wants of the shared store. It is carried out there, and its answer told to the share.
struct Order {
  enum class Kind : std::uint8_t {
    kDraw,    // hold `amount`; asked again under the same id until there is an answer
    kAsk,     // take `amount` for who asks now; once, and not again if there is no answer
    kSettle,  // commit `amount` of the hold, which is what was spent; the rest of it goes back
  };

  Kind kind = Kind::kDraw;
  std::string limit;
  std::string key;
  std::string id;
  Amount amount = 0;
  bool is_kept = false;  // in the book of lots
  Duration ttl;          // of a draw
  Instant sent_at;       // of a draw: when it was first sent
};

// What the shared store says of the whole meter.
struct MeterStanding {
  Amount remaining = 0;
  Amount limit = 0;
};

}  // namespace mete::escrow
