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
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/client/connect.h"
#include "cli/client/tls.h"
#include "wire/resp_reply.h"

namespace mete::cli {

struct ConnectionOptions {
  std::string address = "127.0.0.1:6380";
  std::string user = {};      // empty: the default user
  std::string password = {};  // empty: none is sent
  std::optional<TlsOptions> tls = {};
  Duration timeout = std::chrono::seconds(5);  // for each wait: to connect, and for bytes of a reply
};

// Where a server is, as --server says it; a host without a port is a server on the usual one.
Result<net::Address> server_address(const std::string& text);

class Connection {
 public:
  // Connects, shakes hands and authenticates.
  static Result<Connection> open(const ConnectionOptions& options);

  Result<wire::RespValue> call(std::span<const std::string_view> words);
  Result<wire::RespValue> call(std::initializer_list<std::string_view> words) {
    return call(std::span(words.begin(), words.size()));
  }

  // The server is on this machine.
  [[nodiscard]] bool is_local() const;
  // Hands the socket over, for whoever does his own reading and writing; not with TLS.
  net::Descriptor release_socket() &&;

 private:
  Connection(net::Address address, net::Descriptor socket, TlsSession tls, const ConnectionOptions& options)
      : address_(std::move(address)),
        socket_(std::move(socket)),
        tls_(std::move(tls)),
        timeout_(options.timeout),
        first_hint_(hint_for(address_, options)) {}

  Result<void> authenticate(const ConnectionOptions& options);
  Result<void> send(std::string_view bytes);
  Result<void> receive();
  Result<void> wait(short events);
  // One attempt, which does not wait.
  struct Attempt;
  Attempt try_write(std::string_view bytes);
  Attempt try_read(std::span<char> room);
  [[nodiscard]] Error lost(std::string_view reason) const;
  [[nodiscard]] static std::string_view hint_for(const net::Address& address, const ConnectionOptions& options);

  net::Address address_;
  net::Descriptor socket_;
  TlsSession tls_;  // null without TLS; goes before the socket
  Duration timeout_;
  std::string_view first_hint_;  // what may be wrong if the server goes without a word
  wire::ReplyParser parser_;
  bool has_received_ = false;  // anything at all
};

}  // namespace mete::cli
