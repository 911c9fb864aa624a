// Order: what a share wants of the shared store. It is carried out there, and its answer told to the share.
#pragma once

#include <mete/limit.h>

#include <cstdint>
#include <string>

namespace mete::escrow {

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
