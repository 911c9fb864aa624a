#include "net/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"

namespace mete::net {

namespace {

constexpr int kBacklog = 4096;
// Few: those who are connected have their turn between, however many want to be.
constexpr int kAcceptsPerRound = 8;

Descriptor open_reserve() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

std::string path_of(const SocketAddress& address) { return address.to_string().substr(std::strlen("unix:")); }

// Whether this is a Unix socket on which nobody listens any more: what a process leaves that was killed. Any other file
// is somebody's.
bool is_stale(const SocketAddress& address) {
  struct stat status {};
  if (::lstat(path_of(address).c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED;
}

// `reason` is the system's number of what went wrong.
Result<Descriptor> listen_on(const SocketAddress& address, int& reason) {
  const auto fail = [&](const char* what) {
    reason = errno;
    const std::string hint = reason == EADDRINUSE      ? " (is another server running there?)"
                             : reason == EACCES        ? " (ports below 1024 need privileges)"
                             : reason == EADDRNOTAVAIL ? " (no such address on this machine)"
                                                       : "";
    return base::invalid(std::string(what) + " " + address.to_string() + ": " +
                         std::generic_category().message(reason) + hint);
  };
  Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return fail("cannot open a socket for");
  const int on = 1;
  if (address.family() == AF_UNIX) {
    if (is_stale(address)) ::unlink(path_of(address).c_str());
  } else {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (::bind(socket.get(), address.get(), address.size) != 0) return fail("cannot listen on");
  if (::listen(socket.get(), kBacklog) != 0) return fail("cannot listen on");
  return socket;
}

}  // namespace

Result<std::vector<Descriptor>> listen_on(const Address& address) {
  const auto addresses = TRY(resolve(address));
  std::vector<Descriptor> sockets;
  std::optional<Error> unavailable;
  for (const SocketAddress& one : addresses) {
    int reason = 0;
    auto socket = listen_on(one, reason);
    if (socket) {
      sockets.push_back(std::move(*socket));
    } else if (reason == EADDRNOTAVAIL || reason == EAFNOSUPPORT) {
      unavailable = socket.error();  // "localhost" is [::1] too, also where there is no IPv6.
    } else {
      return socket.error();
    }
  }
  if (sockets.empty()) return *unavailable;
  return sockets;
}

SocketAddress local_address(int socket) {
  SocketAddress address;
  address.size = sizeof address.storage;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  return address;
}

SocketAddress peer_address(int socket) {
  SocketAddress address;
  address.size = sizeof address.storage;
  ::getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  return address;
}

Listener::Listener(EventLoop& loop, Descriptor socket, Accept accept, Report report)
    : loop_(loop),
      socket_(std::move(socket)),
      reserve_(open_reserve()),
      accept_(std::move(accept)),
      report_(std::move(report)) {
  // A socket that was handed over may block.
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  CHECK(loop_.watch(socket_.get(), EPOLLIN, *this));
}

Listener::~Listener() {
  loop_.forget(socket_.get());
  const SocketAddress bound = address();
  if (owns_path_ && bound.family() == AF_UNIX) ::unlink(path_of(bound).c_str());
}

void Listener::on_events(std::uint32_t /*events*/) {
  for (int count = 0; count < kAcceptsPerRound; ++count) {
    Descriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.is_open()) {
      const int on = 1;
      ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on,
                   sizeof on);  // fails on a Unix socket, which has no delay
      accept_(std::move(client));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    const int reason = errno;
    report_(std::string("cannot accept a connection: ") + std::generic_category().message(reason));
    if (reason == EMFILE || reason == ENFILE) shed();
    return;
  }
}

// A client that cannot be accepted would wake the loop for ever: it is accepted with the descriptor in reserve, and
// closed.
void Listener::shed() {
  reserve_.close();
  Descriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  client.close();
  reserve_ = open_reserve();
}

}  // namespace mete::net
