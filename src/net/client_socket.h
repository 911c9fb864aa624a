// ClientSocket: a client's end of a connection, with or without TLS, for a thread that has nothing else to do than to
// wait. Every step ends by its deadline.
//
// Errors of reading and writing are kUnavailable and say the reason alone ("the server closed the connection"): whoever
// knows what was asked says the rest. After one the connection is of no further use. Thread safety: none.
#pragma once

#include <mete/result.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "net/address.h"
#include "net/deadline.h"
#include "net/descriptor.h"
#include "net/tls/tls_client.h"

namespace mete::net {

class ClientSocket {
 public:
  // Connects, and shakes hands unless `tls` is null. `how_to_start`: as connect_to() has it.
  static Result<ClientSocket> open(const Address& address, const TlsClient* tls, const Deadline& deadline,
                                   std::string_view how_to_start = {});

  // All of the bytes.
  Result<void> write(std::string_view bytes, const Deadline& deadline);
  // Some bytes, one at least.
  Result<std::size_t> read(std::span<char> room, const Deadline& deadline);

  // The connection stands, and nothing came that was not asked for: it can be used again. Does not wait.
  [[nodiscard]] bool is_quiet();
  // Bytes are there that poll() does not announce.
  [[nodiscard]] bool has_buffered_input() const;

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // The server is on this machine.
  [[nodiscard]] bool is_local() const;
  // Hands the socket over, for whoever does his own reading and writing; not with TLS.
  Descriptor release() &&;

 private:
  ClientSocket(Descriptor socket, TlsSession tls) : socket_(std::move(socket)), tls_(std::move(tls)) {}

  // What came of trying to read or write: some bytes, or what to wait for, or why there will be no more.
  struct Attempt {
    std::size_t bytes = 0;
    short awaited = 0;
    std::string failure = {};
  };
  // One attempt, which does not wait.
  Attempt try_write(std::string_view bytes);
  Attempt try_read(std::span<char> room);
  Result<void> wait(short events, const Deadline& deadline) const;

  Descriptor socket_;
  TlsSession tls_;  // null without TLS; goes before the socket
};

}  // namespace mete::net
