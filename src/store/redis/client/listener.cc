#include "store/redis/client/listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/monotonic.h"
#include "base/try.h"
#include "wire/resp_command.h"

namespace mete::store::redis {

namespace {

// ["message", channel, text]
bool is_message(const wire::RespValue& reply) {
  return reply.elements.size() == 3 && reply.elements[0].text == "message";
}

}  // namespace

Listener::Listener(std::function<Node*()> find_node, Duration timeout)
    : find_node_(std::move(find_node)), timeout_(timeout), stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(stop_event_.is_open());
}

void Listener::stop() {
  is_stopped_ = true;
  // It stays readable from now on: nobody reads it.
  const std::uint64_t one = 1;
  CHECK(::write(stop_event_.get(), &one, sizeof one) == sizeof one);
}

Result<bool> Listener::wait(std::string_view channel, Duration at_most) {
  if (is_stopped_) return false;
  if (channel != channel_) client_.reset();
  if (!client_) {
    if (auto done = subscribe(channel); !done) {
      client_.reset();
      return base::unavailable(done.error().message);
    }
  }
  auto message = wait_connected(net::Deadline::in(at_most));
  if (!message.has_value()) client_.reset();
  return message;
}

void Listener::pause(const net::Deadline& deadline) {
  pollfd stopped{stop_event_.get(), POLLIN, 0};
  ::poll(&stopped, 1, static_cast<int>(deadline.left().ms()));
}

Result<void> Listener::subscribe(std::string_view channel) {
  Node* const node = find_node_();
  if (node == nullptr) return base::unavailable("no node of Redis is known to listen to");
  // Whoever finds out that it is back does so for all.
  if (node->lines().is_away()) return base::unavailable(node->address().to_string() + " is away");
  const auto deadline = net::Deadline::in(timeout_);
  auto client = TRY(node->connect_apart(deadline));
  client_.emplace(std::move(client));
  const auto reply = TRY(client_->call({"SUBSCRIBE", channel}, deadline));
  if (reply.is_error()) return base::unavailable(client_->address().to_string() + " refused to listen: " + reply.text);
  channel_ = channel;
  heard_at_ = base::monotonic_now();
  asked_at_.reset();
  return {};
}

Result<bool> Listener::wait_connected(const net::Deadline& deadline) {
  for (;;) {
    auto message = take_message();
    if (!message.has_value() || *message) return message;
    TRY(check_silence());
    if (is_stopped_ || deadline.is_over()) return false;
    const Duration until_check = next_check() - base::monotonic_now();
    const auto step = net::Deadline::in(std::clamp(until_check, Duration(), deadline.left()));
    TRY(read(step));
  }
}

Result<bool> Listener::take_message() {
  for (;;) {
    const auto reply = client_->next();
    if (!reply.has_value()) return base::unavailable(reply.error().message);
    if (!*reply) return false;
    if (is_message(**reply)) return true;
  }
}

Result<void> Listener::read(const net::Deadline& deadline) {
  if (!client_->socket().has_buffered_input()) {
    std::array<pollfd, 2> waiting = {pollfd{client_->socket().descriptor(), POLLIN, 0},
                                     pollfd{stop_event_.get(), POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), static_cast<int>(std::min<std::int64_t>(deadline.left().ms(), 60'000)));
    if (waiting[0].revents == 0) return {};
  }
  heard_at_ = base::monotonic_now();
  asked_at_.reset();
  return client_->read_more(net::Deadline::in(timeout_));
}

Instant Listener::next_check() const { return asked_at_ ? *asked_at_ + timeout_ : heard_at_ + kSilenceMax; }

Result<void> Listener::check_silence() {
  if (base::monotonic_now() < next_check()) return {};
  if (asked_at_) return base::unavailable(client_->address().to_string() + " does not answer while it is listened to");
  asked_at_ = base::monotonic_now();
  const std::string_view words[] = {"PING"};
  return client_->send(wire::encode_command(words), net::Deadline::in(timeout_));
}

}  // namespace mete::store::redis
