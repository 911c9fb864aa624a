// Address: where a server listens or is found: "127.0.0.1:6380", "[::1]:6380", "localhost:6380" or
// "unix:/run/mete.sock".
#pragma once

#include <mete/result.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mete::net {

// One address that the system understands.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
  // "127.0.0.1:6380", "[::1]:6380" or "unix:/path".
  [[nodiscard]] std::string to_string() const;
  // Only this machine can reach it.
  [[nodiscard]] bool is_local() const;
};

inline constexpr std::size_t kHostBytesMax = 255;
inline constexpr std::size_t kSocketPathBytesMax = 107;  // what the kernel has room for

struct Address {
  std::string host;  // a name, or an IP address without brackets
  std::uint16_t port = 0;
  std::string path;  // of a Unix socket; then host and port mean nothing

  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  // Only this machine can reach it. Of names that is said of "localhost" alone: others may lead anywhere.
  [[nodiscard]] bool is_local() const;
  [[nodiscard]] std::string to_string() const;

  bool operator==(const Address&) const = default;
};

bool is_ip_address(const std::string& host);  // in numbers, not a name

// Port 0 is allowed: the system then chooses one. The error says what is wrong and how an address is written.
Result<Address> parse_address(std::string_view text);
// Looks the name up; this may ask the network.
Result<std::vector<SocketAddress>> resolve(const Address& address);

}  // namespace mete::net
