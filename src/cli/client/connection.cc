#include "cli/client/connection.h"

#include <utility>

#include "base/errors.h"

namespace mete::cli {

namespace {

constexpr std::string_view kDefaultPort = ":6380";
constexpr net::TlsClientNames kTlsNames = {
    .kind = "option", .ca = "--tls-ca", .certificate = "--tls-cert", .key = "--tls-key"};

}  // namespace

Result<net::Address> server_address(const std::string& text) {
  if (text.find("://") != std::string::npos) {
    return base::invalid(
        "--server takes an address, not a URL: HOST, HOST:PORT or unix:PATH; TLS and the "
        "password have options of their own");
  }
  const bool has_port = !text.ends_with(']') && text.find(':') != std::string::npos;
  return net::parse_address(has_port || text.empty() ? text : text + std::string(kDefaultPort));
}

Result<Connection> Connection::open(const ConnectionOptions& options) {
  auto address = server_address(options.address);
  if (!address) return tl::unexpected(address.error());
  std::unique_ptr<net::TlsClient> tls;
  if (options.tls) {
    if (address->is_unix()) {
      return base::invalid("TLS needs a host, not a socket of this machine: leave out --tls");
    }
    auto loaded = net::TlsClient::load(*options.tls, kTlsNames);
    if (!loaded) return tl::unexpected(loaded.error());
    tls = std::make_unique<net::TlsClient>(std::move(*loaded));
  }
  auto client = store::RespClient::open({.address = std::move(*address),
                                         .user = options.user,
                                         .password = options.password,
                                         .tls = tls.get(),
                                         .how_to_start = "start one with: mete serve"},
                                        net::Deadline::in(options.timeout));
  if (!client) return tl::unexpected(client.error());
  return Connection(std::move(tls), std::move(*client), options.timeout);
}

}  // namespace mete::cli
