// After how long what was counted of a limit makes no difference any more.
#pragma once

#include <mete/limit.h>

#include "core/key_operations.h"

namespace mete::store {

// A window's length, a calendar's longest period, until an empty bucket is full; never() of a stock.
Duration refills_within(const Limit& limit);
// By the rule that a quota's or a throttle's use carries with it; zero for a counter.
Duration refills_within(const core::KeyStep& step);

}  // namespace mete::store
