#include "cli/client/connection.h"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/duration_text.h"
#include "wire/resp_command.h"
#include "wire/text.h"

namespace mete::cli {

namespace {

constexpr std::size_t kReadBytes = std::size_t{16} << 10;
constexpr std::string_view kDefaultPort = ":6380";

}  // namespace

Result<net::Address> server_address(const std::string& text) {
  if (text.find("://") != std::string::npos) {
    return tl::unexpected(Error{ErrorCode::kInvalid,
                                "--server takes an address, not a URL: HOST, HOST:PORT or unix:PATH; TLS and the "
                                "password have options of their own"});
  }
  const bool has_port = !text.ends_with(']') && text.find(':') != std::string::npos;
  return net::parse_address(has_port || text.empty() ? text : text + std::string(kDefaultPort));
}

// What came of trying to read or write: some bytes, or what to wait for, or why there will be no more.
struct Connection::Attempt {
  std::size_t bytes = 0;
  short awaited = 0;
  std::string failure = {};
};

Result<Connection> Connection::open(const ConnectionOptions& options) {
  auto address = server_address(options.address);
  if (!address) return tl::unexpected(address.error());
  auto socket = connect_to(*address, options.timeout);
  if (!socket) return tl::unexpected(socket.error());
  TlsSession tls;
  if (options.tls) {
    auto session = start_tls(*socket, *address, *options.tls, options.timeout);
    if (!session) return tl::unexpected(session.error());
    tls = std::move(*session);
  }
  Connection connection(std::move(*address), std::move(*socket), std::move(tls), options);
  if (auto done = connection.authenticate(options); !done) return tl::unexpected(done.error());
  return connection;
}

Result<void> Connection::authenticate(const ConnectionOptions& options) {
  if (options.password.empty()) return Done{};
  std::vector<std::string_view> words = {"AUTH"};
  if (!options.user.empty()) words.emplace_back(options.user);
  words.emplace_back(options.password);
  const auto reply = call(words);
  if (!reply) return tl::unexpected(reply.error());
  if (!reply->is_error()) return Done{};
  return tl::unexpected(Error{ErrorCode::kInvalid, address_.to_string() + " refused the password: " + reply->text +
                                                       "; check it, and the user if one is named"});
}

Result<wire::RespValue> Connection::call(std::span<const std::string_view> words) {
  if (auto done = send(wire::encode_command(words)); !done) return tl::unexpected(done.error());
  for (;;) {
    auto reply = parser_.next();
    if (!reply) {
      return tl::unexpected(
          Error{reply.error().code, address_.to_string() + " does not speak RESP: " + reply.error().message});
    }
    // A push is no reply to anything: the server sends it of its own accord.
    if (*reply && (*reply)->type != wire::RespType::kPush) return std::move(**reply);
    if (*reply) continue;
    if (auto done = receive(); !done) return tl::unexpected(done.error());
  }
}

bool Connection::is_local() const {
  net::SocketAddress peer;
  peer.size = sizeof peer.storage;
  const int failed = ::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer.storage), &peer.size);
  return failed == 0 && peer.is_local();
}

net::Descriptor Connection::release_socket() && {
  CHECK(!tls_);
  return std::move(socket_);
}

Result<void> Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const Attempt attempt = try_write(bytes);
    if (!attempt.failure.empty()) return tl::unexpected(lost(attempt.failure));
    bytes.remove_prefix(attempt.bytes);
    if (attempt.awaited == 0) continue;
    if (auto done = wait(attempt.awaited); !done) return done;
  }
  return Done{};
}

Result<void> Connection::receive() {
  std::array<char, kReadBytes> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by reading
  for (;;) {
    const Attempt attempt = try_read(room);
    if (!attempt.failure.empty()) return tl::unexpected(lost(attempt.failure));
    if (attempt.bytes > 0) {
      has_received_ = true;
      parser_.append({room.data(), attempt.bytes});
      return Done{};
    }
    if (auto done = wait(attempt.awaited); !done) return done;
  }
}

Connection::Attempt Connection::try_write(std::string_view bytes) {
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

Connection::Attempt Connection::try_read(std::span<char> room) {
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

Result<void> Connection::wait(short events) {
  if (wait_for_socket(socket_, events, timeout_)) return Done{};
  return tl::unexpected(lost("no answer within " + base::duration_text(timeout_)));
}

Error Connection::lost(std::string_view reason) const {
  return {ErrorCode::kUnavailable, "lost the connection to " + address_.to_string() + ": " + std::string(reason) +
                                       "; whether the command was carried out is not known" +
                                       std::string(has_received_ ? "" : first_hint_)};
}

std::string_view Connection::hint_for(const net::Address& address, const ConnectionOptions& options) {
  if (options.tls) return certificate_hint(*options.tls);
  return address.is_unix() ? "" : "; does the server want TLS?";
}

}  // namespace mete::cli
