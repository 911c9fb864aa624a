#include "net/listener.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>

namespace mete::net {
namespace {

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "mete-listener-XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~ListenerTest() override { std::filesystem::remove_all(folder); }

  [[nodiscard]] Address unix_address(const std::string& name) const {
    return {.host = {}, .port = 0, .path = folder / name};
  }

  static Descriptor connect(const SocketAddress& address) {
    Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), address.get(), address.size) != 0) socket.close();
    return socket;
  }

  std::filesystem::path folder;
};

TEST_F(ListenerTest, PortZeroIsOneThatTheSystemChooses) {
  const auto sockets = listen_on({"127.0.0.1", 0, ""});
  ASSERT_TRUE(sockets.has_value()) << sockets.error().message;
  ASSERT_EQ(sockets->size(), 1U);
  const SocketAddress address = local_address((*sockets)[0].get());
  EXPECT_TRUE(address.to_string().starts_with("127.0.0.1:"));
  EXPECT_FALSE(address.to_string().ends_with(":0"));
  EXPECT_TRUE(address.is_local());
  EXPECT_TRUE(connect(address).is_open());
}

TEST_F(ListenerTest, NamesStandForSeveralAddresses) {
  const auto sockets = listen_on({"localhost", 0, ""});
  ASSERT_TRUE(sockets.has_value()) << sockets.error().message;
  EXPECT_GE(sockets->size(), 1U);
  for (const Descriptor& socket : *sockets) EXPECT_TRUE(local_address(socket.get()).is_local());
}

TEST_F(ListenerTest, SaysWhyItCannotListen) {
  const auto first = listen_on({"127.0.0.1", 0, ""});
  ASSERT_TRUE(first.has_value());
  const std::string text = local_address((*first)[0].get()).to_string();
  const auto port = static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
  const auto second = listen_on({"127.0.0.1", port, ""});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message,
            "cannot listen on " + text + ": Address already in use (is another server running there?)");
  const auto elsewhere = listen_on({"192.0.2.1", 0, ""});
  ASSERT_FALSE(elsewhere.has_value());
  EXPECT_NE(elsewhere.error().message.find("no such address on this machine"), std::string::npos);
  EXPECT_FALSE(listen_on({"no-such-host.invalid", 0, ""}).has_value());
  EXPECT_FALSE(listen_on(unix_address("no/such/folder")).has_value());
}

TEST_F(ListenerTest, ReplacesAStaleUnixSocketAndNothingElse) {
  const Address address = unix_address("socket");
  {
    const auto dead = listen_on(address);  // closed without having been removed, as by a process that was killed
    ASSERT_TRUE(dead.has_value()) << dead.error().message;
  }
  ASSERT_TRUE(std::filesystem::exists(address.path));
  const auto alive = listen_on(address);
  ASSERT_TRUE(alive.has_value()) << alive.error().message;
  const auto second = listen_on(address);
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find("Address already in use"), std::string::npos) << second.error().message;
  EXPECT_TRUE(connect(local_address((*alive)[0].get())).is_open()) << "the living one was left alone";

  const Address file = unix_address("precious");
  std::ofstream(file.path) << "not a socket";
  EXPECT_FALSE(listen_on(file).has_value());
  EXPECT_EQ(std::filesystem::file_size(file.path), 12U);
}

TEST_F(ListenerTest, AcceptsConnectionsThatDoNotBlock) {
  EventLoop loop;
  auto sockets = listen_on(unix_address("socket"));
  ASSERT_TRUE(sockets.has_value());
  std::vector<Descriptor> accepted;
  {
    Listener listener(
        loop, std::move((*sockets)[0]),
        [&](Descriptor client) {
          accepted.push_back(std::move(client));
          if (accepted.size() == 3) loop.stop();
        },
        [](const std::string& problem) { FAIL() << problem; });
    const Descriptor clients[] = {connect(listener.address()), connect(listener.address()),
                                  connect(listener.address())};
    loop.run();
    ASSERT_EQ(accepted.size(), 3U);
    char byte = 0;
    EXPECT_EQ(::recv(accepted[0].get(), &byte, 1, 0), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_TRUE(peer_address(accepted[0].get()).is_local());
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "socket")) << "a socket that was handed over is not ours to remove";
}

TEST_F(ListenerTest, RemovesItsOwnFile) {
  EventLoop loop;
  auto sockets = listen_on(unix_address("socket"));
  ASSERT_TRUE(sockets.has_value());
  {
    Listener listener(
        loop, std::move((*sockets)[0]), [](const Descriptor&) {}, [](const std::string&) {});
    listener.own_path();
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "socket"));
}

}  // namespace
}  // namespace mete::net
