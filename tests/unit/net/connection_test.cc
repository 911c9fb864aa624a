#include "net/connection.h"

#include "unit/net/connection_fixture.h"

namespace mete::net {
namespace {

using namespace std::chrono_literals;

// Sessions that never wait for another server work on the loop itself, and the others on fibers: clients notice
// nothing.
class ServerConnection : public testing::ConnectionFixture, public ::testing::WithParamInterface<bool> {
 protected:
  ServerConnection() : ConnectionFixture(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Sessions, ServerConnection, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "on_fibers" : "on_the_loop"; });

TEST_P(ServerConnection, AnswersWhatIsCompleteAndKeepsTheRest) {
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

TEST_P(ServerConnection, GoesWhenTheClientGoes) {
  connect();
  client.close();
  settle();
  EXPECT_EQ(log, "gone closed ");
  EXPECT_EQ(set.size(), 0U);
}

TEST_P(ServerConnection, SendsInPiecesWhatTheSocketDoesNotTakeAtOnce) {
  connect();
  send("big 9000\necho end\n");
  const std::string answer = receive();
  EXPECT_EQ(answer.size(), 9003U);
  EXPECT_TRUE(answer.ends_with("xend"));
}

TEST_P(ServerConnection, DoesNotReadAClientThatDoesNotRead) {
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

TEST_P(ServerConnection, AHalfClosedClientGetsAllItsAnswers) {
  connect();
  std::string requests;
  for (int count = 0; count < 20; ++count) requests += "big 9999\necho .\n";
  send(requests);
  ::shutdown(client.get(), SHUT_WR);
  settle();
  EXPECT_EQ(receive().size(), 20UL * 10'000 + std::string("(end)").size());
  EXPECT_EQ(log, "gone closed ");
}

TEST_P(ServerConnection, AHalfClosedClientGetsTheAnswerItIsBlockedFor) {
  connect();
  send("block\necho more\n");
  ::shutdown(client.get(), SHUT_WR);
  settle();
  EXPECT_EQ(log, "");
  resume("answer ");
  EXPECT_EQ(receive(), "answer more(end)");
  EXPECT_EQ(log, "gone closed ");
}

TEST_P(ServerConnection, NobodyWaitsForAClientThatHasGone) {
  connect();
  send("wait\n");
  ::shutdown(client.get(), SHUT_WR);
  settle();
  EXPECT_EQ(log, "gone closed ");
}

TEST_P(ServerConnection, ABlockedClientThatIsCutOffIsNoticed) {
  connect();
  send("block\n");
  client.close();
  settle();
  EXPECT_EQ(log, "gone closed ");
}

TEST_P(ServerConnection, KeepsTheInputOfABlockedClientUpToItsBound) {
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

TEST_P(ServerConnection, ResumeIsForTheBlockedAlone) {
  connect();
  EXPECT_FALSE(resume("nobody asked"));
  EXPECT_EQ(receive(), "");
}

TEST_P(ServerConnection, PushesBetweenAnswers) {
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
TEST_P(ServerConnection, LingersUntilTheClientHasEnded) {
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

TEST_P(ServerConnection, LingersForAMomentOnly) {
  connect();
  send("close\n");
  pass(900ms);
  send("still sending\n");
  EXPECT_EQ(set.size(), 1U);
  pass(1100ms);
  EXPECT_EQ(set.size(), 0U);
}

// What it sends does not count: its time began when it was told goodbye.
TEST_P(ServerConnection, AClientThatGoesOnSendingLingersNoLonger) {
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

TEST_P(ServerConnection, RefusesARequestThatGoesOnAndOn) {
  connect();
  send(std::string(900, 'x'));
  EXPECT_EQ(receive(), "");
  send(std::string(200, 'x'));
  EXPECT_EQ(receive(), "long(end)");
}

TEST_P(ServerConnection, ClosesWhatIsSilentForTooLong) {
  connect();
  pass(59s);
  EXPECT_EQ(receive(), "");
  pass(61s);
  EXPECT_EQ(receive(), "late(end)");
}

TEST_P(ServerConnection, ClosesOnARequestThatTakesTooLong) {
  connect();
  send("echo");
  pass(9s);
  EXPECT_EQ(receive(), "");
  pass(11s);
  EXPECT_EQ(receive(), "late(end)");
}

TEST_P(ServerConnection, ClosesWhenNobodyReads) {
  connect();
  send("big 200000\n");
  pass(19s);
  EXPECT_EQ(set.size(), 1U);
  pass(21s);
  EXPECT_EQ(set.size(), 0U);
}

TEST_P(ServerConnection, ASessionMayLetItsClientBeSilent) {
  connect();
  send("listen\n");
  pass(600s);
  EXPECT_EQ(set.size(), 1U);
  send("echo x\nhalf a request");
  pass(11s);
  EXPECT_EQ(receive(), "xlate(end)") << "but not in the middle of a request";
}

TEST_P(ServerConnection, ABlockedClientIsNotSilent) {
  connect();
  send("block\n");
  pass(600s);
  EXPECT_EQ(set.size(), 1U);
}

TEST_P(ServerConnection, AClientThatWasBlockedForLongIsNotSilentThen) {
  protocol.limits.idle_max = 1ms;
  connect();
  send("block\n");
  loop.after(20ms, [this] { loop.stop(); });
  loop.run();
  resume("x");
  pass(Duration());
  EXPECT_EQ(receive(), "x");
}

TEST_P(ServerConnection, FinishesWhatHasArrived) {
  connect();
  ASSERT_EQ(::send(client.get(), "echo a\n", 7, MSG_NOSIGNAL), 7);
  bool is_done = false;
  set.finish_all([&] { is_done = true; });
  EXPECT_EQ(receive(), "a(end)");
  client.close();
  settle();
  EXPECT_TRUE(is_done);
}

TEST_P(ServerConnection, FinishesABlockedClientWhenItHasItsAnswer) {
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

TEST_P(ServerConnection, FinishesAtOnceWithoutConnections) {
  bool is_done = false;
  set.finish_all([&] { is_done = true; });
  EXPECT_TRUE(is_done);
}

class WaitingConnection : public testing::ConnectionFixture {
 protected:
  WaitingConnection() : ConnectionFixture(true) {}
};

TEST_F(WaitingConnection, AnswersInOrderWhenTheOtherServerHas) {
  connect();
  send("echo a\nask b\necho c\n");
  EXPECT_EQ(receive(), "") << "what has arrived together is answered together";
  send("echo d\nech");
  send("o e\n");
  EXPECT_EQ(server.asking(), 1);
  server.answer();
  EXPECT_EQ(receive(), "abcde");
  EXPECT_EQ(fibers.under_way(), 0U);
}

TEST_F(WaitingConnection, OthersAreServedMeanwhile) {
  connect();
  send("ask a\n");
  const Descriptor first = std::move(client);
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  client = Descriptor(ends[0]);
  set.add(Descriptor(ends[1]), 2, protocol);
  send("echo b\n");
  EXPECT_EQ(receive(), "b");
  server.answer();
  client = Descriptor(::dup(first.get()));
  EXPECT_EQ(receive(), "a");
}

TEST_F(WaitingConnection, AClientThatHasGoneIsForgottenWhenItsSessionIsDone) {
  connect();
  send("ask a\nbig 9000\nask b\n");
  client.close();
  settle();
  server.answer();
  settle();
  EXPECT_EQ(log, "gone closed ");
  EXPECT_EQ(set.size(), 0U);
  EXPECT_EQ(fibers.under_way(), 0U);
}

TEST_F(WaitingConnection, OneThatIsClosedMeanwhileLivesUntilItsSessionIsDone) {
  connect();
  send("ask a\n");
  set.with(1, [](Connection& connection) { connection.close(); });
  settle();
  EXPECT_EQ(receive(), "(end)");
  EXPECT_EQ(log, "") << "the session is still at work";
  set.with(1, [](Connection& connection) {
    EXPECT_FALSE(connection.resume("x"));
    connection.push("y");
    connection.close();
    connection.finish();
    connection.release(9);
  });
  pass(1h);
  server.answer();
  settle();
  EXPECT_EQ(log, "gone closed ");
  EXPECT_EQ(set.size(), 0U);
}

TEST_F(WaitingConnection, AHalfClosedClientGetsItsAnswer) {
  connect();
  send("ask a\n");
  ::shutdown(client.get(), SHUT_WR);
  settle();
  server.answer();
  EXPECT_EQ(receive(), "a(end)");
}

TEST_F(WaitingConnection, FinishesWhenItsAnswersAreThere) {
  connect();
  send("ask a\n");
  bool is_done = false;
  set.finish_all([&] { is_done = true; });
  settle();
  EXPECT_FALSE(is_done);
  server.answer();
  EXPECT_EQ(receive(), "a(end)");
  client.close();
  settle();
  EXPECT_TRUE(is_done);
}

TEST_F(WaitingConnection, IsNotReadOnForEver) {
  connect();
  send("ask a\n");
  std::size_t sent = 0;
  while (sent < 1'000'000) {
    const ssize_t count = ::send(client.get(), "echo .\n", 7, MSG_NOSIGNAL);
    if (count < 0) break;
    sent += static_cast<std::size_t>(count);
    settle();
  }
  EXPECT_LT(sent, 1'000'000U) << "it must not be read while its session waits";
  server.answer();
  EXPECT_EQ(receive().size(), 1 + sent / 7);
}

TEST_F(WaitingConnection, IsNotTakenForIdle) {
  connect();
  send("ask a\n");
  pass(1h);
  server.answer();
  EXPECT_EQ(receive(), "a");
}

TEST_F(WaitingConnection, AnAnswerWithATicketWaitsForItToo) {
  connect();
  send("need 5\nask a\n");
  server.answer();
  EXPECT_EQ(receive(), "");
  set.release(5);
  EXPECT_EQ(receive(), "a");
}

}  // namespace
}  // namespace mete::net
