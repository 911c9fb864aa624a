// Address: where a listener listens: "127.0.0.1:6380", "localhost:6380", "[::1]:6380", "unix:/run/mete.sock".
#pragma once

#include <mete/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace mete::server {

inline constexpr std::size_t kHostBytesMax = 255;
inline constexpr std::size_t kSocketPathBytesMax = 107;  // what the kernel has room for

struct Address {
  std::string host;  // a name, or an IP address without brackets; empty for a socket in the file system
  std::uint16_t port = 0;
  std::string path;  // of a socket in the file system

  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  // Only this machine can reach it. Of names that is said of "localhost" alone: others may lead anywhere.
  [[nodiscard]] bool is_local() const;

  bool operator==(const Address&) const = default;
};

// Port 0 is allowed: the system then chooses one.
Result<Address> parse_address(std::string_view text);

}  // namespace mete::server
