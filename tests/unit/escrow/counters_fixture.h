// What the tests of counters have in common.
#pragma once

#include <mete/time.h>

namespace mete::escrow {

inline constexpr Instant kNow = Instant::from_unix_seconds(1'700'000'000);

}  // namespace mete::escrow
