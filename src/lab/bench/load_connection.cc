#include "lab/bench/load_connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "base/check.h"
#include "base/errors.h"

namespace mete::lab {

namespace {

Error lost(std::string_view reason) {
  return base::unavailable("lost a connection: " + std::string(reason) +
                           "; does the server still run, and does it allow so many connections?");
}

}  // namespace

Result<void> LoadConnection::send(std::string_view bytes, std::size_t requests, std::uint64_t due_ns) {
  CHECK(has_room());
  in_flight_.push_back({due_ns, requests});
  if (has_unsent()) {
    unsent_ += bytes;
    return {};
  }
  const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return lost(std::generic_category().message(errno));
  if (sent < static_cast<ssize_t>(bytes.size())) unsent_ = bytes.substr(sent < 0 ? 0 : static_cast<std::size_t>(sent));
  return {};
}

Result<void> LoadConnection::send_rest() {
  const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return lost(std::generic_category().message(errno));
  if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
  return {};
}

Result<std::string_view> LoadConnection::read_into(std::span<char> room) {
  CHECK(unread_.size() < room.size());
  unread_.copy(room.data(), unread_.size());
  const ssize_t read = ::recv(socket_.get(), room.data() + unread_.size(), room.size() - unread_.size(), 0);
  if (read == 0) return lost("the server closed it");
  if (read < 0 && errno != EAGAIN && errno != EINTR) return lost(std::generic_category().message(errno));
  return std::string_view(room.data(), unread_.size() + static_cast<std::size_t>(read < 0 ? 0 : read));
}

}  // namespace mete::lab
