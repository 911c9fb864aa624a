#include "support/redis_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "support/ports.h"
#include "support/waiting.h"
#include "wire/resp_command.h"

namespace mete::support {

namespace {

constexpr timeval kPatience = {.tv_sec = 10, .tv_usec = 0};

constexpr std::size_t kReadBytes = 16'384;

std::string why() { return std::strerror(errno); }

}  // namespace

RedisClient::RedisClient(std::uint16_t port)
    : where_("Redis at port " + std::to_string(port)), socket_(connect_to(port)) {
  if (!socket_.is_open()) fail("cannot connect to " + where_ + ": " + why());
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
}

wire::RespValue RedisClient::call(std::span<const std::string_view> words) {
  const std::string request = wire::encode_command(words);
  for (std::string_view rest = request; !rest.empty();) {
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0) fail("cannot send to " + where_ + ": " + why());
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  std::array<char, kReadBytes> buffer;
  while (true) {
    auto reply = parser_.next();
    if (!reply.has_value()) fail("a bad reply of " + where_ + ": " + reply.error().message);
    if (*reply) return std::move(**reply);
    const ssize_t received = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (received <= 0) {
      fail("no answer of " + where_ + " to " + std::string(words[0]) + ": " +
           (received == 0 ? "the connection was closed" : why()));
    }
    parser_.append({buffer.data(), static_cast<std::size_t>(received)});
  }
}

}  // namespace mete::support
