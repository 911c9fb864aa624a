#include "cli/client/client_options.h"

#include <utility>

#include "base/errors.h"

namespace mete::cli {

Option server_option() {
  return {.name = "server",
          .kind = ValueKind::kText,
          .value_name = "ADDRESS",
          .help = "Where the server listens for RESP",
          .default_text = "127.0.0.1:6380",
          .environment = "METE_SERVER"};
}

Option password_option() {
  return {.name = "password",
          .kind = ValueKind::kText,
          .value_name = "TEXT",
          .help = "The password of the server; in the variable it is not seen by other users",
          .environment = "METE_PASSWORD"};
}

std::vector<Option> client_options(std::vector<Option> own) {
  using Kind = ValueKind;
  own.push_back(server_option());
  own.push_back(password_option());
  own.push_back({.name = "tls", .help = "Use TLS, and check the server's certificate"});
  own.push_back({.name = "tls-ca",
                 .kind = Kind::kFile,
                 .value_name = "FILE",
                 .help = "The certificates to trust (PEM) instead of those of the system"});
  own.push_back({.name = "tls-cert",
                 .kind = Kind::kFile,
                 .value_name = "FILE",
                 .help = "The certificate of this client (PEM), where the server asks for one"});
  own.push_back({.name = "tls-key", .kind = Kind::kFile, .value_name = "FILE", .help = "Its private key (PEM)"});
  own.push_back({.name = "json", .help = "Print one JSON object instead of text"});
  return own;
}

Result<ConnectionOptions> connection_options(const Invocation& invocation, const Console& console) {
  ConnectionOptions options;
  options.address = invocation.value("server", console);
  options.password = invocation.value("password", console);
  if (invocation.is_on("tls")) {
    options.tls = net::TlsClientOptions{.ca = invocation.value("tls-ca", console),
                                        .certificate = invocation.value("tls-cert", console),
                                        .key = invocation.value("tls-key", console)};
    return options;
  }
  for (const std::string name : {"tls-ca", "tls-cert", "tls-key"}) {
    if (!invocation.given(name)) continue;
    return base::invalid("option '--" + name + "' means nothing without --tls");
  }
  return options;
}

}  // namespace mete::cli
