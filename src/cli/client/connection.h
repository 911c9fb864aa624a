// Connection: a client of a RESP server that sends a command and waits for its reply. For the command line.
//
//     auto connection = Connection::open({.address = "127.0.0.1:6380"});
//     auto reply = connection->call({"TAKE", "api", "alice"});
//
// An error reply of the server is a value, with is_error(); an Error means that there is no reply, and says what to
// do. After an Error the connection is of no further use. Thread safety: none.
#pragma once

#include <mete/result.h>
#include <mete/time.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/tls/tls_client.h"
#include "store/network/resp_client.h"

namespace mete::cli {

struct ConnectionOptions {
  std::string address = "127.0.0.1:6380";
  std::string user = {};      // empty: the default user
  std::string password = {};  // empty: none is sent
  std::optional<net::TlsClientOptions> tls = {};
  Duration timeout = std::chrono::seconds(5);  // to connect, and for each reply
};

// Where a server is, as --server says it; a host without a port is a server on the usual one.
Result<net::Address> server_address(const std::string& text);

class Connection {
 public:
  // Connects, shakes hands and authenticates.
  static Result<Connection> open(const ConnectionOptions& options);

  Result<wire::RespValue> call(std::span<const std::string_view> words) {
    return client_.call(words, net::Deadline::in(timeout_));
  }
  Result<wire::RespValue> call(std::initializer_list<std::string_view> words) {
    return call(std::span(words.begin(), words.size()));
  }

  // The same in two halves, for many commands at once, as wire::append_command() writes them.
  Result<void> send(std::string_view bytes) { return client_.send(bytes, net::Deadline::in(timeout_)); }
  Result<wire::RespValue> receive() { return client_.receive(net::Deadline::in(timeout_)); }
  // And as one, for whom an error reply is the Error that it tells.
  Result<wire::RespValue> exchange(std::string_view command);

  // The server is on this machine.
  [[nodiscard]] bool is_local() { return client_.socket().is_local(); }
  // Hands the socket over, for whoever does his own reading and writing; not with TLS.
  net::Descriptor release_socket() && { return std::move(client_).release_socket(); }

 private:
  Connection(std::unique_ptr<net::TlsClient> tls, store::RespClient client, Duration timeout)
      : tls_(std::move(tls)), client_(std::move(client)), timeout_(timeout) {}

  std::unique_ptr<net::TlsClient> tls_;  // null without TLS; stays where it is, since the client refers to it
  store::RespClient client_;
  Duration timeout_;
};

}  // namespace mete::cli
