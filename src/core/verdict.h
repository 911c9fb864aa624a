// Verdict: a Decision as stores pass it on, without names and without allocation.
#pragma once

#include <mete/decision.h>

namespace mete::core {

struct Verdict {
  bool is_allowed = false;
  std::uint16_t violated = 0;  // bit i: the operation's charge i did not fit
  Amount taken = 0;
  Amount remaining = 0;
  Amount limit = 0;
  Duration retry_after = {};
  Duration reset_after = {};

  bool operator==(const Verdict&) const = default;
};

static_assert(kChargesMax <= 16, "Verdict::violated has a bit per charge");

}  // namespace mete::core
