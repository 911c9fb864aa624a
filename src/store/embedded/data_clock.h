// Bringing data back in time: for a data directory that was written while the machine's clock was far ahead.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <memory>

#include "engine/engine.h"

namespace mete::store {

struct TurnedBack {
  std::unique_ptr<engine::Engine> engine;
  std::uint64_t meters = 0;
  std::uint64_t holds = 0;
  std::uint64_t holds_lost = 0;  // their meters are above their limit: what they held counts as used
};

// Another engine that is at `now` as this one is at `then`: limits, overrides and keys stay; every meter has used what
// it had used, as if that had been charged at `now`; open holds and counters live for as long as they still would. Ids
// of operations that are no open holds are forgotten.
Result<TurnedBack> turn_back(engine::Engine& engine, Instant then, Instant now);

}  // namespace mete::store
