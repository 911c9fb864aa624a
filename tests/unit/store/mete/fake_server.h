// FakeServer: something on a port that greets as a Mete server does, and answers all else with the same bytes.
#pragma once

#include <sys/socket.h>

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/ports.h"

namespace mete::store::servers {

class FakeServer {
 public:
  explicit FakeServer(std::string answer)
      : answer_(std::move(answer)),
        port_(support::free_port()),
        listener_(support::listen_on(port_)),
        thread_([this] { serve(); }) {}
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  void set_answer(std::string answer) {
    const std::lock_guard guard(mutex_);
    answer_ = std::move(answer);
  }
  [[nodiscard]] std::string url() const { return "mete://127.0.0.1:" + std::to_string(port_) + "?timeout=5s"; }

 private:
  void serve() {
    std::vector<std::thread> clients;
    std::vector<int> sockets;
    for (int socket = 0; (socket = ::accept(listener_.get(), nullptr, nullptr)) >= 0;) {
      sockets.push_back(socket);
      clients.emplace_back([this, socket] { talk(socket); });
    }
    for (const int socket : sockets) ::shutdown(socket, SHUT_RDWR);
    for (std::thread& client : clients) client.join();
    for (const int socket : sockets) ::close(socket);
  }
  // Each request arrives whole, and alone: its sender waits for the answer.
  void talk(int socket) {
    std::array<char, 4096> bytes{};
    for (ssize_t count = 0; (count = ::recv(socket, bytes.data(), bytes.size(), 0)) > 0;) {
      const std::string_view request(bytes.data(), static_cast<std::size_t>(count));
      std::string answer =
          "*14\r\n:1700000000000000000\r\n:1\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n"
          ":0\r\n:0\r\n:0\r\n";
      if (request.find("STATS") == std::string_view::npos) {
        const std::lock_guard guard(mutex_);
        const bool is_list = request.find("LIMITS") != std::string_view::npos;
        answer = is_list ? "*2\r\n:1700000000000000000\r\n:0\r\n" : answer_;
      }
      if (::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  std::mutex mutex_;
  std::string answer_;  // under mutex_
  std::uint16_t port_;
  net::Descriptor listener_;
  std::thread thread_;
};

}  // namespace mete::store::servers
