#include "net/connect.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/time_text.h"
#include "net/fiber.h"
#include "net/signal.h"

namespace mete::net {

namespace {

// A peer that is gone without a word is noticed after so many seconds of silence, so many probes a second apart.
constexpr int kKeepAliveSeconds = 15;
constexpr int kKeepAliveProbes = 3;

Error cannot_connect(const Address& address, int error, std::string_view how_to_start) {
  std::string message = "cannot connect to " + address.to_string() + ": ";
  if (error == ECONNREFUSED || error == ENOENT) {
    message += error == ENOENT ? "no such file" : "connection refused";
    message += "; is the server running?" + (how_to_start.empty() ? "" : " " + std::string(how_to_start));
  } else if (error == ETIMEDOUT) {
    message += "no answer; check the address, and that no firewall is in the way";
  } else if (error == EMFILE) {
    message += "too many open files; raise the limit with: ulimit -n";
  } else if (error == EACCES || error == EPERM) {
    message += "permission denied; may this user use the socket?";
  } else {
    message += std::generic_category().message(error) + "; check the address";
  }
  return base::unavailable(std::move(message));
}

using Found = Result<std::vector<SocketAddress>>;

// A look-up that somebody waits for, or has given up.
struct LookUp {
  std::mutex mutex;
  Signal is_done;
  std::optional<Found> found;  // under the mutex
};

Found resolve_in_time(const Address& address, const Deadline& deadline) {
  if (address.is_unix() || is_ip_address(address.host) || deadline.timeout().is_never()) return resolve(address);
  const auto look_up = std::make_shared<LookUp>();
  std::thread([look_up, address] {
    Found found = resolve(address);
    const std::lock_guard guard(look_up->mutex);
    look_up->found = std::move(found);
    look_up->is_done.notify_all();
  }).detach();
  std::unique_lock lock(look_up->mutex);
  if (look_up->is_done.wait(lock, deadline, [&] { return look_up->found.has_value(); })) return *look_up->found;
  return base::unavailable("cannot find the host '" + address.host + "' within " +
                           base::duration_text(deadline.timeout()) + "; does the name server answer?");
}

// 0, or the error of connecting. A connection is under way at first, and then made or refused.
int connect_socket(const Descriptor& socket, const SocketAddress& address, const Deadline& deadline) {
  if (::connect(socket.get(), address.get(), address.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for_socket(socket.get(), POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

void set_options(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveSeconds, sizeof kKeepAliveSeconds);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, &on, sizeof on);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, &kKeepAliveProbes, sizeof kKeepAliveProbes);
}

}  // namespace

Result<Descriptor> connect_to(const Address& address, const Deadline& deadline, std::string_view how_to_start) {
  const Found found = resolve_in_time(address, deadline);
  if (!found) return found.error();
  int error = EADDRNOTAVAIL;
  std::size_t remaining = found->size();
  for (const SocketAddress& each : *found) {
    Descriptor socket(::socket(each.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = socket.is_open() ? connect_socket(socket, each, deadline.share(remaining--)) : errno;
    if (error != 0) continue;
    if (each.family() != AF_UNIX) set_options(socket);
    return socket;
  }
  return cannot_connect(address, error, how_to_start);
}

}  // namespace mete::net
