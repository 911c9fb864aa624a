// Verdict: a Decision as stores pass it on, without names and without allocation.
#pragma once

#include <mete/decision.h>

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <span>
#include <string_view>

namespace mete::core {

struct Verdict {
  bool is_allowed = false;
  bool is_unrecorded = false;  // as in Decision
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

// Each violated limit once, in the order of the charges. Views of the charges' names.
using LimitNames = boost::container::static_vector<std::string_view, kChargesMax>;
inline LimitNames violated_limits(std::span<const Charge> charges, const Verdict& verdict) {
  LimitNames names;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const bool is_new = std::find(names.begin(), names.end(), charges[i].limit) == names.end();
    if (verdict.is_violated_by(i) && is_new) names.push_back(charges[i].limit);
  }
  return names;
}

}  // namespace mete::core
