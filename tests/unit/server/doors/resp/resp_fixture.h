// A service on a store in memory whose time stands still, and clients that talk RESP to it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <string>
#include <thread>

#include "server/decisions/wait_queue.h"
#include "server/doors/resp/resp_session.h"
#include "server/running/background.h"
#include "server/running/service.h"
#include "server/running/worker.h"
#include "store/embedded/embedded_store.h"
#include "wire/resp_reply.h"
#include "wire/text.h"

namespace mete::server::testing {

using namespace std::chrono_literals;

// A reply on one line: 5, "bulk", +simple, -error, nil, [array], {map}, <set>, =verbatim.
inline std::string show(const wire::RespValue& value) {
  const auto list = [&](char open, char close) {
    std::string text(1, open);
    for (std::size_t index = 0; index < value.elements.size(); ++index) {
      const bool is_value = value.type == wire::RespType::kMap && index % 2 == 1;
      text += (index == 0 ? "" : is_value ? ": " : ", ") + show(value.elements[index]);
    }
    return text + close;
  };
  switch (value.type) {
    case wire::RespType::kNull:
      return "nil";
    case wire::RespType::kSimple:
      return "+" + value.text;
    case wire::RespType::kError:
      return "-" + value.text;
    case wire::RespType::kInteger:
      return std::to_string(value.integer);
    case wire::RespType::kBulk:
      return wire::quote(value.text, value.text.size());
    case wire::RespType::kArray:
      return list('[', ']');
    case wire::RespType::kMap:
      return list('{', '}');
    case wire::RespType::kSet:
      return list('<', '>');
    case wire::RespType::kVerbatim:
      return "=" + value.text;
    default:
      return "?";
  }
}

inline std::vector<std::unique_ptr<Worker>> make_workers(std::size_t count) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::size_t index = 0; index < count; ++index) workers.push_back(std::make_unique<Worker>());
  return workers;
}

class RespFixture : public ::testing::Test {
 protected:
  // 2023-11-14 22:13:20 UTC.
  static constexpr Instant kStart = Instant::from_unix_seconds(1'700'000'000);

  explicit RespFixture(Config config = {}) : service(store, std::move(config), make_workers(1)) {
    service.slow_threshold_ns = std::numeric_limits<std::int64_t>::max();
    service.turn = std::chrono::hours(1);
    service.started_unix_seconds = kStart.unix_seconds();
    service.shut_down = [this] { was_shut_down = true; };
    service.apply_config = [this] { service.slow_threshold_ns = service.config.slowlog_threshold.ns(); };
  }

  // A session without a connection.
  std::unique_ptr<RespSession> make_session(std::uint64_t id = 1) {
    auto client = std::make_shared<Client>();
    client->id = id;
    client->worker = service.workers[0].get();
    client->address = "127.0.0.1:" + std::to_string(40'000 + id);
    client->local_address = "127.0.0.1:6380";
    client->socket = 5;
    client->connected_at_ns = service.workers[0]->loop.now_ns();
    return std::make_unique<RespSession>(service, *service.workers[0], client);
  }

  void define(const Limit& limit) { ASSERT_TRUE(store.define(limit).has_value()); }

  ManualClock clock{kStart};
  store::EmbeddedStore store{Options{.clock = &clock}};
  std::atomic<bool> was_shut_down = false;
  Service service;
};

// One end of a connection to the service.
class RespClient {
 public:
  RespClient(Worker& worker, std::uint64_t id, const net::Protocol& protocol) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = net::Descriptor(ends[0]);
    // Far longer than anything here takes: only a reply that never comes meets it.
    const timeval patience{30, 0};
    ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    worker.loop.post([&worker, &protocol, id, end = ends[1]] {
      ::fcntl(end, F_SETFL, O_NONBLOCK);
      worker.connections.add(net::Descriptor(end), id, protocol);
    });
  }

  void send(std::string_view bytes) {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void end_sending() { ::shutdown(socket_.get(), SHUT_WR); }
  void close() { socket_.close(); }
  [[nodiscard]] bool has_input() const {
    char byte = 0;
    return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
  }
  // All that comes until the server ends its side, as it is.
  std::string read_to_end() {
    std::string text;
    std::array<char, 4096> bytes{};
    while (true) {
      const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (count <= 0) return text;
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }

  std::string next() {
    while (true) {
      const auto reply = parser_.next();
      if (!reply.has_value()) return "bad reply: " + reply.error().message;
      if (*reply) return show(**reply);
      std::array<char, 4096> bytes{};
      const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (count <= 0) return count == 0 ? "(closed)" : "(nothing)";
      parser_.append({bytes.data(), static_cast<std::size_t>(count)});
    }
  }

  std::string ask(const std::string& line) {
    send(line + "\r\n");
    return next();
  }

 private:
  net::Descriptor socket_;
  wire::ReplyParser parser_;
};

// The service's event loop runs in a thread of its own.
class RespServerFixture : public RespFixture {
 protected:
  explicit RespServerFixture(Config config = {}) : RespFixture(std::move(config)) {
    protocol.make_session = [this](net::ConnectionSet&, std::uint64_t id, int) { return make_session(id); };
    thread = std::thread([this] { service.workers[0]->loop.run(); });
  }
  ~RespServerFixture() override {
    service.workers[0]->loop.stop();
    thread.join();
  }

  RespClient connect() { return {*service.workers[0], ++last_id, protocol}; }

  net::Protocol protocol;
  std::uint64_t last_id = 0;
  std::thread thread;
};

}  // namespace mete::server::testing
