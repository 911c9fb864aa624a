// After how long what was counted of a limit makes no difference any more.
#pragma once

#include <mete/limit.h>

namespace mete::store {

// A window's length, a calendar's longest period, until an empty bucket is full; never() of a stock.
Duration refills_within(const Limit& limit);

}  // namespace mete::store
