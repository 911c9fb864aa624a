// Endpoint: where a server listens, as given on the command line: "127.0.0.1:6380", "[::1]:6380",
// "unix:/run/mete.sock".
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/client/descriptor.h"

namespace mete::cli {

struct Endpoint {
  std::string host = {};  // a name or an IP address, without brackets; empty for a socket in the file system
  std::uint16_t port = 0;
  std::string path = {};  // of a socket in the file system

  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  // Nothing but this machine can be meant.
  [[nodiscard]] bool is_local() const;
  // As it was given.
  [[nodiscard]] std::string to_string() const;

  bool operator==(const Endpoint&) const = default;
};

Result<Endpoint> parse_endpoint(std::string_view text);

// A connected socket that does not block. The error says what to do next.
Result<Descriptor> connect_to(const Endpoint& endpoint, Duration timeout);

// Waits until the socket can be read (POLLIN) or written (POLLOUT); false if it is not so within the timeout.
bool wait_for_socket(const Descriptor& socket, short events, Duration timeout);

}  // namespace mete::cli
