// How long the requests of one connection are answered before the others of its event loop have their turn.
#pragma once

#include <mete/time.h>

namespace mete::server {

inline constexpr Duration kTurn = std::chrono::microseconds(500);

}  // namespace mete::server
