#include "engine/meter_access.h"

#include <algorithm>

namespace mete::engine {

Amount MeterAccess::held() const {
  if (parts == nullptr) return 0;
  Amount total = 0;
  for (const OpenPart& part : *parts) {
    total = std::min(total + core::still_charged(rule->rule(), state, part, moment), kAmountMax);
  }
  return std::min(total, used());
}

Usage MeterAccess::usage() const {
  const Amount held_units = held();
  return {.used = used() - held_units,
          .held = held_units,
          .remaining = remaining(),
          .limit = capacity(),
          .reset_after = reset_after()};
}

}  // namespace mete::engine
