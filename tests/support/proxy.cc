#include "support/proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "support/ports.h"
#include "support/waiting.h"

namespace mete::support {

namespace {

constexpr std::size_t kReadBytes = 65'536;

// The bytes that are there; empty at the end of the connection.
std::string receive(const net::Descriptor& socket) {
  std::array<char, kReadBytes> buffer;
  const ssize_t received = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
  return received > 0 ? std::string(buffer.data(), static_cast<std::size_t>(received)) : std::string();
}

bool send_all(const net::Descriptor& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// The next close() sends RST in place of FIN: what is on the way is lost.
void make_abrupt(const net::Descriptor& socket) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

bool is_ready(const pollfd& polled) { return (polled.revents & (POLLIN | POLLHUP | POLLERR)) != 0; }

}  // namespace

Proxy::Proxy(std::uint16_t target_port) : target_port_(target_port), wakener_(::eventfd(0, EFD_CLOEXEC)) {
  while (!listener_.is_open()) {
    port_ = free_port();
    listener_ = listen_on(port_);
  }
  thread_ = std::thread([this] { run(); });
}

Proxy::~Proxy() {
  do_there([this] { is_ending_ = true; });
  thread_.join();
}

void Proxy::delay_replies(Duration by) { change({.delay = std::chrono::nanoseconds(by.ns())}); }

void Proxy::do_there(std::function<void()> task) {
  std::packaged_task<void()> packaged(std::move(task));
  std::future<void> done = packaged.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(packaged));
  }
  const std::uint64_t one = 1;
  (void)!::write(wakener_.get(), &one, sizeof(one));
  done.get();
}

void Proxy::run_tasks() {
  std::uint64_t ignored = 0;
  (void)!::read(wakener_.get(), &ignored, sizeof(ignored));
  std::vector<std::packaged_task<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) task();
}

void Proxy::change(const Conduct& conduct) {
  do_there([this, conduct] {
    conduct_ = conduct;
    if (conduct.is_refusing) {
      reset_all();
      listener_.close();
    } else if (!listener_.is_open()) {
      listener_ = listen_on(port_);
      if (!listener_.is_open()) fail("somebody else has taken the proxy's port " + std::to_string(port_));
    }
  });
}

void Proxy::reset_all() {
  for (const Pair& pair : pairs_) {
    make_abrupt(pair.client);
    make_abrupt(pair.server);
  }
  pairs_.clear();
}

void Proxy::accept() {
  Pair pair = {net::Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)), connect_to(target_port_)};
  if (!pair.client.is_open()) return;
  ++accepted_;
  if (pair.server.is_open()) {
    pairs_.push_back(std::move(pair));
  } else {
    make_abrupt(pair.client);  // nobody is behind the proxy
  }
}

int Proxy::wait_ms() const {
  constexpr int kForever = -1;
  int wait = kForever;
  for (const Pair& pair : pairs_) {
    if (pair.replies.empty()) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(pair.replies.front().due - Time::clock::now());
    const int left_ms = std::max(0, static_cast<int>(left.count()));
    wait = wait == kForever ? left_ms : std::min(wait, left_ms);
  }
  return wait;
}

bool Proxy::take_reply(Pair& pair) const {
  std::string bytes = receive(pair.server);
  if (bytes.empty()) return false;
  if (conduct_.fate == Fate::kSwallow) return true;
  if (conduct_.fate == Fate::kCut) {
    make_abrupt(pair.client);
    return false;
  }
  if (conduct_.fate == Fate::kGarble) std::ranges::fill(bytes, '!');
  const Time due = Time::clock::now() + conduct_.delay;
  if (conduct_.fate == Fate::kHalve) {
    constexpr std::chrono::milliseconds kPause{5};
    const std::string first = bytes.substr(0, bytes.size() / 2);
    pair.replies.push_back({due, first});
    pair.replies.push_back({due + kPause, bytes.substr(first.size())});
  } else {
    pair.replies.push_back({due, std::move(bytes)});
  }
  return true;
}

bool Proxy::serve(Pair& pair, bool has_request, bool has_reply) {
  if (has_request) {
    const std::string bytes = receive(pair.client);
    if (bytes.empty() || !send_all(pair.server, bytes)) return false;
  }
  if (has_reply && !take_reply(pair)) return false;
  while (!pair.replies.empty() && pair.replies.front().due <= Time::clock::now()) {
    if (!send_all(pair.client, pair.replies.front().bytes)) return false;
    pair.replies.pop_front();
    if (++pair.replied >= conduct_.replies_max) return false;
  }
  return true;
}

void Proxy::run() {
  while (!is_ending_) {
    std::vector<pollfd> polled = {{wakener_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Pair& pair : pairs_) {
      polled.push_back({pair.client.get(), POLLIN, 0});
      polled.push_back({pair.server.get(), POLLIN, 0});
    }
    ::poll(polled.data(), polled.size(), wait_ms());
    auto next = polled.begin() + 2;
    pairs_.remove_if([&](Pair& pair) {
      const bool has_request = is_ready(*next++);
      const bool has_reply = is_ready(*next++);
      return !serve(pair, has_request, has_reply);
    });
    if (is_ready(polled[1])) accept();
    if (is_ready(polled[0])) run_tasks();
  }
}

}  // namespace mete::support
