#include "net/connection.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "net/connection_set.h"

namespace mete::net {
namespace {

using namespace std::chrono_literals;

// Answers each line: "echo X" with X, "big N" with N bytes; "block" blocks, "close" closes, "wait" blocks as one does
// who must not wait for a client that has gone.
class LineSession final : public Session {
 public:
  explicit LineSession(std::string& log) : log_(log) {}
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
      } else if (line.starts_with("big ")) {
        output.append(std::string(std::stoul(std::string(line.substr(4))), 'x'));
      } else if (line == "listen") {
        may_be_silent_ = true;
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
  [[nodiscard]] bool may_be_silent() const override { return may_be_silent_; }
  [[nodiscard]] bool answers_half_closed() const override { return !is_waiting_; }

 private:
  std::string& log_;
  bool may_be_silent_ = false;
  bool is_waiting_ = false;
};

class ServerConnection : public ::testing::Test {
 protected:
  ServerConnection() {
    protocol.make_session = [this](ConnectionSet&, std::uint64_t, int) { return std::make_unique<LineSession>(log); };
    protocol.on_closed = [this] { log += "closed "; };
    protocol.limits.input_max = 1000;
    protocol.limits.output_max = 10'000;
    protocol.limits.idle_max = 60s;
    protocol.limits.request_max = 10s;
    protocol.limits.stall_max = 20s;
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
  void resume(std::string_view answer) {
    EXPECT_TRUE(set.with(1, [&](Connection& connection) { connection.resume(answer); }));
  }
  void push(std::string_view bytes) {
    EXPECT_TRUE(set.with(1, [&](Connection& connection) { connection.push(bytes); }));
  }
  void pass(Duration time) {
    const std::uint64_t then_ns = loop.now_ns() + static_cast<std::uint64_t>(time.ns());
    set.with(1, [&](Connection& connection) { connection.check_time(then_ns); });
    settle();
  }

  std::string log;
  EventLoop loop;
  Protocol protocol;
  ConnectionSet set{loop};
  Descriptor client;
};

TEST_F(ServerConnection, AnswersWhatIsCompleteAndKeepsTheRest) {
  connect();
  send("echo a\necho b\nech");
  EXPECT_EQ(receive(), "ab");
  send("o c\necho ");
  EXPECT_EQ(receive(), "c");
  send("d\n");
  EXPECT_EQ(receive(), "d");
  EXPECT_EQ(set.traffic().bytes_in, std::string("echo a\n").size() * 4);
  EXPECT_EQ(set.traffic().bytes_out, 4U);
}

TEST_F(ServerConnection, GoesWhenTheClientGoes) {
  connect();
  client.close();
  settle();
  EXPECT_EQ(log, "gone closed ");
  EXPECT_EQ(set.size(), 0U);
}

TEST_F(ServerConnection, SendsInPiecesWhatTheSocketDoesNotTakeAtOnce) {
  connect();
  send("big 9000\necho end\n");
  const std::string answer = receive();
  EXPECT_EQ(answer.size(), 9003U);
  EXPECT_TRUE(answer.ends_with("xend"));
}

TEST_F(ServerConnection, DoesNotReadAClientThatDoesNotRead) {
  connect();
  std::string requests;
  for (int count = 0; count < 100; ++count) requests += "big 9999\necho .\n";
  std::size_t sent = 0;
  while (true) {  // until it is not read any more
    const ssize_t count = ::send(client.get(), requests.data(), requests.size(), MSG_NOSIGNAL);
    if (count < 0) break;
    sent += static_cast<std::size_t>(count);
    ASSERT_EQ(static_cast<std::size_t>(count) % 16, 0U);
    settle();
    ASSERT_LT(sent, 100'000'000U);
  }
  const std::size_t taken = set.traffic().bytes_in;
  settle();
  EXPECT_EQ(set.traffic().bytes_in, taken);
  // Everything is answered once it is read.
  EXPECT_EQ(receive().size(), sent / 16 * 10'000);
}

TEST_F(ServerConnection, AHalfClosedClientGetsAllItsAnswers) {
  connect();
  std::string requests;
  for (int count = 0; count < 20; ++count) requests += "big 9999\necho .\n";
  send(requests);
  ::shutdown(client.get(), SHUT_WR);
  settle();
  EXPECT_EQ(receive().size(), 20 * 10'000 + std::string("(end)").size());
  EXPECT_EQ(log, "gone closed ");
}

TEST_F(ServerConnection, AHalfClosedClientGetsTheAnswerItIsBlockedFor) {
  connect();
  send("block\necho more\n");
  ::shutdown(client.get(), SHUT_WR);
  settle();
  EXPECT_EQ(log, "");
  resume("answer ");
  EXPECT_EQ(receive(), "answer more(end)");
  EXPECT_EQ(log, "gone closed ");
}

TEST_F(ServerConnection, NobodyWaitsForAClientThatHasGone) {
  connect();
  send("wait\n");
  ::shutdown(client.get(), SHUT_WR);
  settle();
  EXPECT_EQ(log, "gone closed ");
}

TEST_F(ServerConnection, ABlockedClientThatIsCutOffIsNoticed) {
  connect();
  send("block\n");
  client.close();
  settle();
  EXPECT_EQ(log, "gone closed ");
}

TEST_F(ServerConnection, KeepsTheInputOfABlockedClientUpToItsBound) {
  connect();
  send("block\necho a\n");
  EXPECT_EQ(receive(), "");
  send(std::string(1200, '\n').replace(0, 7, "echo b\n"));
  const std::size_t taken = set.traffic().bytes_in;
  EXPECT_EQ(::send(client.get(), "echo c\n", 7, MSG_NOSIGNAL), 7);
  settle();
  EXPECT_EQ(set.traffic().bytes_in, taken) << "not read any more";
  resume("x");
  EXPECT_EQ(receive(), "xab") << "then an empty line blocks";
}

TEST_F(ServerConnection, ResumeIsForTheBlockedAlone) {
  connect();
  resume("nobody asked");
  EXPECT_EQ(receive(), "");
}

TEST_F(ServerConnection, PushesBetweenAnswers) {
  connect();
  send("echo a\n");
  push("news");
  EXPECT_EQ(receive(), "anews");
  send("block\n");
  push("more");
  EXPECT_EQ(receive(), "more");
  push(std::string(20'000, 'x'));
  push("and who does not read them is cut off");
  settle();
  EXPECT_EQ(log, "gone closed ");
}

// Closing at once would throw the answer away on its way: the client still sends.
TEST_F(ServerConnection, LingersUntilTheClientHasEnded) {
  connect();
  send("echo bye\nclose\necho never\n");
  EXPECT_EQ(receive(), "bye(end)");
  EXPECT_EQ(set.size(), 1U);
  send("still sending\n");
  EXPECT_EQ(set.size(), 1U);
  ::shutdown(client.get(), SHUT_WR);
  settle();
  EXPECT_EQ(set.size(), 0U);
}

TEST_F(ServerConnection, LingersForAMomentOnly) {
  connect();
  send("close\n");
  pass(900ms);
  send("still sending\n");
  EXPECT_EQ(set.size(), 1U);
  pass(1100ms);
  EXPECT_EQ(set.size(), 0U);
}

// What it sends does not count: its time began when it was told goodbye.
TEST_F(ServerConnection, AClientThatGoesOnSendingLingersNoLonger) {
  connect();
  send("close\n");
  const std::uint64_t told_ns = loop.now_ns();
  while (loop.now_ns() == told_ns) settle();
  send("still sending\n");
  EXPECT_EQ(set.size(), 1U);
  set.with(1, [&](Connection& connection) { connection.check_time(told_ns + 1'000'000'001); });
  settle();
  EXPECT_EQ(set.size(), 0U);
}

TEST_F(ServerConnection, RefusesARequestThatGoesOnAndOn) {
  connect();
  send(std::string(900, 'x'));
  EXPECT_EQ(receive(), "");
  send(std::string(200, 'x'));
  EXPECT_EQ(receive(), "long(end)");
}

TEST_F(ServerConnection, ClosesWhatIsSilentForTooLong) {
  connect();
  pass(59s);
  EXPECT_EQ(receive(), "");
  pass(61s);
  EXPECT_EQ(receive(), "late(end)");
}

TEST_F(ServerConnection, ClosesOnARequestThatTakesTooLong) {
  connect();
  send("echo");
  pass(9s);
  EXPECT_EQ(receive(), "");
  pass(11s);
  EXPECT_EQ(receive(), "late(end)");
}

TEST_F(ServerConnection, ClosesWhenNobodyReads) {
  connect();
  send("big 200000\n");
  pass(19s);
  EXPECT_EQ(set.size(), 1U);
  pass(21s);
  EXPECT_EQ(set.size(), 0U);
}

TEST_F(ServerConnection, ASessionMayLetItsClientBeSilent) {
  connect();
  send("listen\n");
  pass(600s);
  EXPECT_EQ(set.size(), 1U);
  send("echo x\nhalf a request");
  pass(11s);
  EXPECT_EQ(receive(), "xlate(end)") << "but not in the middle of a request";
}

TEST_F(ServerConnection, ABlockedClientIsNotSilent) {
  connect();
  send("block\n");
  pass(600s);
  EXPECT_EQ(set.size(), 1U);
}

TEST_F(ServerConnection, AClientThatWasBlockedForLongIsNotSilentThen) {
  protocol.limits.idle_max = 1ms;
  connect();
  send("block\n");
  loop.after(20ms, [this] { loop.stop(); });
  loop.run();
  resume("x");
  pass(Duration());
  EXPECT_EQ(receive(), "x");
}

TEST_F(ServerConnection, FinishesWhatHasArrived) {
  connect();
  ASSERT_EQ(::send(client.get(), "echo a\n", 7, MSG_NOSIGNAL), 7);
  bool is_done = false;
  set.finish_all([&] { is_done = true; });
  EXPECT_EQ(receive(), "a(end)");
  client.close();
  settle();
  EXPECT_TRUE(is_done);
}

TEST_F(ServerConnection, FinishesABlockedClientWhenItHasItsAnswer) {
  connect();
  send("block\necho more\n");
  bool is_done = false;
  set.finish_all([&] { is_done = true; });
  settle();
  EXPECT_FALSE(is_done);
  resume("answer ");
  EXPECT_EQ(receive(), "answer more(end)");
  client.close();
  settle();
  EXPECT_TRUE(is_done);
}

TEST_F(ServerConnection, FinishesAtOnceWithoutConnections) {
  bool is_done = false;
  set.finish_all([&] { is_done = true; });
  EXPECT_TRUE(is_done);
}

}  // namespace
}  // namespace mete::net
