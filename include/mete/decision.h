// What goes into an operation and what comes out of it. Plain values; thread safety: values.
#pragma once

#include <mete/limit.h>
#include <mete/text.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mete {

// One charge of an operation. The views must stay valid for the call alone.
struct Charge {
  Text limit;
  Text key;
  Amount cost = 1;
};

enum class Mode : std::uint8_t {
  kTake,   // all or nothing
  kPeek,   // the answer that kTake would give; nothing changes
  kUpTo,   // as much of the cost as fits; one charge only
  kForce,  // usage that already happened: recorded even past the limit
};

// The answer to a take. With several charges, remaining, limit and reset_after are those of the tightest one.
struct Decision {
  bool is_allowed = false;
  Amount taken = 0;      // what the caller may go ahead with: the sum of the costs, or with kUpTo what fits of it
  Amount remaining = 0;  // what is left after this operation
  Amount limit = 0;      // what a fresh meter has: a bucket's burst, any other kind's amount
  // Zero when allowed. Otherwise exact: waiting that long, undisturbed, is enough; never() where no wait is.
  Duration retry_after;
  Duration reset_after;  // until the meter is as a fresh one, judged after the charge; never() for stock
  // The limits that did not fit, in the order of the charges. On an allowed operation: shadow limits that would have
  // denied.
  std::vector<std::string> violated;
  // The same by charge, bit i for charge i: of several on one limit it tells whose key did not fit.
  std::uint32_t violated_charges = 0;
  // Admitted because its limits say on_fail = open or local, though the store could not be reached, or could not keep
  // it: nobody knows what is left, and nothing of it counts once the store is back.
  bool is_unrecorded = false;

  [[nodiscard]] bool allowed() const { return is_allowed; }
  bool operator==(const Decision&) const = default;
};

// The answer to a take through a handle (handles.h): as Decision, without the name of the one limit that it is of. Made
// without an allocation.
struct MeterDecision {
  bool is_allowed = false;
  bool is_violated = false;  // it did not fit: on an allowed take, of a shadow limit that would have denied
  bool is_unrecorded = false;
  Amount taken = 0;
  Amount remaining = 0;
  Amount limit = 0;
  Duration retry_after;
  Duration reset_after;

  [[nodiscard]] bool allowed() const { return is_allowed; }
  bool operator==(const MeterDecision&) const = default;
};

// The answer to a hold. The id is the caller's, or a random one; a denied hold has none but the caller's.
struct HoldDecision : Decision {
  std::string id;

  bool operator==(const HoldDecision&) const = default;
};

// The answer to give, commit and cancel.
struct Settlement {
  Amount amount = 0;     // given back, committed, or returned by the cancel: the sum over the charges
  Amount remaining = 0;  // as in Decision
  Amount limit = 0;

  bool operator==(const Settlement&) const = default;
};

struct Usage {
  Amount used = 0;
  Amount held = 0;
  Amount remaining = 0;
  Amount limit = 0;
  Duration reset_after;

  bool operator==(const Usage&) const = default;
};

struct Reconciliation {
  Amount used_before = 0;
  Amount used_now = 0;
};

enum class HoldState : std::uint8_t { kHeld, kCommitted, kCancelled, kExpired };

std::string_view to_string(HoldState state);

struct HeldCharge {
  std::string limit;
  std::string key;
  Amount amount = 0;  // what was held; once committed: what was committed

  bool operator==(const HeldCharge&) const = default;
};

struct HoldInfo {
  std::string id;
  HoldState state = HoldState::kHeld;
  Duration expires_in;  // zero once it is final
  Duration age;         // since it was made
  std::string tag;
  std::vector<HeldCharge> charges;
};

struct KeyUsage {
  std::string key;
  Usage usage;
};

// A page of a listing. Start with cursor 0; cursor 0 in the answer means that this was the last page. A page may be
// empty. A key that is in use throughout the listing is listed exactly once.
struct UsagePage {
  std::uint64_t cursor = 0;
  std::vector<KeyUsage> keys;
};

}  // namespace mete
