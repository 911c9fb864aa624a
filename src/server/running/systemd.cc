#include "server/running/systemd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

#include "wire/text.h"

namespace mete::server {

namespace {

constexpr int kFirstPassed = 3;  // by convention, behind standard error
constexpr int kPassedMax = 64;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before threads start
  return value == nullptr ? "" : value;
}

}  // namespace

void notify_manager(std::string_view state) {
  const std::string path = environment("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';  // an address without a file
  const net::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  // Nothing can be done if nobody listens.
  std::ignore = ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                         reinterpret_cast<const sockaddr*>(&address), size);
}

std::vector<PassedSocket> take_passed_sockets() {
  std::vector<PassedSocket> sockets;
  const auto pid = wire::parse_integer(environment("LISTEN_PID"));
  const auto count = wire::parse_integer(environment("LISTEN_FDS"));
  std::string names = environment("LISTEN_FDNAMES");
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);  // NOLINT: no threads yet
  if (!pid || *pid != ::getpid() || !count || *count < 1 || *count > kPassedMax) return sockets;
  for (int index = 0; index < *count; ++index) {
    const std::size_t end = names.find(':');
    std::string name = names.substr(0, end);
    names = end == std::string::npos ? "" : names.substr(end + 1);
    if (name != "resp" && name != "http" && name != "grpc") name = index == 0 ? "resp" : "http";
    ::fcntl(kFirstPassed + index, F_SETFD, FD_CLOEXEC);
    sockets.push_back({name, net::Descriptor(kFirstPassed + index)});
  }
  return sockets;
}

}  // namespace mete::server
