// Ports of this machine, 127.0.0.1, for servers that tests start.
#pragma once

#include <cstdint>

#include "net/descriptor.h"

namespace mete::support {

// A port that nobody listens on at this moment, from a block that no other test program takes while this one runs
// (tests/integration/harness.py goes by the same blocks). It is outside of the range that the kernel gives away by
// itself, so that a server that is killed finds its port free again. Any other program may still take it first: then
// try another one. Thread safety: none.
std::uint16_t free_port();

// A socket that listens there, or is not open: errno.
net::Descriptor listen_on(std::uint16_t port);
// A socket that is connected to it, or is not open: errno.
net::Descriptor connect_to(std::uint16_t port);

}  // namespace mete::support
