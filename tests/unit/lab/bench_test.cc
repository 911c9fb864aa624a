#include "lab/bench/bench.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/frame/command.h"
#include "net/descriptor.h"

namespace mete::lab {
namespace {

using namespace std::chrono_literals;

// Answers every command with the same reply. A command is an array, so there are as many as there are asterisks.
class EchoServer {
 public:
  explicit EchoServer(std::string reply)
      : reply_(std::move(reply)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  EchoServer(EchoServer&&) = delete;
  ~EchoServer() {
    is_stopping_ = true;
    thread_.join();
  }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::uint64_t commands() const { return commands_; }

 private:
  void serve() {
    while (!is_stopping_) {
      std::vector<pollfd> waiting = {{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
      for (const net::Descriptor& socket : sockets_)
        waiting.push_back({.fd = socket.get(), .events = POLLIN, .revents = 0});
      ::poll(waiting.data(), waiting.size(), 10);
      for (std::size_t index = 1; index < waiting.size(); ++index) {
        if (waiting[index].revents != 0) answer(sockets_[index - 1]);
      }
      const auto is_closed = [](const net::Descriptor& socket) { return !socket.is_open(); };
      sockets_.erase(std::remove_if(sockets_.begin(), sockets_.end(), is_closed), sockets_.end());
      net::Descriptor accepted(::accept(listener_.get(), nullptr, nullptr));
      if (accepted.is_open()) sockets_.push_back(std::move(accepted));
    }
  }
  void answer(net::Descriptor& socket) {
    char room[4096];
    const ssize_t read = ::recv(socket.get(), room, sizeof room, 0);
    if (read <= 0) return socket.close();
    const auto commands = std::count(room, room + read, '*');
    commands_ += static_cast<std::uint64_t>(commands);
    std::string replies;
    for (auto count = commands; count > 0; --count) replies += reply_;
    ::send(socket.get(), replies.data(), replies.size(), MSG_NOSIGNAL);
  }

  std::string reply_;
  net::Descriptor listener_;
  std::uint16_t port_ = 0;
  std::vector<net::Descriptor> sockets_;
  std::atomic<std::uint64_t> commands_ = 0;
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;
};

// The number after "name": in JSON.
std::uint64_t number_of(const std::string& json, const std::string& name) {
  const std::size_t at = json.find("\"" + name + "\":");
  EXPECT_NE(at, std::string::npos) << name << " in " << json;
  return std::stoull(json.substr(at + name.size() + 3));
}

BenchOptions small_bench(const EchoServer& server) {
  BenchOptions options;
  options.server.address = server.address();
  options.command = {"TAKE", "api", "key:{key}"};
  options.connections = 3;
  options.pipeline = 4;
  options.threads = 2;
  options.keys = 50;
  options.warm_up = 1ms;
  options.requests = 200;
  options.json = true;
  return options;
}

TEST(BenchTest, CountsRepliesAndDenials) {
  EchoServer server("*2\r\n:0\r\n:5\r\n");
  BenchOptions options = small_bench(server);
  options.fill = true;
  std::ostringstream output;
  std::ostringstream error;
  EXPECT_EQ(run_bench(options, output, error), 0);
  EXPECT_EQ(number_of(output.str(), "requests"), 200U);
  EXPECT_EQ(number_of(output.str(), "denials"), number_of(output.str(), "requests"));
  EXPECT_EQ(number_of(output.str(), "errors"), 0U);
  EXPECT_GT(number_of(output.str(), "max"), 0U);
  EXPECT_GE(server.commands(), 250U);  // with those that fill
}

// Without a warm-up nothing else is sent; with a rate it is no different.
TEST(BenchTest, SendsAsManyRequestsAsItIsTold) {
  const struct {
    std::uint64_t requests;
    std::uint64_t rate;
    std::uint64_t sent;  // in whole batches of four
  } rows[] = {{1, 0, 4}, {4, 0, 4}, {101, 0, 104}, {101, 20'000, 104}};
  for (const auto& row : rows) {
    EchoServer server("+OK\r\n");
    BenchOptions options = small_bench(server);
    options.warm_up = Duration();
    options.requests = row.requests;
    options.rate = row.rate;
    std::ostringstream output;
    std::ostringstream error;
    EXPECT_EQ(run_bench(options, output, error), 0) << error.str();
    EXPECT_EQ(number_of(output.str(), "requests"), row.sent);
    EXPECT_EQ(server.commands(), row.sent + 1) << "and INFO";
  }
}

TEST(BenchTest, TellsErrors) {
  EchoServer server("-NOLIMIT unknown limit 'api'\r\n");
  std::ostringstream output;
  std::ostringstream error;
  EXPECT_EQ(run_bench(small_bench(server), output, error), 1);
  EXPECT_EQ(number_of(output.str(), "errors"), number_of(output.str(), "requests"));
  EXPECT_NE(output.str().find("\"first_error\":\"NOLIMIT unknown limit 'api'\""), std::string::npos) << output.str();
}

// Bounds are generous: the machine may be busy.
TEST(BenchTest, KeepsToTheRate) {
  EchoServer server("+OK\r\n");
  BenchOptions options = small_bench(server);
  options.requests = 0;
  options.duration = 500ms;
  options.rate = 2'000;
  std::ostringstream output;
  std::ostringstream error;
  EXPECT_EQ(run_bench(options, output, error), 0);
  EXPECT_GE(number_of(output.str(), "requests"), 100U);
  EXPECT_LE(number_of(output.str(), "requests"), 4'000U);
}

TEST(BenchTest, RefusesWhatMakesNoSense) {
  EchoServer server("+OK\r\n");
  const auto refuses = [&](auto&& change) {
    BenchOptions options = small_bench(server);
    change(options);
    std::ostringstream output;
    std::ostringstream error;
    return run_bench(options, output, error) == cli::kExitError && output.str().empty() && !error.str().empty();
  };
  EXPECT_TRUE(refuses([](BenchOptions& options) { options.connections = 0; }));
  EXPECT_TRUE(refuses([](BenchOptions& options) { options.pipeline = kBenchPipelineMax + 1; }));
  EXPECT_TRUE(refuses([](BenchOptions& options) { options.threads = 4; }));
  EXPECT_TRUE(refuses([](BenchOptions& options) { options.keys = 0; }));
  EXPECT_TRUE(refuses([](BenchOptions& options) { options.server.tls = net::TlsClientOptions{}; }));
}

}  // namespace
}  // namespace mete::lab
