// RespClient: one connection to a server that speaks RESP: commands out, replies in, in the same order.
//
//     auto client = RespClient::open({.address = address, .password = "secret"}, Deadline::in(250ms));
//     auto reply = client->call({"PING"}, Deadline::in(250ms));
//
// An error reply of the server is a value, with is_error(); an Error means that there is no reply. After an Error the
// connection is of no further use: a late reply would be taken for that of another command. Thread safety: none.
#pragma once

#include <mete/result.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/client_socket.h"
#include "wire/resp_reply.h"

namespace mete::store {

struct RespClientOptions {
  net::Address address = {};
  std::string user = {};                // empty: the default user
  std::string password = {};            // empty: none is sent
  const net::TlsClient* tls = nullptr;  // null: without TLS; outlives the client
  std::string_view how_to_start = {};   // a server like this, for the error if there is none
};

class RespClient {
 public:
  // Connects, shakes hands and authenticates.
  static Result<RespClient> open(const RespClientOptions& options, const net::Deadline& deadline);

  // Commands as wire::append_command() writes them, one or many.
  Result<void> send(std::string_view bytes, const net::Deadline& deadline);
  // The next reply. Pushes, which are no reply to anything, are dropped.
  Result<wire::RespValue> receive(const net::Deadline& deadline);
  // The same in two steps, for whoever waits for more than one thing: a reply that has arrived already; more bytes.
  Result<std::optional<wire::RespValue>> next();
  Result<void> read_more(const net::Deadline& deadline);

  Result<wire::RespValue> call(std::span<const std::string_view> words, const net::Deadline& deadline);
  Result<wire::RespValue> call(std::initializer_list<std::string_view> words, const net::Deadline& deadline) {
    return call(std::span(words.begin(), words.size()), deadline);
  }

  // Why there is no reply, of a call whose time is over.
  [[nodiscard]] Error no_answer(const net::Deadline& deadline) const;

  [[nodiscard]] const net::Address& address() const { return address_; }
  [[nodiscard]] net::ClientSocket& socket() { return socket_; }
  net::Descriptor release_socket() && { return std::move(socket_).release(); }

 private:
  RespClient(const RespClientOptions& options, net::ClientSocket socket);
  Result<void> authenticate(const RespClientOptions& options, const net::Deadline& deadline);
  [[nodiscard]] Error lost(std::string_view reason) const;

  net::Address address_;
  net::ClientSocket socket_;
  std::string first_hint_;  // what may be wrong if the server goes without a word
  wire::ReplyParser parser_;
  bool has_received_ = false;  // anything at all
};

}  // namespace mete::store
