#include "store/resp_client.h"

#include <array>
#include <utility>
#include <vector>

#include "wire/resp_command.h"

namespace mete::store {

namespace {

constexpr std::size_t kReadBytes = std::size_t{16} << 10;

std::string hint_for(const RespClientOptions& options) {
  if (options.tls != nullptr) return options.tls->certificate_hint();
  return options.address.is_unix() ? "" : "; does the server want TLS?";
}

}  // namespace

RespClient::RespClient(const RespClientOptions& options, net::ClientSocket socket)
    : address_(options.address), socket_(std::move(socket)), first_hint_(hint_for(options)) {}

Result<RespClient> RespClient::open(const RespClientOptions& options, const net::Deadline& deadline) {
  auto socket = net::ClientSocket::open(options.address, options.tls, deadline, options.how_to_start);
  if (!socket) return tl::unexpected(socket.error());
  RespClient client(options, std::move(*socket));
  if (auto done = client.authenticate(options, deadline); !done) return tl::unexpected(done.error());
  return client;
}

Result<void> RespClient::authenticate(const RespClientOptions& options, const net::Deadline& deadline) {
  if (options.password.empty()) return Done{};
  std::vector<std::string_view> words = {"AUTH"};
  if (!options.user.empty()) words.emplace_back(options.user);
  words.emplace_back(options.password);
  const auto reply = call(words, deadline);
  if (!reply) return tl::unexpected(reply.error());
  if (!reply->is_error()) return Done{};
  return tl::unexpected(Error{ErrorCode::kInvalid, address_.to_string() + " refused the password: " + reply->text +
                                                       "; check it, and the user if one is named"});
}

Result<wire::RespValue> RespClient::call(std::span<const std::string_view> words, const net::Deadline& deadline) {
  if (auto done = send(wire::encode_command(words), deadline); !done) return tl::unexpected(done.error());
  return receive(deadline);
}

Result<void> RespClient::send(std::string_view bytes, const net::Deadline& deadline) {
  return socket_.write(bytes, deadline).map_error([this](const Error& error) { return lost(error.message); });
}

Result<wire::RespValue> RespClient::receive(const net::Deadline& deadline) {
  for (;;) {
    auto reply = next();
    if (!reply) return tl::unexpected(reply.error());
    if (*reply) return std::move(**reply);
    if (auto done = read_more(deadline); !done) return tl::unexpected(done.error());
  }
}

Result<std::optional<wire::RespValue>> RespClient::next() {
  for (;;) {
    auto reply = parser_.next();
    if (!reply) {
      return tl::unexpected(
          Error{reply.error().code, address_.to_string() + " does not speak RESP: " + reply.error().message});
    }
    if (!*reply || (*reply)->type != wire::RespType::kPush) return reply;
  }
}

Result<void> RespClient::read_more(const net::Deadline& deadline) {
  std::array<char, kReadBytes> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by reading
  const auto read = socket_.read(room, deadline);
  if (!read) return tl::unexpected(lost(read.error().message));
  has_received_ = true;
  parser_.append({room.data(), *read});
  return Done{};
}

Error RespClient::lost(std::string_view reason) const {
  return {ErrorCode::kUnavailable, "lost the connection to " + address_.to_string() + ": " + std::string(reason) +
                                       "; whether the command was carried out is not known" +
                                       (has_received_ ? "" : first_hint_)};
}

}  // namespace mete::store
