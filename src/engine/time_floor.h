// TimeFloor: the time as far as something was forgotten by it. Nothing may happen before that any more: a thread that
// read its clock earlier, and was overtaken, goes on at this time.
//
// Thread safety: every call from any thread. Whoever takes a bucket's lock after the floor was raised under it sees it.
#pragma once

#include <mete/time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/lock.h"

namespace mete::engine {

class TimeFloor {
 public:
  [[nodiscard]] Instant at_least(Instant now) const {
    return std::max(now, Instant::from_ns(ns_.load(std::memory_order_relaxed)));
  }

  void raise(Instant to) { base::raise(ns_, to.ns()); }

 private:
  std::atomic<std::uint64_t> ns_{0};
};

}  // namespace mete::engine
