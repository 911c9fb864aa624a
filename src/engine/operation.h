// Operation: what one call locks and opens. Internal to the engine's source files.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <utility>

#include "core/refusals.h"
#include "engine/engine.h"
#include "engine/table/memory_gauge.h"

namespace mete::engine {

struct Engine::Operation {
  MeterAccesses meters;
  // The buckets to lock: the meters', and those that the operation adds for its id and its tag.
  boost::container::static_vector<std::uint64_t, Keyspace::kLocksMax> hashes;
  // What it changes, and how safe that must be before it is answered.
  Encoder record;
  Durable durable = Durable::kAlways;
};

// An operation on an open hold.
struct Engine::HoldOperation : Operation {
  OperationId id;
  std::uint64_t serial = 0;
  const Entry* entry = nullptr;  // of the id
  HoldRecord* hold = nullptr;
  Instant now;
  // Which of `meters` a charge of the hold is on; null if nothing is held for it, or its limit is gone.
  boost::container::static_vector<MeterAccess*, kChargesMax> meter_of_charge;
};

// Calls use() with one meter, opened under its lock.
template <class Use>
auto Engine::with_meter(const Charge& charge, Instant now, Use use) -> decltype(use(std::declval<MeterAccess&>())) {
  MeterAccess meter;
  meters_.address(charge, meter);
  const Keyspace::Guard guard(keyspace_, meter.hash);
  if (!meters_.open(meter, floor_.at_least(now))) return core::unknown_limit(charge.limit);
  return use(meter);
}

template <class Attempt>
auto Engine::with_eviction(Instant now, Attempt attempt) {
  return try_with_eviction(std::move(attempt), [&] { return evict(now); });
}

}  // namespace mete::engine
