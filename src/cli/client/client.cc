#include "cli/client/client.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/try.h"
#include "wire/resp_command.h"

namespace mete::cli {

namespace {

// So few that their replies fit into the buffers of a socket: the server never waits for this side to read.
constexpr std::size_t kCommandsOnTheWayMax = 256;

}  // namespace

Option server_option() {
  return {"server", ValueKind::kText, "ADDRESS", "Where the server listens for RESP", "127.0.0.1:6380", "METE_SERVER"};
}

Option password_option() {
  constexpr auto kHelp = "The password of the server; in the variable it is not seen by other users";
  return {"password", ValueKind::kText, "TEXT", kHelp, "", "METE_PASSWORD"};
}

std::vector<Option> client_options(std::vector<Option> own) {
  using Kind = ValueKind;
  own.push_back(server_option());
  own.push_back(password_option());
  own.push_back({.name = "tls", .help = "Use TLS, and check the server's certificate"});
  own.push_back({"tls-ca", Kind::kFile, "FILE", "The certificates to trust (PEM) instead of those of the system"});
  own.push_back(
      {"tls-cert", Kind::kFile, "FILE", "The certificate of this client (PEM), where the server asks for one"});
  own.push_back({"tls-key", Kind::kFile, "FILE", "Its private key (PEM)"});
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

Result<Client> Client::open(const Invocation& invocation, const Console& console, Duration patience) {
  auto options = TRY(connection_options(invocation, console));
  options.timeout = options.timeout + patience;
  auto connection = TRY(Connection::open(options));
  return Client(std::move(connection));
}

Result<wire::RespValue> Client::call(const std::vector<std::string>& words) {
  return exchange(wire::encode_command(std::vector<std::string_view>(words.begin(), words.end()))).map_error(explain);
}

Result<wire::RespValue> Client::exchange(std::string_view command) {
  TRY(connection_.send(command));
  auto reply = connection_.receive();
  if (reply && reply->is_error()) return error_of(reply->text);
  return reply;
}

Result<std::vector<wire::RespValue>> Client::call_all(std::span<const std::vector<std::string>> commands) {
  std::vector<wire::RespValue> replies;
  replies.reserve(commands.size());
  std::optional<Error> refusal;
  while (!commands.empty()) {
    const auto some = commands.first(std::min(commands.size(), kCommandsOnTheWayMax));
    std::string bytes;
    for (const std::vector<std::string>& words : some) {
      wire::append_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
    }
    TRY(connection_.send(bytes));
    for (std::size_t i = 0; i < some.size(); ++i) {
      auto reply = TRY(connection_.receive());
      if (reply.is_error() && !refusal) refusal = explain(error_of(reply.text));
      replies.push_back(std::move(reply));
    }
    if (refusal) return std::move(*refusal);
    commands = commands.subspan(some.size());
  }
  return replies;
}

}  // namespace mete::cli
