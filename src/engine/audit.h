// Audit: what Engine::audit() finds: how much there is of everything, and whether the books balance:
//   - every charge that an open hold has backed has its part in its meter, and every part has its hold;
//   - no more is held of a meter than is used of it, and what it keeps of its parts is the sum over them;
//   - every tag names its open holds, and no other.
// Usage above the capacity is none of that: forced takes and lowered amounts make it.
#pragma once

#include <mete/limit.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/hold_record.h"

namespace mete::engine {

struct AuditProblem {
  enum class Kind : std::uint8_t {
    kHoldWithoutPart,  // of hold `id`, of the meter
    kPartWithoutHold,  // `part`, of the meter
    kHeldAboveUsed,    // of the meter
    kHeldSum,          // of the meter
    kTag,              // names what is not there, or not what is
  };

  Kind kind = Kind::kTag;
  std::string text;  // a sentence without its full stop
  std::string id = {};
  std::string limit = {};
  std::string key = {};
  OpenPart part = {};
  Amount held = 0;  // kHeldAboveUsed: how much is
};

struct LimitTally {
  Limit limit;
  std::uint64_t meters = 0;
  std::uint64_t overrides = 0;
  std::uint64_t above_capacity = 0;  // meters
  // Sums over all meters, up to what 63 bits can tell.
  Amount used = 0;  // and not held
  Amount held = 0;
};

struct Audit {
  std::vector<AuditProblem> problems;
  std::vector<LimitTally> limits;  // in the order of their names
  std::uint64_t counters = 0;
  std::uint64_t quotas = 0;
  std::uint64_t throttles = 0;
  std::uint64_t open_holds = 0;
  std::uint64_t ids = 0;
};

}  // namespace mete::engine
