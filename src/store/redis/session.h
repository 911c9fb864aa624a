// Session: what everything that uses one Redis through one store knows in common.
//
// Thread safety: any thread, at any time.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/raise.h"

namespace mete::store::redis {

struct Session {
  // The latest time that Redis has told, in microseconds since the Unix epoch. It goes with each call, and there time
  // is never before it: a Redis whose clock is set back, or another one that is master now, goes on from here.
  std::atomic<std::uint64_t> floor_us{0};
  // How often everything was cleared. What was written under another epoch is as gone.
  std::atomic<std::uint64_t> epoch{0};

  void raise_floor(std::uint64_t now_us) { base::raise(floor_us, now_us); }
};

}  // namespace mete::store::redis
