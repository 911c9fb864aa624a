#include "server/running/advertised.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <optional>

#include "net/address.h"
#include "net/descriptor.h"
#include "net/listener.h"
#include "store/network/server_url.h"

namespace mete::server {

namespace {

constexpr std::uint16_t kAnyPort = 9;  // Nothing is sent there.

std::optional<net::Address> host_of(std::string_view url) {
  const std::size_t start = url.find("://");
  if (start == std::string_view::npos) return std::nullopt;
  const auto pieces = store::split_url(url.substr(start + 3));
  const auto hosts = pieces ? store::parse_hosts(pieces->hosts, kAnyPort) : pieces.error();
  return hosts && !hosts->empty() ? std::optional(hosts->front()) : std::nullopt;
}

std::string host_text(const net::SocketAddress& address) {
  const std::string text = address.to_string();
  return text.substr(0, text.rfind(':'));
}

// Connecting a socket of UDP sends nothing, and tells which of the machine's addresses leads there.
std::optional<std::string> host_towards(const net::Address& there) {
  const auto found = net::resolve(there);
  if (!found) return std::nullopt;
  for (const net::SocketAddress& address : *found) {
    if (address.family() == AF_UNIX || address.is_local()) continue;
    const net::Descriptor socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket.get() < 0 || ::connect(socket.get(), address.get(), address.size) != 0) continue;
    return host_text(net::local_address(socket.get()));
  }
  return std::nullopt;
}

std::optional<std::string> first_host() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, ::freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const bool is_found = each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
                          (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_found) continue;
    net::SocketAddress address;
    address.size = sizeof(sockaddr_in);
    std::memcpy(&address.storage, each->ifa_addr, sizeof(sockaddr_in));
    return host_text(address);
  }
  return std::nullopt;
}

}  // namespace

std::string advertised_address(const std::vector<std::string>& listeners, std::string_view shared_url) {
  std::string local;
  for (const std::string& text : listeners) {
    const auto listener = net::parse_address(text);
    if (!listener || listener->is_unix() || listener->port == 0) continue;
    if (listener->is_local()) {
      if (local.empty()) local = listener->to_string();
      continue;
    }
    if (listener->host != "0.0.0.0" && listener->host != "::") return listener->to_string();
    std::optional<std::string> host;
    if (const auto shared = host_of(shared_url)) host = host_towards(*shared);
    if (!host) host = first_host();
    return host.value_or("127.0.0.1") + ":" + std::to_string(listener->port);
  }
  return local;
}

}  // namespace mete::server
