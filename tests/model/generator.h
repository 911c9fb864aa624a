// Random histories: every operation over a handful of limits of all kinds, with clock steps to where things happen.
#pragma once

#include <cstdint>

#include "model/history.h"

namespace mete::model {

// The same seed makes the same history.
History random_history(std::uint64_t seed, int operations, const Times& times = {});

}  // namespace mete::model
