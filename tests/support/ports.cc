#include "support/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <random>
#include <string>

#include "support/waiting.h"

namespace mete::support {

namespace {

// /proc/sys/net/ipv4/ip_local_port_range begins at 32768, behind the last block.
constexpr int kPortMin = 16'000;
constexpr int kBlocks = 160;
constexpr int kBlockPorts = 100;

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

// Holds the block's name among the abstract Unix sockets, of which the kernel gives each to one process at a time, and
// takes it back when that process ends. Not open if another one has it.
net::Descriptor lock_block(int block) {
  const std::string name = "mete-test-ports-" + std::to_string(block);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);  // behind a zero byte, which makes it abstract
  const std::size_t length = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  net::Descriptor lock(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(lock.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(length)) != 0) {
    return net::Descriptor();
  }
  return lock;
}

class PortBlock {
 public:
  PortBlock() {
    const int any = static_cast<int>(std::random_device{}() % kBlocks);
    for (int i = 0; i < kBlocks && !lock_.is_open(); ++i) {
      const int block = (any + i) % kBlocks;
      first_ = kPortMin + block * kBlockPorts;
      lock_ = lock_block(block);
    }
    if (!lock_.is_open()) fail("each of the " + std::to_string(kBlocks) + " blocks of ports is another process's");
  }

  // In turn, so that one that a server has left for a moment is given away last.
  std::uint16_t next() {
    for (int attempt = 0; attempt < kBlockPorts; ++attempt) {
      const auto port = static_cast<std::uint16_t>(first_ + given_++ % kBlockPorts);
      if (listen_on(port).is_open()) return port;
    }
    fail("no free port from " + std::to_string(first_) + " on");
  }

 private:
  int first_ = 0;
  int given_ = 0;
  net::Descriptor lock_;
};

}  // namespace

std::uint16_t free_port() {
  static PortBlock block;
  return block.next();
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
