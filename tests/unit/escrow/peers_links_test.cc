// Nodes with real sockets on this machine. Bounds on time are generous; the second of convergence is a bound of its
// own.
#include "escrow/peers/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "escrow/peers/sender.h"
#include "net/client_socket.h"
#include "store/store_clock.h"
#include "support/proxy.h"
#include "support/waiting.h"
#include "unit/escrow/peers_fixture.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using support::becomes_true;
using ::testing::HasSubstr;

constexpr auto kHealed = 3s;  // one second, and what a busy machine takes

const store::SystemClock& clock() {
  static const store::SystemClock kSystem;
  return kSystem;
}

// A log that can be read.
class ReadableLog {
 public:
  ReadableLog() : file_(std::tmpfile()), log_(::fileno(file_)) {}
  ReadableLog(const ReadableLog&) = delete;
  ReadableLog& operator=(const ReadableLog&) = delete;
  ~ReadableLog() { std::fclose(file_); }

  base::Log& log() { return log_; }
  [[nodiscard]] std::string text() const {
    std::string all(100'000, '\0');
    const ssize_t size = ::pread(::fileno(file_), all.data(), all.size(), 0);
    return all.substr(0, size < 0 ? 0 : static_cast<std::size_t>(size));
  }

 private:
  std::FILE* file_;
  base::Log log_;
};

struct LinkedNode {
  explicit LinkedNode(Writer self, const std::string& secret = kSecret, const std::string& listen = "127.0.0.1:0")
      : counters(std::move(self)),
        links(PeerLinks::start({.listen = listen, .secret = secret, .clock = &clock(), .log = &log.log()}, counters)
                  .value()) {}

  [[nodiscard]] PeerAddress address() const { return {counters.self().node, links->address()}; }
  std::int64_t add(const std::string& key, std::int64_t by) { return counters.add(key, by, clock().now()).value(); }
  [[nodiscard]] std::int64_t get(const std::string& key) { return counters.get(key, clock().now()).value_or(0); }
  [[nodiscard]] PeerStatus status(const std::string& name) const {
    for (PeerStatus& status : links->status()) {
      if (status.name == name) return std::move(status);
    }
    return {};
  }

