#include "support/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <random>

#include "support/waiting.h"

namespace mete::support {

namespace {

constexpr std::uint16_t kPortMin = 16'000;
constexpr std::uint16_t kPortMax = 32'000;  // /proc/sys/net/ipv4/ip_local_port_range begins at 32768

sockaddr_in address_of(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr* as_address(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

net::Descriptor new_socket() {
  net::Descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  ::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return made;
}

}  // namespace

std::uint16_t free_port() {
  static std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> any(kPortMin, kPortMax);
  constexpr int kAttemptsMax = 1000;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const auto port = static_cast<std::uint16_t>(any(random));
    if (listen_on(port).is_open()) return port;
  }
  fail("no free port between " + std::to_string(kPortMin) + " and " + std::to_string(kPortMax));
}

net::Descriptor listen_on(std::uint16_t port) {
  net::Descriptor made = new_socket();
  const sockaddr_in address = address_of(port);
  constexpr int kBacklog = 128;
  if (::bind(made.get(), as_address(address), sizeof(address)) != 0 || ::listen(made.get(), kBacklog) != 0)
    return net::Descriptor();
  return made;
}

net::Descriptor connect_to(std::uint16_t port) {
  net::Descriptor made = new_socket();
  const sockaddr_in address = address_of(port);
  if (::connect(made.get(), as_address(address), sizeof(address)) != 0) return net::Descriptor();
  return made;
}

}  // namespace mete::support
