// What systemd and a service tell each other: readiness, and sockets that were opened beforehand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/descriptor.h"

namespace mete::server {

// Tells the service manager, if there is one: "READY=1", "STOPPING=1".
void notify_manager(std::string_view state);

// The sockets that the manager has opened for this process, by the names that it gave them ("resp", "http", "grpc").
// Without names the first is for RESP, the second for HTTP. Clears the environment, so that children do not take them
// too.
struct PassedSocket {
  std::string name;
  net::Descriptor socket;
};
std::vector<PassedSocket> take_passed_sockets();

}  // namespace mete::server
