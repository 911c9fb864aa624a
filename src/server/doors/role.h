// Role: what a client may do.
#pragma once

#include <cstdint>

namespace mete::server {

enum class Role : std::uint8_t {
  kUse,    // take, hold, and look
  kAdmin,  // everything: define, delete, flush, configure, shut down
};

// Who may do something.
enum class Access : std::uint8_t {
  kAnyone,  // before authentication too
  kUse,
  kAdmin,
};

}  // namespace mete::server
