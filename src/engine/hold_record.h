// What the engine remembers of holds and of operations with an id.
//
//     operation entry (id) ──▶ HoldRecord: charges, state, tag        one per hold
//     held-parts entry (limit, key) ──▶ HeldParts                     the open parts of one meter: held_parts.h
//     tag entry (tag) ──▶ TaggedHolds                                 the open holds of one tag
//
// Thread safety: each is guarded by the lock of its entry's bucket.
#pragma once

#include <mete/decision.h>

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "core/state.h"
#include "core/verdict.h"

namespace mete::engine {

struct HoldCharge {
  std::string limit;
  std::string key;
  std::uint64_t hash = 0;        // the meter's
  std::uint64_t generation = 0;  // the limit's: one that was dropped and defined anew has no part in this hold
  Amount units = 0;
  bool is_backed = true;  // false: a shadow limit's charge that did not fit, for which nothing is held
};

// Nearly always one: it lies in the hold's record.
using HoldCharges = boost::container::small_vector<HoldCharge, 1>;

// How a hold ended, so that the same commit or cancel again gets the same answer.
struct HoldEnd {
  Settlement answer;
  bool is_known = false;   // not of holds that ended before this was kept
  bool is_of_all = false;  // committed to all that was held
};

struct HoldRecord {
  std::uint64_t serial = 0;  // unlike any other hold's
  HoldState state = HoldState::kHeld;
  Instant expires_at;
  Instant final_at;  // once it is not held any more
  HoldEnd end;
  std::string tag;
  HoldCharges charges;  // their units: once it is committed, what was committed

  // Expiry is judged on access: a hold that nobody has looked at since its time ran out still says kHeld.
  [[nodiscard]] HoldState state_at(Instant now) const {
    return state == HoldState::kHeld && now >= expires_at ? HoldState::kExpired : state;
  }

  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = sizeof *this + tag.size();
    if (charges.size() > 1) total += charges.size() * sizeof(HoldCharge);
    for (const HoldCharge& charge : charges) total += charge.limit.size() + charge.key.size();
    return total;
  }
};

// One charge of an open hold, in the order of expiry.
struct OpenPart : core::HeldPart {
  std::uint64_t serial = 0;
  std::size_t charge = 0;
  std::string_view id;  // of a part in its meter: that one's own copy

  friend bool operator<(const OpenPart& a, const OpenPart& b) {
    return std::tie(a.expires_at, a.serial, a.charge) < std::tie(b.expires_at, b.serial, b.charge);
  }
};

// Where the part of a hold's charge stands among those of its meter.
inline OpenPart part_key(const HoldRecord& hold, std::size_t charge) {
  OpenPart key;
  key.expires_at = hold.expires_at;
  key.serial = hold.serial;
  key.charge = charge;
  return key;
}

struct TaggedHolds {
  std::map<std::string, Instant, std::less<>> expiries;  // by id
  std::string swept_to;                                  // where the next sweep begins
};

// The payload of an operation's entry.
struct OperationRecord {
  std::uint64_t fingerprint = 0;  // of the operation's parameters
  Instant made_at = {};
  core::Verdict verdict = {};
  HoldRecord* hold = nullptr;  // owned; null for a take, a give and a denied hold
};

}  // namespace mete::engine
