// Session: what everything that uses one Redis through one store knows in common.
//
// Thread safety: any thread, at any time.
#pragma once

#include <atomic>
#include <cstdint>

#include "store/remote_clock.h"

namespace mete::store::redis {

struct Session {
  RemoteClock clock;
  // How often everything was cleared. What was written under another epoch is as gone.
  std::atomic<std::uint64_t> epoch{0};
};

}  // namespace mete::store::redis
