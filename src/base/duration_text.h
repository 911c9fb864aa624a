// A duration as people write it: "250ms", "5m", "30d".
#pragma once

#include <mete/time.h>

#include <string>

namespace mete::base {

// In the largest unit that says it exactly; what is less than a millisecond in us or ns. Duration::never() is "never".
std::string duration_text(Duration duration);

}  // namespace mete::base
