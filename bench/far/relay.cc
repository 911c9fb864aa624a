// A server that is far away: what is sent to this program's port is passed on to another port of this machine, and what
// comes back is passed on to the sender, each after the same time.
//
//     mete_relay PORT ONE_WAY_MICROSECONDS        prints its own port, and works until it is killed
//
// A relay and not `tc netem`: it needs neither root nor a module of the kernel. It adds a few microseconds of its own.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "base/monotonic.h"
#include "net/descriptor.h"

namespace {

using mete::base::monotonic_ns;
using mete::net::Descriptor;

constexpr std::size_t kReadBytes = 65'536;

// One direction of a connection.
struct Way {
  int to = -1;
  bool has_ended = false;  // nothing is passed on any more
};

// A connection of a client, and ours to the server.
struct Link {
  Descriptor near;
  Descriptor far;
  Way there;
  Way back;
};

struct Piece {
  std::uint64_t due_ns = 0;
  std::shared_ptr<Link> link;
  Way* way = nullptr;
  std::string bytes;  // none: the end of the stream
};

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "mete_relay: %s: %s\n", what, std::generic_category().message(errno).c_str());
  std::_Exit(1);
}

sockaddr_in local_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void send_at_once(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

class Relay {
 public:
  Relay(std::uint16_t port, std::uint64_t delay_ns)
      : port_(port),
        delay_ns_(delay_ns),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = local_address(0);
    socklen_t length = sizeof address;
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) stop("cannot bind");
    if (::listen(listener_.get(), SOMAXCONN) != 0) stop("cannot listen");
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    std::printf("%d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    watch(listener_.get());
  }

  [[noreturn]] void run() {
    for (;;) {
      std::array<epoll_event, 64> events{};
      const int count = wait(events);
      for (int index = 0; index < count; ++index) serve(events[static_cast<std::size_t>(index)].data.fd);
      pass_on_what_is_due();
    }
  }

 private:
  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  int wait(std::array<epoll_event, 64>& events) {
    if (pieces_.empty()) return ::epoll_wait(epoll_.get(), events.data(), 64, -1);
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t left = pieces_.front().due_ns > now ? pieces_.front().due_ns - now : 0;
    const timespec time = {.tv_sec = static_cast<time_t>(left / 1'000'000'000),
                           .tv_nsec = static_cast<long>(left % 1'000'000'000)};
    return ::epoll_pwait2(epoll_.get(), events.data(), 64, &time, nullptr);
  }

  void serve(int fd) {
    if (fd == listener_.get()) return accept();
    const auto found = links_.find(fd);
    if (found == links_.end()) return;
    const std::shared_ptr<Link> link = found->second;
    Way& way = link->near.get() == fd ? link->there : link->back;
    const ssize_t length = ::recv(fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
    std::string bytes(buffer_.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    if (bytes.empty()) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    pieces_.push_back({monotonic_ns() + delay_ns_, link, &way, std::move(bytes)});
  }

  void accept() {
    auto link = std::make_shared<Link>();
    link->near = Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    link->far = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = local_address(port_);
    if (!link->near.is_open() ||
        ::connect(link->far.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return;
    send_at_once(link->near.get());
    send_at_once(link->far.get());
    link->there.to = link->far.get();
    link->back.to = link->near.get();
    links_[link->near.get()] = link;
    links_[link->far.get()] = link;
    watch(link->near.get());
    watch(link->far.get());
  }

  void pass_on_what_is_due() {
    const std::uint64_t now = monotonic_ns();
    while (!pieces_.empty() && pieces_.front().due_ns <= now) {
      const Piece piece = std::move(pieces_.front());
      pieces_.pop_front();
      pass_on(piece);
    }
  }

  // Blocks where the receiver does not read: a distance has no memory without end either.
  void pass_on(const Piece& piece) {
    if (piece.way->has_ended) return;
    std::string_view rest = piece.bytes;
    while (!rest.empty()) {
      const ssize_t written = ::send(piece.way->to, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (written <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    if (!piece.bytes.empty() && rest.empty()) return;
    piece.way->has_ended = true;
    ::shutdown(piece.way->to, SHUT_WR);
    if (!piece.link->there.has_ended || !piece.link->back.has_ended) return;
    links_.erase(piece.link->near.get());
    links_.erase(piece.link->far.get());
  }

  const std::uint16_t port_;
  const std::uint64_t delay_ns_;
  const Descriptor epoll_;
  const Descriptor listener_;
  std::unordered_map<int, std::shared_ptr<Link>> links_;
  std::array<char, kReadBytes> buffer_{};
  std::deque<Piece> pieces_;  // all have the same delay: the first is due first
};

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ptr != text.data() + text.size()) {
    std::fputs("usage: mete_relay PORT ONE_WAY_MICROSECONDS\n", stderr);
    std::_Exit(2);
  }
  return value;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: mete_relay PORT ONE_WAY_MICROSECONDS\n", stderr);
    return 2;
  }
  Relay(static_cast<std::uint16_t>(number(words[1])), number(words[2]) * 1000).run();
}