  ReadableLog log;
  Counters counters;
  std::unique_ptr<PeerLinks> links;
};

std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

void join(LinkedNode& a, LinkedNode& b) {
  ASSERT_TRUE(a.links->set_peers({b.address()}).has_value());
  ASSERT_TRUE(b.links->set_peers({a.address()}).has_value());
}

TEST(PeerLinks, ThreeNodesConvergeWithinASecondAndOneThatWasAwayCatchesUp) {
  LinkedNode a({"a", 1});
  LinkedNode b({"b", 1});
  auto c = std::make_unique<LinkedNode>(Writer{"c", 1});
  const PeerAddress address_c = c->address();
  ASSERT_TRUE(a.links->set_peers({b.address(), address_c}).has_value());
  ASSERT_TRUE(b.links->set_peers({a.address(), address_c}).has_value());
  ASSERT_TRUE(c->links->set_peers({a.address(), b.address()}).has_value());
  a.add("k", 1);
  b.add("k", 10);
  c->add("k", 100);
  const auto all_have = [&](std::int64_t value) { return a.get("k") == value && b.get("k") == value; };
  ASSERT_TRUE(becomes_true(kLong, [&] { return all_have(111) && c->get("k") == 111; }));

  c.reset();
  ASSERT_TRUE(becomes_true(kLong, [&] { return !a.status("c").is_connected; }));
  EXPECT_FALSE(a.status("c").last_error.empty());
  a.add("k", 1000);
  ASSERT_TRUE(becomes_true(kLong, [&] { return all_have(1111); }));
  EXPECT_EQ(a.status("c").lag, 1U);

  // It has started anew, and forgotten everything.
  LinkedNode again({"c", 2}, kSecret, address_c.address);
  ASSERT_TRUE(again.links->set_peers({a.address(), b.address()}).has_value());
  EXPECT_TRUE(becomes_true(kHealed, [&] { return again.get("k") == 1111; }));
  again.add("k", 10'000);
  EXPECT_TRUE(becomes_true(kHealed, [&] { return all_have(11'111); }));
  ASSERT_TRUE(becomes_true(kLong, [&] { return a.status("c").is_connected && a.status("c").lag == 0; }));
  EXPECT_TRUE(a.status("c").last_error.empty());
  EXPECT_GT(a.status("c").bytes_sent, 0U);
  EXPECT_TRUE(a.status("c").last_heard.has_value());
}

TEST(PeerLinks, ConvergesWithinASecondAfterTheNetworkHeals) {
  LinkedNode a({"a", 1});
  LinkedNode b({"b", 1});
  support::Proxy to_b(port_of(b.links->address()));
  ASSERT_TRUE(a.links->set_peers({{"b", "127.0.0.1:" + std::to_string(to_b.port())}}).has_value());
  a.add("k", 1);
  ASSERT_TRUE(becomes_true(kLong, [&] { return b.get("k") == 1; }));

  to_b.refuse();
  ASSERT_TRUE(becomes_true(kLong, [&] { return !a.status("b").is_connected; }));
  for (int i = 0; i < 100'000; ++i) a.add("key " + std::to_string(i % 10), 1);
  EXPECT_LE(a.status("b").lag, 10U) << "what waits is bounded by the counters";
  to_b.pass();
  EXPECT_TRUE(becomes_true(kHealed, [&] { return b.get("key 9") == 10'000; }));

  // A network that swallows: nothing is refused, and nothing answered.
  to_b.swallow_replies();
  ASSERT_TRUE(becomes_true(kLong, [&] { return !a.status("b").is_connected; }));
  a.add("k", 1);
  to_b.pass();
  EXPECT_TRUE(becomes_true(kHealed, [&] { return b.get("k") == 2 && a.status("b").lag == 0; }));
}

TEST(PeerLinks, AChangeGoesOnByWayOfOthers) {
  LinkedNode a({"a", 1});
  LinkedNode b({"b", 1});
  LinkedNode c({"c", 1});
  ASSERT_TRUE(a.links->set_peers({b.address()}).has_value());
  ASSERT_TRUE(b.links->set_peers({c.address()}).has_value());
  a.add("k", 7);
  EXPECT_TRUE(becomes_true(kLong, [&] { return c.get("k") == 7; }));
}

TEST(PeerLinks, TheListIsReplacedWhileItRuns) {
  LinkedNode a({"a", 1});
  LinkedNode b({"b", 1});
  LinkedNode c({"c", 1});
  ASSERT_TRUE(a.links->set_peers({b.address()}).has_value());
  ASSERT_TRUE(becomes_true(kLong, [&] { return a.status("b").is_connected; }));
  ASSERT_TRUE(a.links->set_peers({c.address(), b.address()}).has_value());
  EXPECT_TRUE(a.status("b").is_connected) << "who stays is not touched";
  ASSERT_TRUE(a.links->set_peers({c.address()}).has_value());
  a.add("k", 3);
  EXPECT_TRUE(becomes_true(kLong, [&] { return c.get("k") == 3; }));
  EXPECT_EQ(b.get("k"), 0);
  ASSERT_EQ(a.links->status().size(), 1U);
}

TEST(PeerLinks, ANodeWithAnotherSecretIsRefusedAndBothSayWhy) {
  LinkedNode a({"a", 1});
  LinkedNode b({"b", 1}, "another secret altogether");
  join(a, b);
  b.add("k", 5);
  ASSERT_TRUE(becomes_true(kLong, [&] { return a.log.text().find("peer refused") != std::string::npos; }));
  EXPECT_THAT(a.log.text(), HasSubstr("the secret of node 'b' is another one"));
  ASSERT_TRUE(becomes_true(kLong, [&] { return !a.status("b").last_error.empty(); }));
  EXPECT_THAT(a.status("b").last_error, HasSubstr("the other node refuses: the secret of node 'a' is another one"));
  EXPECT_FALSE(a.status("b").is_connected);
  EXPECT_EQ(a.get("k"), 0);
}

TEST(PeerLinks, GarbageIsRefusedAndTheRestGoesOn) {
  LinkedNode a({"a", 1});
  LinkedNode b({"b", 1});
  const auto deadline = net::Deadline::in(kLong);
  auto socket = net::ClientSocket::open(net::parse_address(a.links->address()).value(), nullptr, deadline).value();
  ASSERT_TRUE(socket.write(std::string(100'000, 'x'), deadline).has_value());
  std::string answer;
  std::array<char, 1000> room{};
  while (const auto bytes = socket.read(room, deadline)) answer.append(room.data(), *bytes);
  ASSERT_FALSE(deadline.is_over()) << "the link is closed";
  EXPECT_TRUE(becomes_true(
      kLong, [&] { return a.log.text().find("these bytes are not the protocol of peers") != std::string::npos; }));
  join(a, b);
  b.add("k", 5);
  EXPECT_TRUE(becomes_true(kLong, [&] { return a.get("k") == 5; }));
}

TEST(PeerLinks, AReplayedFrameIsRefused) {
  LinkedNode a({"a", 1});
  const auto deadline = net::Deadline::in(kLong);
  auto socket = net::ClientSocket::open(net::parse_address(a.links->address()).value(), nullptr, deadline).value();
  Counters counters({"b", 1});
  Roster roster;
  const Identity identity{.self = counters.self(), .secret = kSecret, .roster = roster};
  Progress progress;
  Sender sender(identity, "a", counters, progress, {});
  ASSERT_TRUE(counters.add("k", 5, clock().now()).has_value());
  std::string input;
  while (!sender.is_open()) {
    ASSERT_TRUE(socket.write(std::exchange(sender.output(), {}), deadline).has_value());
    std::array<char, 1000> room{};
    const auto bytes = socket.read(room, deadline);
    ASSERT_TRUE(bytes.has_value());
    input.append(room.data(), *bytes);
    std::string_view rest = input;
    ASSERT_TRUE(sender.receive(rest, {.steady = {}, .now = clock().now()}).has_value());
    input = rest;
  }
  const std::string batch = std::exchange(sender.output(), {});
  ASSERT_TRUE(socket.write(batch, deadline).has_value());
  EXPECT_TRUE(becomes_true(kLong, [&] { return a.get("k") == 5; }));
  EXPECT_EQ(a.counters.take_out("k", clock().now()), 5);
  ASSERT_TRUE(socket.write(batch, deadline).has_value());
  EXPECT_TRUE(
      becomes_true(kLong, [&] { return a.log.text().find("forged, replayed or damaged") != std::string::npos; }));
}

TEST(PeerLinks, WithNeitherSecretNorCertificateOnlyThisMachineIsAllowed) {
  Counters counters({"a", 1});
  const auto open = PeerLinks::start({.listen = "0.0.0.0:0", .clock = &clock()}, counters);
  ASSERT_FALSE(open.has_value());
  EXPECT_THAT(open.error().message, HasSubstr("other machines can reach it"));
  LinkedNode local({"a", 1}, "");
  const auto set = local.links->set_peers({{"b", "10.1.2.3:6390"}});
  ASSERT_FALSE(set.has_value());
  EXPECT_THAT(set.error().message, HasSubstr("refusing to link peers over 10.1.2.3:6390"));
  LinkedNode other({"b", 1}, "");
  join(local, other);
  local.add("k", 2);
  EXPECT_TRUE(becomes_true(kLong, [&] { return other.get("k") == 2; }));
}

TEST(PeerLinks, RefusesOptionsAndListsThatCannotBeMeant) {
  Counters counters({"a", 1});
  const auto refusal_of = [&](const PeerOptions& options) {
    const auto links = PeerLinks::start(options, counters);
    return links ? std::string("none") : links.error().message;
  };
  EXPECT_THAT(refusal_of({.listen = "127.0.0.1:0", .secret = "short", .clock = &clock()}), HasSubstr("too short"));
  EXPECT_THAT(refusal_of({.listen = "nowhere", .clock = &clock()}), HasSubstr("is no address"));
  EXPECT_THAT(refusal_of({.listen = "127.0.0.1:0", .tls = {.certificate = "c"}, .clock = &clock()}),
              HasSubstr("TLS between peers takes"));
  LinkedNode node({"a", 1});
  const auto problem_of = [&](const std::vector<PeerAddress>& peers) {
    const auto set = node.links->set_peers(peers);
    return set ? std::string("none") : set.error().message;
  };
  EXPECT_THAT(problem_of({{"a", "127.0.0.1:1"}}), HasSubstr("is this node itself"));
  EXPECT_THAT(problem_of({{"b", "127.0.0.1:1"}, {"b", "127.0.0.1:2"}}), HasSubstr("two peers are called 'b'"));
  EXPECT_THAT(problem_of({{std::string(65, 'n'), "127.0.0.1:1"}}), HasSubstr("more than 64 bytes"));
  EXPECT_THAT(problem_of({{"b", "nowhere"}}), HasSubstr("is no address"));
  EXPECT_TRUE(node.links->status().empty());
}

}  // namespace
}  // namespace mete::escrow
