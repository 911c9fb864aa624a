// Connecting to a server, with a limit on the time that it may take.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include "net/address.h"
#include "net/descriptor.h"

namespace mete::cli {

// A connected socket that does not block. The error says what to do next.
Result<net::Descriptor> connect_to(const net::Address& address, Duration timeout);

// Waits until the socket can be read (POLLIN) or written (POLLOUT); false if it is not so within the timeout.
bool wait_for_socket(const net::Descriptor& socket, short events, Duration timeout);

}  // namespace mete::cli
