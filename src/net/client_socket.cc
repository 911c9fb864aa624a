#include "net/client_socket.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
#include "net/connect.h"
#include "net/fiber.h"

namespace mete::net {

namespace {

Error lost(std::string reason) { return base::unavailable(std::move(reason)); }

}  // namespace

Result<ClientSocket> ClientSocket::open(const Address& address, const TlsClient* tls, const Deadline& deadline,
                                        std::string_view how_to_start) {
  auto socket = TRY(connect_to(address, deadline, how_to_start));
  if (tls == nullptr) return ClientSocket(std::move(socket), nullptr);
  auto session = TRY(tls->shake_hands(socket, address, deadline));
  return ClientSocket(std::move(socket), std::move(session));
}

Result<void> ClientSocket::write(std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    Attempt attempt = try_write(bytes);
    if (!attempt.failure.empty()) return lost(std::move(attempt.failure));
    bytes.remove_prefix(attempt.bytes);
    if (attempt.awaited == 0) continue;
    TRY(wait(attempt.awaited, deadline));
  }
  return {};
}

Result<std::size_t> ClientSocket::read(std::span<char> room, const Deadline& deadline) {
  for (;;) {
    Attempt attempt = try_read(room);
    if (!attempt.failure.empty()) return lost(std::move(attempt.failure));
    if (attempt.bytes > 0) return attempt.bytes;
    TRY(wait(attempt.awaited, deadline));
  }
}

bool ClientSocket::is_quiet() {
  char byte = 0;
  if (!tls_) {
    const ssize_t peeked = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return peeked < 0 && (errno == EAGAIN || errno == EINTR);
  }
  // Through TLS, since what has arrived may be a message of TLS itself.
  ERR_clear_error();
  const int peeked = SSL_peek(tls_.get(), &byte, 1);
  return peeked <= 0 && awaited_by_tls(tls_, peeked) != 0;
}

bool ClientSocket::has_buffered_input() const { return tls_ && SSL_pending(tls_.get()) > 0; }

bool ClientSocket::is_local() const {
  SocketAddress peer;
  peer.size = sizeof peer.storage;
  const int failed = ::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.size);
  return failed == 0 && peer.is_local();
}

Descriptor ClientSocket::release() && {
  CHECK(!tls_);
  return std::move(socket_);
}

ClientSocket::Attempt ClientSocket::try_write(std::string_view bytes) {
  if (tls_) {
    ERR_clear_error();
    const auto size = static_cast<int>(std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max()));
    const int written = SSL_write(tls_.get(), bytes.data(), size);
    if (written > 0) return {.bytes = static_cast<std::size_t>(written)};
    const short awaited = awaited_by_tls(tls_, written);
    return {.awaited = awaited, .failure = awaited == 0 ? tls_failure() : ""};
  }
  const ssize_t written = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (written >= 0) return {.bytes = static_cast<std::size_t>(written)};
  if (errno == EAGAIN || errno == EINTR) return {.awaited = POLLOUT};
  return {.failure = std::generic_category().message(errno)};
}

ClientSocket::Attempt ClientSocket::try_read(std::span<char> room) {
  if (tls_) {
    ERR_clear_error();
    const int read = SSL_read(tls_.get(), room.data(), static_cast<int>(room.size()));
    if (read > 0) return {.bytes = static_cast<std::size_t>(read)};
    const short awaited = awaited_by_tls(tls_, read);
    return {.awaited = awaited, .failure = awaited == 0 ? tls_failure() : ""};
  }
  const ssize_t read = ::recv(socket_.get(), room.data(), room.size(), 0);
  if (read > 0) return {.bytes = static_cast<std::size_t>(read)};
  if (read == 0) return {.failure = "the server closed the connection"};
  if (errno == EAGAIN || errno == EINTR) return {.awaited = POLLIN};
  return {.failure = std::generic_category().message(errno)};
}

Result<void> ClientSocket::wait(short events, const Deadline& deadline) const {
  if (wait_for_socket(socket_.get(), events, deadline)) return {};
  return lost("no answer within " + base::duration_text(deadline.timeout()));
}

}  // namespace mete::net
