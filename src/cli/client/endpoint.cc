#include "cli/client/endpoint.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <system_error>

#include "wire/text.h"

namespace mete::cli {

namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

tl::unexpected<Error> bad_endpoint(std::string_view text, std::string_view reason) {
  return tl::unexpected(Error{ErrorCode::kInvalid, wire::quote(text) + " is not an address: " + std::string(reason) +
                                                       "; write it as 127.0.0.1:6380, [::1]:6380 or unix:/path"});
}

tl::unexpected<Error> cannot_connect(const Endpoint& endpoint, int error) {
  std::string message = "cannot connect to " + endpoint.to_string() + ": ";
  if (error == ECONNREFUSED || error == ENOENT) {
    message += error == ENOENT ? "no such file" : "connection refused";
    message += "; is the server running? start one with: mete serve";
  } else if (error == ETIMEDOUT) {
    message += "no answer; check the address, and that no firewall is in the way";
  } else if (error == EACCES || error == EPERM) {
    message += "permission denied; may this user use the socket?";
  } else {
    message += std::generic_category().message(error) + "; check the address";
  }
  return tl::unexpected(Error{ErrorCode::kUnavailable, std::move(message)});
}

struct SocketAddress {
  int family = AF_UNSPEC;
  sockaddr_storage bytes = {};
  socklen_t size = 0;
};

// 0, or the error of connecting. A connection is under way at first, and then made or refused.
int connect_socket(const Descriptor& socket, const SocketAddress& address, Duration timeout) {
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for_socket(socket, POLLOUT, timeout)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

Result<Descriptor> connect_to_address(const Endpoint& endpoint, const SocketAddress& address, Duration timeout) {
  Descriptor socket(::socket(address.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return cannot_connect(endpoint, errno);
  if (const int error = connect_socket(socket, address, timeout); error != 0) return cannot_connect(endpoint, error);
  if (address.family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return socket;
}

SocketAddress unix_address(const Endpoint& endpoint) {
  sockaddr_un named = {};
  named.sun_family = AF_UNIX;
  endpoint.path.copy(named.sun_path, kPathBytesMax);
  SocketAddress address = {.family = AF_UNIX, .size = sizeof named};
  std::memcpy(&address.bytes, &named, sizeof named);
  return address;
}

Result<Descriptor> connect_to_host(const Endpoint& endpoint, Duration timeout) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (error != 0) {
    return tl::unexpected(Error{ErrorCode::kUnavailable, "cannot find the host " + wire::quote(endpoint.host) + ": " +
                                                             ::gai_strerror(error) + "; check its name"});
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  Result<Descriptor> socket = cannot_connect(endpoint, EADDRNOTAVAIL);
  for (const addrinfo* each = found; each != nullptr && !socket; each = each->ai_next) {
    SocketAddress address = {.family = each->ai_family, .size = each->ai_addrlen};
    std::memcpy(&address.bytes, each->ai_addr, std::min<std::size_t>(each->ai_addrlen, sizeof address.bytes));
    socket = connect_to_address(endpoint, address, timeout);
  }
  return socket;
}

}  // namespace

bool Endpoint::is_local() const {
  return is_unix() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string Endpoint::to_string() const {
  if (is_unix()) return std::string(kUnixPrefix) + path;
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) {
    const std::string_view path = text.substr(kUnixPrefix.size());
    if (path.empty()) return bad_endpoint(text, "the path is empty");
    if (path.size() > kPathBytesMax) {
      return bad_endpoint(text, "the path is longer than " + std::to_string(kPathBytesMax) + " bytes");
    }
    return Endpoint{.path = std::string(path)};
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_endpoint(text, "the port is missing");
  std::string_view host = text.substr(0, colon);
  const auto port = wire::parse_integer(text.substr(colon + 1));
  if (!port || *port < 1 || *port > std::numeric_limits<std::uint16_t>::max()) {
    return bad_endpoint(text, "the port is not a number from 1 to 65535");
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad_endpoint(text, "an IPv6 address stands in brackets");
  }
  if (host.empty()) return bad_endpoint(text, "the host is missing");
  return Endpoint{.host = std::string(host), .port = static_cast<std::uint16_t>(*port)};
}

Result<Descriptor> connect_to(const Endpoint& endpoint, Duration timeout) {
  if (endpoint.is_unix()) return connect_to_address(endpoint, unix_address(endpoint), timeout);
  return connect_to_host(endpoint, timeout);
}

bool wait_for_socket(const Descriptor& socket, short events, Duration timeout) {
  constexpr std::int64_t kMillisecondsMax = std::numeric_limits<int>::max();
  pollfd waiting = {.fd = socket.number(), .events = events, .revents = 0};
  const auto ms = timeout.is_never() ? -1 : static_cast<int>(std::min(timeout.ms(), kMillisecondsMax));
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace mete::cli
