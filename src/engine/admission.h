// Admission: the verdict on an operation's charges, all or nothing.
#pragma once

#include <span>

#include "engine/meter_access.h"

namespace mete::engine {

// Judges, and if the operation is allowed charges the copies of the states. Nothing is written. For kUpTo the meter's
// cost becomes what is taken.
core::Verdict admit(std::span<MeterAccess> meters, Mode mode);

// The answer to an operation that gave back or kept `amount`: how things stand now.
Settlement settlement_of(Amount amount, std::span<const MeterAccess> meters);

}  // namespace mete::engine
