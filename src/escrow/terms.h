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
  // comes back when it expires: what a node has spent of it may not be known there. A stock's is taken, not held; there
  // it is for how long things are looked ahead.
  Duration ttl;

  bool operator==(const Terms&) const = default;
};

// kInvalid: no share can be drawn of such a limit.
Result<Terms> terms_of(const Limit& limit);

// Order: what a share wants of the shared store. It is carried out there, and its answer told to the share.
struct Order {
  enum class Kind : std::uint8_t {
    kDraw,    // hold `amount`, of a stock: take it; asked again under the same id until there is an answer
    kAsk,     // take `amount` for who asks now; once, and not again if there is no answer
    kSettle,  // commit `amount` of the hold, which is what was spent; of a stock: give it back
  };

  Kind kind = Kind::kDraw;
  std::string limit;
  std::string key;
  std::string id;
  Amount amount = 0;
  bool is_stock = false;
  Duration ttl;     // of a draw
  Instant sent_at;  // of a draw: when it was first sent
};

// What the shared store says of the whole meter.
struct MeterStanding {
  Amount remaining = 0;
  Amount limit = 0;
};

}  // namespace mete::escrow
