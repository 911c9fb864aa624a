// Role: what a client may do.
#pragma once

#include <cstdint>

namespace mete::server {

enum class Role : std::uint8_t {
  kUse,    // take, hold, and look
  kAdmin,  // everything: define, delete, flush, configure, shut down
};

}  // namespace mete::server
