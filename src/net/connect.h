// Connecting to a server, with a limit on the time that it may take.
#pragma once

#include <mete/result.h>

#include <string_view>

#include "net/address.h"
#include "net/deadline.h"
#include "net/descriptor.h"

namespace mete::net {

// A connected socket that does not block. The error says what to do next; `how_to_start` is added where nobody listens.
// A name is looked up on a thread of its own, which may outlive the call: the system's resolver knows no deadline.
Result<Descriptor> connect_to(const Address& address, const Deadline& deadline, std::string_view how_to_start = {});

}  // namespace mete::net
