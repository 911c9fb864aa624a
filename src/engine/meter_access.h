// MeterAccess: one meter, opened for an operation. The state is a copy: it is written back when the operation succeeds.
//
// Thread safety: used under the lock of the meter's bucket.
#pragma once

#include <mete/decision.h>

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/meter.h"
#include "engine/held_parts.h"
#include "engine/table/keyspace.h"
#include "engine/table/limit_table.h"

namespace mete::engine {

// The payload of an override's entry.
struct OverrideRecord {
  Amount amount = 0;
  const RuleRecord* rule = nullptr;  // a reference in the rule table
};

struct MeterAccess {
  std::uint64_t name_hash = 0;
  std::uint64_t hash = 0;
  std::string_view limit_name;
  std::string_view key;
  Amount cost = 0;            // the sum of the operation's charges on this meter
  std::uint16_t charges = 0;  // bit i: the operation's charge i is one of them
  bool is_left_out = false;   // a shadow limit that does not fit

  const LimitRecord* limit = nullptr;
  const RuleRecord* rule = nullptr;
  Entry* entry = nullptr;
  Entry* override_entry = nullptr;
  HeldParts* parts = nullptr;
  core::State state;
  core::Moment moment;

  [[nodiscard]] bool is_shadow() const { return limit->definition.is_shadow(); }
  [[nodiscard]] bool fits(Amount units) const { return core::fits(rule->rule(), state, units, moment); }
  [[nodiscard]] Amount used() const { return core::used(rule->rule(), state, moment); }
  [[nodiscard]] Amount remaining() const { return core::remaining(rule->rule(), state, moment); }
  [[nodiscard]] Amount capacity() const { return rule->rule().capacity; }
  [[nodiscard]] Duration reset_after() const { return core::reset_after(rule->rule(), state, moment); }
  void charge(Amount units) { core::charge(rule->rule(), state, units, moment); }
  void release(const core::HeldPart& part) { core::release(rule->rule(), state, part, moment); }

  [[nodiscard]] Duration wait_for(Amount units) const {
    if (parts == nullptr) return core::wait_for(rule->rule(), state, units, moment);
    return parts->wait_for(rule->rule(), state, units, moment);
  }

  // Moves it from its rule to another one, at one instant up to which its parts have expired. What is in use stays in
  // use; what is held goes on as if it were made then, since what has come back already must not do so again.
  void rebase(const RuleRecord& to, Instant at);

  // The holds that have a part of it, the first to expire first.
  [[nodiscard]] std::vector<std::string> hold_ids(std::size_t count_max) const;
  // What is held and still charged, in whole units.
  [[nodiscard]] Amount held() const;
  [[nodiscard]] Usage usage() const;
};

using MeterAccesses = boost::container::static_vector<MeterAccess, kChargesMax>;

}  // namespace mete::engine
