#include "store/network/resp_client.h"

#include <array>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
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
  auto socket = TRY(net::ClientSocket::open(options.address, options.tls, deadline, options.how_to_start));
  RespClient client(options, std::move(socket));
  TRY(client.authenticate(options, deadline));
  return client;
}

Result<void> RespClient::authenticate(const RespClientOptions& options, const net::Deadline& deadline) {
  if (options.password.empty()) return {};
  std::vector<std::string_view> words = {"AUTH"};
  if (!options.user.empty()) words.emplace_back(options.user);
  words.emplace_back(options.password);
  const auto reply = TRY(call(words, deadline));
  if (!reply.is_error()) return {};
  return base::invalid(address_.to_string() + " refused the password: " + reply.text +
                       "; check it, and the user if one is named");
}

Result<wire::RespValue> RespClient::call(std::span<const std::string_view> words, const net::Deadline& deadline) {
  TRY(send(wire::encode_command(words), deadline));
  return receive(deadline);
}

Result<void> RespClient::send(std::string_view bytes, const net::Deadline& deadline) {
  return socket_.write(bytes, deadline).map_error([this](const Error& error) { return lost(error.message); });
}

Result<wire::RespValue> RespClient::receive(const net::Deadline& deadline) {
  for (;;) {
    auto reply = TRY(next());
    if (reply) return std::move(*reply);
    TRY(read_more(deadline));
  }
}

Result<std::optional<wire::RespValue>> RespClient::next() {
  for (;;) {
    auto reply = parser_.next();
    if (!reply.has_value()) {
      return Error{reply.error().code, address_.to_string() + " does not speak RESP: " + reply.error().message};
    }
    if (!*reply || (*reply)->type != wire::RespType::kPush) return reply;
  }
}

Result<void> RespClient::read_more(const net::Deadline& deadline) {
  std::array<char, kReadBytes> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by reading
  const auto read = socket_.read(room, deadline);
  if (!read) return lost(read.error().message);
  has_received_ = true;
  parser_.append({room.data(), *read});
  return {};
}

Error RespClient::no_answer(const net::Deadline& deadline) const {
  return lost("no answer within " + base::duration_text(deadline.timeout()));
}

Error RespClient::lost(std::string_view reason) const {
  return base::unavailable("lost the connection to " + address_.to_string() + ": " + std::string(reason) +
                           "; whether the command was carried out is not known" + (has_received_ ? "" : first_hint_));
}

}  // namespace mete::store
