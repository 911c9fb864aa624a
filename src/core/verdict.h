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

  [[nodiscard]] bool is_violated_by(std::size_t charge) const { return (std::uint32_t{violated} >> charge & 1U) != 0; }

  bool operator==(const Verdict&) const = default;
};

static_assert(kChargesMax <= 16, "Verdict::violated has a bit per charge");

}  // namespace mete::core
