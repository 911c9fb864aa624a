#include "net/connection.h"

#include "unit/net/connection_fixture.h"

namespace mete::net {
namespace {

using namespace std::chrono_literals;

class ServerConnection : public testing::ConnectionFixture {};

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
  EXPECT_FALSE(resume("nobody asked"));
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
