// A connection to a session that answers lines, and the client at its other end, on a loop that runs when it is told
// to.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <mutex>
#include <string>

#include "net/connection.h"
#include "net/connection_set.h"
#include "net/fiber.h"
#include "net/signal.h"

namespace mete::net::testing {

using namespace std::chrono_literals;

// A server that answers when the test lets it.
class AnotherServer {
 public:
  void ask() {
    ++asking_;
    std::unique_lock lock(mutex_);
    answered_.wait(lock, Deadline::in(Duration::never()), [this] { return is_answering_; });
    --asking_;
  }
  void answer(bool is_answering = true) {
    const std::lock_guard guard(mutex_);
    is_answering_ = is_answering;
    answered_.notify_all();
  }
  [[nodiscard]] int asking() const { return asking_; }

 private:
  std::mutex mutex_;
  Signal answered_;
  bool is_answering_ = false;
  int asking_ = 0;
};

// Answers each line: "echo X" with X, and so "question X", which everybody may ask; "big N" with N bytes; "need N" is
// the ticket that the answers of the batch wait for; "block" blocks, "close" closes, "wait" blocks as one does who must
// not wait for a client that has gone; "ask X" waits for another server, which answers X (on a fiber alone); "known"
// makes a stranger known.
class LineSession final : public Session {
 public:
  LineSession(std::string& log, AnotherServer& server, bool is_stranger, const bool& is_known_valid)
      : log_(log), server_(server), is_stranger_(is_stranger), is_known_valid_(is_known_valid) {}
  ~LineSession() override { log_ += "gone "; }

  Received receive(std::string_view input, base::Output& output, std::size_t output_max) override {
    Received received;
    while (received.next == Next::kRead) {
      const std::string_view rest = input.substr(received.consumed);
      const std::size_t end = rest.find('\n');
      if (end == std::string_view::npos) break;
      const std::string_view line = rest.substr(0, end);
      received.consumed += end + 1;
      if (line.starts_with("echo ")) {
        output.append(line.substr(5));
      } else if (line.starts_with("question ")) {
        output.append(line.substr(9));
        received.is_question_answered = true;
      } else if (line.starts_with("big ")) {
        output.append(std::string(std::stoul(std::string(line.substr(4))), 'x'));
      } else if (line.starts_with("need ")) {
        received.ticket = std::stoul(std::string(line.substr(5)));
      } else if (line.starts_with("ask ")) {
        server_.ask();
        output.append(line.substr(4));
      } else if (line == "listen") {
        may_be_silent_ = true;
      } else if (line == "known") {
        is_stranger_ = false;
      } else if (line == "close") {
        received.next = Next::kClose;
      } else {
        is_waiting_ = line == "wait";
        received.next = Next::kBlock;
      }
      if (received.next == Next::kRead && output.size() >= output_max) received.next = Next::kDrain;
    }
    return received;
  }
  void on_timeout(base::Output& output) override { output.append("late"); }
  void on_overflow(base::Output& output) override { output.append("long"); }
  void on_lost(base::Output& output) override { output.append("lost"); }
  [[nodiscard]] bool is_stranger() const override { return is_stranger_ || !is_known_valid_; }
  [[nodiscard]] bool may_be_silent() const override { return may_be_silent_; }
  [[nodiscard]] bool answers_half_closed() const override { return !is_waiting_; }

 private:
  std::string& log_;
  AnotherServer& server_;
  bool is_stranger_;
  const bool& is_known_valid_;
  bool may_be_silent_ = false;
  bool is_waiting_ = false;
};

class ConnectionFixture : public ::testing::Test {
 protected:
  explicit ConnectionFixture(bool has_fibers) : set(loop, has_fibers ? &fibers : nullptr) {
    protocol.make_session = [this](ConnectionSet&, std::uint64_t, int) {
      return std::make_unique<LineSession>(log, server, clients_are_strangers, is_known_valid);
    };
    protocol.on_closed = [this](std::uint64_t) { log += "closed "; };
    protocol.limits.input_max = 1000;
    protocol.limits.output_max = 10'000;
    protocol.limits.idle_max = 60s;
    protocol.limits.request_max = 10s;
    protocol.limits.stall_max = 20s;
    protocol.limits.stranger_input_max = 100;
    protocol.limits.stranger_output_max = 200;
    protocol.limits.stranger_max = 5s;
  }

  void connect() {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    // Small buffers: a few kilobytes fill them.
    const int size = 4096;
    ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    client = Descriptor(ends[0]);
    set.add(Descriptor(ends[1]), 1, protocol);
  }
  void send(std::string_view bytes) {
    ASSERT_EQ(::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    settle();
  }
  void settle() {
    for (int round = 0; round < 20; ++round) {
      loop.stop();
      loop.run();
    }
  }
  // What has arrived; "(end)" behind it if the server has ended its side.
  std::string receive() {
    std::string text;
    std::array<char, 1000> bytes{};
    while (true) {
      settle();
      const ssize_t count = ::recv(client.get(), bytes.data(), bytes.size(), 0);
      if (count == 0) return text + "(end)";
      if (count < 0) return errno == EAGAIN ? text : text + "(reset)";
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }
  bool resume(std::string_view answer, Ticket ticket = 0) {
    bool is_taken = false;
    EXPECT_TRUE(set.with(1, [&](Connection& connection) { is_taken = connection.resume(answer, ticket); }));
    return is_taken;
  }
  void push(std::string_view bytes) {
    EXPECT_TRUE(set.with(1, [&](Connection& connection) { connection.push(bytes); }));
  }
  void pass(Duration time) {
    const std::uint64_t then_ns = loop.now_ns() + static_cast<std::uint64_t>(time.ns());
    set.with(1, [&](Connection& connection) { connection.check_time(then_ns); });
    settle();
  }

  bool clients_are_strangers = false;
  bool is_known_valid = true;  // what clients have shown
  std::string log;
  AnotherServer server;
  EventLoop loop;
  Fibers fibers{loop};
  Protocol protocol;
  ConnectionSet set;
  Descriptor client;
};

}  // namespace mete::net::testing
