// Where the other nodes of a cluster find this one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mete::server {

// The first listener that other machines can connect to: "10.0.0.1:6380"; if there is none, the first that other
// processes of this one can. One that listens on all addresses of the machine is found at the address by which the
// machine reaches the shared store; where that is on this machine, at the first address that others reach. Empty:
// nowhere (Unix sockets, port 0).
std::string advertised_address(const std::vector<std::string>& listeners, std::string_view shared_url);

}  // namespace mete::server
