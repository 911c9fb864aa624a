// The Lua scripts of the Redis store. Their texts are files in lua/, compiled into the program.
#pragma once

#include <cstdint>
#include <span>

#include "store/redis/client/scripts.h"

namespace mete::store::redis {

enum class StoreScript : std::uint8_t {
  kCharge,      // a take on buckets in their plain form: one charge or several
  kChargeEach,  // takes on such buckets, of one charge each
  kCountEach,   // takes on windows, calendars and stocks, of one charge each
  kSlideEach,   // takes on sliding windows, of one charge each
  kTake,        // any take: one charge or several
  kSettle,      // gives, holds, and what becomes of holds
  kHoldOne,     // a hold of one charge
  kCloseOne,    // its end, by commit or cancel
  kLook,        // reads meters, and changes nothing
  kReplace,     // a meter as it was read becomes another one, if nobody was there in between
  kDefine,      // limits, likewise
  kKeys,        // counters, quotas and throttles
  kCensus,      // counts what there is
};

// All of them, by their number.
std::span<const Script> store_scripts();
inline const Script& script(StoreScript which) { return store_scripts()[static_cast<std::size_t>(which)]; }

}  // namespace mete::store::redis
