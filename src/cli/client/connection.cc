#include "cli/client/connection.h"

#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "cli/client/replies.h"

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
  auto address = TRY(server_address(options.address));
  std::unique_ptr<net::TlsClient> tls;
  if (options.tls) {
    if (address.is_unix()) {
      return base::invalid("TLS needs a host, not a socket of this machine: leave out --tls");
    }
    auto loaded = TRY(net::TlsClient::load(*options.tls, kTlsNames));
    tls = std::make_unique<net::TlsClient>(std::move(loaded));
  }
  auto client = TRY(store::RespClient::open({.address = std::move(address),
                                             .user = options.user,
                                             .password = options.password,
                                             .tls = tls.get(),
                                             .how_to_start = "start one with: mete serve"},
                                            net::Deadline::in(options.timeout)));
  return Connection(std::move(tls), std::move(client), options.timeout);
}

Result<wire::RespValue> Connection::exchange(std::string_view command) {
  TRY(send(command));
  auto reply = receive();
  if (reply && reply->is_error()) return error_of(reply->text);
  return reply;
}

}  // namespace mete::cli
