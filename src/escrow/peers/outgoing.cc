#include "escrow/peers/outgoing.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/monotonic.h"
#include "base/try.h"
#include "net/fiber.h"

namespace mete::escrow {

namespace {

constexpr std::size_t kReadBytes = std::size_t{16} << 10;

}  // namespace

Outgoing::Outgoing(const Parts& parts, PeerAddress peer)
    : parts_(parts), peer_(std::move(peer)), address_(net::parse_address(peer_.address).value()) {
  status_.name = peer_.name;
  status_.address = peer_.address;
  thread_ = std::thread([this] { run(); });
}

Outgoing::~Outgoing() {
  stop_soon();
  thread_.join();
}

void Outgoing::stop_soon() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
  wake_.notify_all();
}

void Outgoing::use_socket(int socket) {
  // The system gives up a connection on which nothing arrives: else it would wait longer and longer between its
  // attempts, and not notice when the network is back. A Unix socket has no such option, and no network.
  const auto arrive_ms = static_cast<unsigned int>(kArriveWithin.ms());
  if (socket >= 0) ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &arrive_ms, sizeof arrive_ms);
  const std::lock_guard lock(mutex_);
  socket_ = socket;
}

bool Outgoing::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

bool Outgoing::pause(Duration length) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, std::chrono::nanoseconds(length.ns()), [this] { return is_stopping_; });
}

PeerStatus Outgoing::status() const {
  std::unique_lock lock(mutex_);
  PeerStatus status = status_;
  const Progress noted = noted_;
  lock.unlock();
  const Source peer = noted.peer.node.empty() ? kNobody : source_of(noted.peer);
  status.lag = parts_.counters.count_changes(noted.acknowledged, peer);
  return status;
}

LinkTime Outgoing::time() const { return {base::monotonic_now(), parts_.clock.now()}; }

void Outgoing::run() {
  Duration length = kPauseMin;
  do {
    const auto ended = talk();
    if (ended) return;
    bool was_open = false;
    {
      const std::lock_guard lock(mutex_);
      was_open = status_.is_connected;
    }
    note_error(ended.error());
    length = was_open ? kPauseMin : std::min(length + length, kPauseMax);
  } while (pause(length));
}

Result<void> Outgoing::talk() {
  auto socket = TRY(net::ClientSocket::open(address_, parts_.tls, net::Deadline::in(kConnectWithin)));
  Sender sender(parts_.identity, peer_.name, parts_.counters, progress_, time());
  input_.clear();
  use_socket(socket.descriptor());
  auto ended = serve(socket, sender);
  // Why it ends, for the peer; if it does not get it, it will see the end alone.
  if (!ended) static_cast<void>(flush(socket, sender));
  use_socket(-1);
  if (is_stopping()) return {};
  return ended;
}

Result<void> Outgoing::serve(net::ClientSocket& socket, Sender& sender) {
  bool is_noted = false;
  while (!is_stopping()) {
    TRY(sender.advance(time()));
    TRY(flush(socket, sender));
    TRY(read(socket, sender));
    if (sender.is_open() && !std::exchange(is_noted, true)) note_open();
  }
  return {};
}

Result<void> Outgoing::flush(net::ClientSocket& socket, Sender& sender) {
  const std::string bytes = std::exchange(sender.output(), {});
  if (bytes.empty()) return {};
  TRY(socket.write(bytes, net::Deadline::in(kTakeWithin)));
  const std::lock_guard lock(mutex_);
  status_.bytes_sent += bytes.size();
  return {};
}

Result<void> Outgoing::read(net::ClientSocket& socket, Sender& sender) {
  const bool has_input =
      socket.has_buffered_input() || net::wait_for_socket(socket.descriptor(), POLLIN, net::Deadline::in(kLookEvery));
  if (!has_input) return {};
  std::array<char, kReadBytes> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  const auto bytes = TRY(socket.read(room, net::Deadline::in(Sender::kAnswerWithin)));
  input_.append(room.data(), bytes);
  std::string_view rest = input_;
  auto received = sender.receive(rest, time());
  input_.erase(0, input_.size() - rest.size());
  const std::lock_guard lock(mutex_);
  status_.bytes_received += bytes;
  status_.last_heard = parts_.clock.now();
  noted_ = progress_;
  return received;
}

void Outgoing::note_open() {
  {
    const std::lock_guard lock(mutex_);
    status_.is_connected = true;
    status_.last_error.clear();
  }
  if (parts_.log != nullptr) parts_.log->info("peer connected", {{"peer", peer_.name}, {"address", peer_.address}});
}

void Outgoing::note_error(const Error& error) {
  bool was_connected = false;
  bool is_known = false;
  {
    const std::lock_guard lock(mutex_);
    was_connected = std::exchange(status_.is_connected, false);
    is_known = !was_connected && status_.last_error == error.message;
    status_.last_error = error.message;
  }
  // It is tried twice a second: what is wrong is said once.
  if (parts_.log == nullptr || is_known) return;
  parts_.log->warning(was_connected ? "peer lost" : "no link to a peer",
                      {{"peer", peer_.name}, {"address", peer_.address}, {"reason", error.message}});
}

}  // namespace mete::escrow
