#include "cli/client/connection.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <string_view>
#include <thread>

#include "wire/resp_command.h"

namespace mete::cli {
namespace {

using namespace std::chrono_literals;

// A server that accepts one connection, sends its words whatever it is asked, and closes once the client does.
class StubServer {
 public:
  explicit StubServer(std::string words) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, words = std::move(words)] { serve(words); });
  }
  StubServer(StubServer&&) = delete;
  ~StubServer() { thread_.join(); }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Everything the client sent; only once it is gone.
  std::string received() {
    thread_.join();
    thread_ = std::thread([] {});
    return received_;
  }

 private:
  void serve(const std::string& words) {
    const net::Descriptor socket(::accept(listener_.get(), nullptr, nullptr));
    char room[1024];
    bool has_answered = false;
    for (ssize_t read = 0; (read = ::recv(socket.get(), room, sizeof room, 0)) > 0;) {
      received_.append(room, static_cast<std::size_t>(read));
      if (!has_answered && !words.empty()) ::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL);
      has_answered = true;
      if (words == kHangUp) return;
    }
  }

 public:
  static constexpr std::string_view kHangUp = "+half of a reply";

 private:
  net::Descriptor listener_;
  std::uint16_t port_ = 0;
  std::string received_;
  std::thread thread_;
};

TEST(ConnectionTest, AuthenticatesThenCalls) {
  StubServer server("+OK\r\n>1\r\n+news\r\n*2\r\n:1\r\n:9\r\n");
  {
    auto connection = Connection::open({.address = server.address(), .user = "alice", .password = "secret"});
    ASSERT_TRUE(connection) << connection.error().message;
    const auto reply = connection->call({"TAKE", "api", "alice"});
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->type, wire::RespType::kArray);
    EXPECT_EQ(reply->elements.size(), 2U);
  }
  const std::string_view auth[] = {"AUTH", "alice", "secret"};
  const std::string_view take[] = {"TAKE", "api", "alice"};
  EXPECT_EQ(server.received(), wire::encode_command(auth) + wire::encode_command(take));
}

TEST(ConnectionTest, AnErrorReplyIsAValue) {
  StubServer server("-NOLIMIT unknown limit 'x'\r\n");
  auto connection = Connection::open({.address = server.address()});
  ASSERT_TRUE(connection);
  const auto reply = connection->call({"TAKE", "x", "alice"});
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->is_error());
  EXPECT_EQ(reply->text, "NOLIMIT unknown limit 'x'");
}

// What a server says first, and what the user is told.
TEST(ConnectionTest, SaysWhatWentWrong) {
  struct Row {
    std::string words;
    std::string_view reason;
  };
  const Row rows[] = {
      {"HTTP/1.1 400 Bad Request\r\n", "does not speak RESP"},
      {std::string(StubServer::kHangUp), "the server closed the connection"},
      {"", "no answer within 50ms"},
  };
  for (const Row& row : rows) {
    StubServer server(row.words);
    auto connection = Connection::open({.address = server.address(), .timeout = 50ms});
    ASSERT_TRUE(connection);
    const auto reply = connection->call({"PING"});
    ASSERT_FALSE(reply);
    EXPECT_NE(reply.error().message.find(row.reason), std::string::npos) << reply.error().message;
  }
}

TEST(ConnectionTest, SaysThatThePasswordIsWrong) {
  StubServer server("-WRONGPASS invalid password\r\n");
  const auto connection = Connection::open({.address = server.address(), .password = "x"});
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().message, server.address() +
                                            " refused the password: WRONGPASS invalid password; check it, and the user "
                                            "if one is named");
}

TEST(ServerAddress, HasAUsualPort) {
  const struct {
    std::string text;
    std::string address;
  } rows[] = {{"127.0.0.1", "127.0.0.1:6380"},
              {"localhost", "localhost:6380"},
              {"[::1]", "[::1]:6380"},
              {"[::1]:1", "[::1]:1"},
              {"host:7", "host:7"},
              {"unix:/a", "unix:/a"}};
  for (const auto& row : rows) {
    const auto address = server_address(row.text);
    ASSERT_TRUE(address) << address.error().message;
    EXPECT_EQ(address->to_string(), row.address);
  }
  for (const std::string wrong : {"", "::1", "host:", "redis://127.0.0.1:6380"}) EXPECT_FALSE(server_address(wrong));
  EXPECT_NE(server_address("redis://x").error().message.find("--server takes an address"), std::string::npos);
}

TEST(ConnectionTest, SaysHowToStartAServer) {
  const auto connection = Connection::open({.address = "127.0.0.1:1"});
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().message,
            "cannot connect to 127.0.0.1:1: connection refused; is the server running? start one with: mete serve");
  const auto local = Connection::open({.address = "unix:/nowhere/mete.sock"});
  ASSERT_FALSE(local);
  EXPECT_EQ(
      local.error().message,
      "cannot connect to unix:/nowhere/mete.sock: no such file; is the server running? start one with: mete serve");
}

TEST(ConnectionTest, TlsNeedsAServerThatSpeaksIt) {
  StubServer server("-ERR Protocol error\r\n");
  const auto connection = Connection::open({.address = server.address(), .tls = net::TlsClientOptions{}});
  ASSERT_FALSE(connection);
  EXPECT_NE(connection.error().message.find("does the server speak TLS on this port?"), std::string::npos)
      << connection.error().message;
}

}  // namespace
}  // namespace mete::cli
