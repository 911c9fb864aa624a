#include "lab/cluster/ports.h"

#include <fmt/format.h>

#include <iterator>

#include "net/listener.h"

namespace mete::cli {

namespace {

constexpr std::string_view kHost = "127.0.0.1";

net::Address on_port(std::uint16_t port) { return {.host = std::string(kHost), .port = port, .path = {}}; }

}  // namespace

Result<void> Ports::keep(std::uint16_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto port = static_cast<std::uint16_t>(first + i);
    auto sockets = net::listen_on(on_port(port));
    if (!sockets) {
      return tl::unexpected(
          Error{ErrorCode::kUnavailable,
                fmt::format("{}; --port takes the first of {} free ports in a row", sockets.error().message, count)});
    }
    std::move(sockets->begin(), sockets->end(), std::back_inserter(sockets_));
  }
  return {};
}

Result<std::vector<std::uint16_t>> Ports::find(std::size_t count) {
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < count; ++i) {
    auto sockets = net::listen_on(on_port(0));
    if (!sockets) return tl::unexpected(sockets.error());
    const auto address = net::parse_address(net::local_address(sockets->front().get()).to_string());
    if (!address) return tl::unexpected(address.error());
    ports.push_back(address->port);
    std::move(sockets->begin(), sockets->end(), std::back_inserter(sockets_));
  }
  return ports;
}

}  // namespace mete::cli
