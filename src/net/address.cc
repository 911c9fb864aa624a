#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <charconv>
#include <cstring>
#include <memory>

namespace mete::net {

namespace {

constexpr std::string_view kUnixPrefix = "unix:";

Error bad_address(std::string_view text, std::string_view reason) {
  return {ErrorCode::kInvalid, "'" + std::string(text) + "' is not an address: " + std::string(reason) +
                                   "; write it as 127.0.0.1:6380, [::1]:6380 or unix:/run/mete.sock"};
}

template <class T>
T view_as(const sockaddr_storage& storage) {
  T value;
  std::memcpy(&value, &storage, sizeof value);
  return value;
}

}  // namespace

std::string SocketAddress::to_string() const {
  char host[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    const auto address = view_as<sockaddr_in>(storage);
    ::inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
    return std::string(host) + ":" + std::to_string(ntohs(address.sin_port));
  }
  if (family() == AF_INET6) {
    const auto address = view_as<sockaddr_in6>(storage);
    ::inet_ntop(AF_INET6, &address.sin6_addr, host, sizeof host);
    return "[" + std::string(host) + "]:" + std::to_string(ntohs(address.sin6_port));
  }
  if (family() == AF_UNIX) {
    const auto address = view_as<sockaddr_un>(storage);
    return "unix:" + std::string(address.sun_path, ::strnlen(address.sun_path, sizeof address.sun_path));
  }
  return "?";
}

bool SocketAddress::is_local() const {
  if (family() == AF_INET) return ntohl(view_as<sockaddr_in>(storage).sin_addr.s_addr) >> 24 == 127;
  if (family() == AF_INET6) {
    const auto address = view_as<sockaddr_in6>(storage).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address);
  }
  return family() == AF_UNIX;
}

std::string Address::to_string() const {
  if (is_unix()) return std::string(kUnixPrefix) + path;
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> parse_address(std::string_view text) {
  Address address;
  if (text.starts_with(kUnixPrefix)) {
    address.path = text.substr(kUnixPrefix.size());
    if (address.path.empty()) return tl::unexpected(bad_address(text, "it has no path"));
    if (address.path.size() >= sizeof(sockaddr_un::sun_path))
      return tl::unexpected(bad_address(text, "its path is too long"));
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return tl::unexpected(bad_address(text, "it has no port"));
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return tl::unexpected(bad_address(text, "an IPv6 address stands in brackets"));
  }
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc{} || end != port.data() + port.size()) {
    return tl::unexpected(bad_address(text, "its port is not a number from 0 to 65535"));
  }
  if (host.empty()) return tl::unexpected(bad_address(text, "it has no host"));
  address.host = host;
  return address;
}

Result<std::vector<SocketAddress>> resolve(const Address& address) {
  std::vector<SocketAddress> found;
  if (address.is_unix()) {
    sockaddr_un unix_address{};
    unix_address.sun_family = AF_UNIX;
    std::memcpy(unix_address.sun_path, address.path.data(), address.path.size());
    SocketAddress& socket_address = found.emplace_back();
    std::memcpy(&socket_address.storage, &unix_address, sizeof unix_address);
    socket_address.size = sizeof unix_address;
    return found;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (failure != 0) {
    return tl::unexpected(
        Error{ErrorCode::kInvalid, "cannot find the host '" + address.host + "': " + ::gai_strerror(failure)});
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& socket_address = found.emplace_back();
    std::memcpy(&socket_address.storage, entry->ai_addr, entry->ai_addrlen);
    socket_address.size = entry->ai_addrlen;
  }
  return found;
}

}  // namespace mete::net
