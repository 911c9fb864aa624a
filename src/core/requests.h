// Operations as stores pass them on: everything they carry, in one value each. Views are valid for the call alone.
#pragma once

#include <mete/decision.h>

#include <span>
#include <string_view>

namespace mete::core {

struct TakeRequest {
  std::span<const Charge> charges;
  Mode mode = Mode::kTake;
  std::string_view id = {};
  bool remembers_denial = true;  // as the id's answer; not while the caller goes on waiting
};

struct HoldRequest {
  std::span<const Charge> charges;
  Duration ttl;
  std::string_view id;
  bool is_id_random = false;  // nobody knows the id yet: a denial need not be remembered
  std::string_view tag = {};
};

struct CommitRequest {
  std::string_view id;
  std::span<const Amount> amounts = {};  // one per charge; none: all that is held
  bool allow_overage = false;
};

}  // namespace mete::core
