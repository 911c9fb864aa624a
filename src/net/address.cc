#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "base/errors.h"

namespace mete::net {

namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kHostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

static_assert(kSocketPathBytesMax + 1 == sizeof(sockaddr_un::sun_path));

Error refuse(std::string_view text, std::string_view reason) {
  return base::invalid("\"" + std::string(text) + "\" is no address: " + std::string(reason) +
                       "; write 127.0.0.1:6380, [::1]:6380, host.example:6380 or unix:/run/mete.sock");
}

using IpBytes = std::array<unsigned char, 16>;

// The bytes of an address in numbers; false if it is none of that family.
bool parse_ip(int family, const std::string& host, IpBytes& bytes) {
  return ::inet_pton(family, host.c_str(), bytes.data()) == 1;
}

bool equals_ignoring_case(std::string_view left, std::string_view right) {
  return left.size() == right.size() && ::strncasecmp(left.data(), right.data(), left.size()) == 0;
}

Result<Address> parse_unix(std::string_view text) {
  const std::string_view path = text.substr(kUnixPrefix.size());
  if (path.empty()) return refuse(text, "the path is missing");
  if (path.size() > kSocketPathBytesMax) {
    return refuse(text, "a path has at most " + std::to_string(kSocketPathBytesMax) + " bytes");
  }
  return Address{.host = {}, .port = 0, .path = std::string(path)};
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  const auto parsed = std::from_chars(text.data(), end, port);
  return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional(port) : std::nullopt;
}

// nullptr where the host is fine, and what is wrong otherwise.
const char* what_is_wrong(const std::string& host, bool is_bracketed) {
  IpBytes bytes{};
  if (is_bracketed) return parse_ip(AF_INET6, host, bytes) ? nullptr : "between the brackets is no IPv6 address";
  if (host.empty()) return "the host is missing (0.0.0.0 or [::] stand for all)";
  if (host.find(':') != std::string::npos) return "an IPv6 address needs brackets";
  if (host.size() > kHostBytesMax || host.find_first_not_of(kHostCharacters) != std::string::npos) {
    return "that is no name of a host";
  }
  const bool is_number = host.find_first_not_of("0123456789.") == std::string::npos;
  return is_number && !parse_ip(AF_INET, host, bytes) ? "that is no IPv4 address" : nullptr;
}

template <class T>
T view_as(const sockaddr_storage& storage) {
  T value{};
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
    return std::string(kUnixPrefix) +
           std::string(address.sun_path, ::strnlen(address.sun_path, sizeof address.sun_path));
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

bool Address::is_local() const {
  if (is_unix() || equals_ignoring_case(host, "localhost")) return true;
  IpBytes bytes{};
  if (parse_ip(AF_INET, host, bytes)) return bytes[0] == 127;
  constexpr IpBytes kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return parse_ip(AF_INET6, host, bytes) && bytes == kLoopback;
}

Result<Address> parse_address(std::string_view text) {
  const bool has_odd_bytes = std::any_of(text.begin(), text.end(), [](char byte) {
    return byte == ',' || static_cast<unsigned char>(byte) < ' ' || byte == '\x7f';
  });
  if (has_odd_bytes) {
    return base::invalid("an address has neither commas nor control characters");
  }
  if (text.starts_with(kUnixPrefix)) return parse_unix(text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) return refuse(text, "the port is missing");
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return refuse(text, "a port is a number from 0 to 65535");

  std::string_view host = text.substr(0, colon);
  const bool is_bracketed = host.size() >= 2 && host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  Address address{.host = std::string(host), .port = *port, .path = {}};
  if (const char* reason = what_is_wrong(address.host, is_bracketed)) return refuse(text, reason);
  return address;
}

bool is_ip_address(const std::string& host) {
  IpBytes bytes{};
  return parse_ip(AF_INET, host, bytes) || parse_ip(AF_INET6, host, bytes);
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
    return base::invalid("cannot find the host '" + address.host + "': " + ::gai_strerror(failure));
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
