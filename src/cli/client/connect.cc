#include "cli/client/connect.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

namespace mete::cli {

namespace {

tl::unexpected<Error> cannot_connect(const net::Address& address, int error) {
  std::string message = "cannot connect to " + address.to_string() + ": ";
  if (error == ECONNREFUSED || error == ENOENT) {
    message += error == ENOENT ? "no such file" : "connection refused";
    message += "; is the server running? start one with: mete serve";
  } else if (error == ETIMEDOUT) {
    message += "no answer; check the address, and that no firewall is in the way";
  } else if (error == EMFILE) {
    message += "too many open files; raise the limit with: ulimit -n";
  } else if (error == EACCES || error == EPERM) {
    message += "permission denied; may this user use the socket?";
  } else {
    message += std::generic_category().message(error) + "; check the address";
  }
  return tl::unexpected(Error{ErrorCode::kUnavailable, std::move(message)});
}

// 0, or the error of connecting. A connection is under way at first, and then made or refused.
int connect_socket(const net::Descriptor& socket, const net::SocketAddress& address, Duration timeout) {
  if (::connect(socket.get(), address.get(), address.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for_socket(socket, POLLOUT, timeout)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

}  // namespace

Result<net::Descriptor> connect_to(const net::Address& address, Duration timeout) {
  const auto found = net::resolve(address);
  if (!found) return tl::unexpected(found.error());
  int error = EADDRNOTAVAIL;
  for (const net::SocketAddress& each : *found) {
    net::Descriptor socket(::socket(each.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = socket.is_open() ? connect_socket(socket, each, timeout) : errno;
    if (error != 0) continue;
    if (each.family() != AF_UNIX) {
      const int on = 1;
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return socket;
  }
  return cannot_connect(address, error);
}

bool wait_for_socket(const net::Descriptor& socket, short events, Duration timeout) {
  constexpr std::int64_t kMillisecondsMax = std::numeric_limits<int>::max();
  pollfd waiting = {.fd = socket.get(), .events = events, .revents = 0};
  const auto ms = timeout.is_never() ? -1 : static_cast<int>(std::min(timeout.ms(), kMillisecondsMax));
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace mete::cli
