#include "net/withheld.h"

#include "unit/net/connection_fixture.h"

namespace mete::net {
namespace {

using namespace std::chrono_literals;

class WithheldAnswers : public testing::ConnectionFixture {
 protected:
  WithheldAnswers() : ConnectionFixture(false) {}
};

TEST_F(WithheldAnswers, LeaveWhenTheirTicketIsReached) {
  connect();
  send("echo a\nneed 5\n");
  EXPECT_EQ(receive(), "");
  EXPECT_EQ(set.first_withheld(), 5U);
  set.release(4);
  EXPECT_EQ(receive(), "");
  set.release(5);
  EXPECT_EQ(receive(), "a");
  EXPECT_EQ(set.first_withheld(), 0U);
  send("echo b\n");
  EXPECT_EQ(receive(), "b") << "it waits for nothing";
}

TEST_F(WithheldAnswers, DoNotStopTheServing) {
  connect();
  send("echo a\nneed 5\n");
  send("echo b\n");
  send("echo c\nneed 7\n");
  send("echo d\nneed 3\n");
  EXPECT_EQ(receive(), "");
  set.release(6);
  EXPECT_EQ(receive(), "ab");
  set.release(7);
  EXPECT_EQ(receive(), "cd") << "in order, whatever it waits for itself";
}

TEST_F(WithheldAnswers, AreBounded) {
  connect();
  std::string requests;
  for (int count = 0; count < 20; ++count) requests += "need 5\nbig 9999\necho .\n";
  send(requests);
  EXPECT_EQ(receive(), "");
  const std::size_t taken = set.traffic().bytes_in;
  EXPECT_EQ(::send(client.get(), "need 6\necho end\n", 16, MSG_NOSIGNAL), 16);
  settle();
  EXPECT_EQ(set.traffic().bytes_in, taken) << "not read any more";
  std::string answers;
  while (set.first_withheld() == 5) {
    set.release(5);
    answers += receive();
  }
  EXPECT_EQ(answers.size(), 20 * 10'000);
  set.release(6);
  EXPECT_EQ(receive(), "end");
}

TEST_F(WithheldAnswers, LeaveInPiecesIfTheyMust) {
  connect();
  send("big 9000\nneed 5\n");
  send("echo end\nneed 6\n");
  set.release(5);
  set.release(6);
  const std::string answers = receive();
  EXPECT_EQ(answers.size(), 9003U);
  EXPECT_TRUE(answers.ends_with("xend"));
}

TEST_F(WithheldAnswers, AreNotOvertaken) {
  connect();
  send("echo a\nneed 5\n");
  push("b");
  send("block\necho d\n");
  EXPECT_TRUE(resume("c"));
  EXPECT_EQ(receive(), "");
  set.release(5);
  EXPECT_EQ(receive(), "abcd");
  push("e");
  EXPECT_EQ(receive(), "e");
}

TEST_F(WithheldAnswers, MayComeLater) {
  connect();
  send("block\necho more\n");
  EXPECT_TRUE(resume("answer ", 5));
  EXPECT_EQ(receive(), "");
  set.release(5);
  EXPECT_EQ(receive(), "answer more");
}

TEST_F(WithheldAnswers, LeaveBeforeTheGoodbye) {
  connect();
  send("echo a\nneed 5\n");
  send("close\n");
  EXPECT_EQ(receive(), "");
  set.release(5);
  EXPECT_EQ(receive(), "a(end)");
}

TEST_F(WithheldAnswers, ReachAHalfClosedClient) {
  for (const std::string_view last : {"", "echo b\n", "wait\n"}) {
    log.clear();
    connect();
    send("echo a\nneed 5\n");
    if (!last.empty()) send(last);
    ::shutdown(client.get(), SHUT_WR);
    settle();
    EXPECT_EQ(log, "") << last;
    EXPECT_FALSE(resume("nobody waits any more"));
    set.release(5);
    EXPECT_EQ(receive(), last == "echo b\n" ? "ab(end)" : "a(end)") << last;
    EXPECT_EQ(log, "gone closed ");
  }
}

TEST_F(WithheldAnswers, ReachAHalfClosedClientBeforeTheOneItIsBlockedFor) {
  connect();
  send("echo a\nneed 5\n");
  send("block\necho c\n");
  ::shutdown(client.get(), SHUT_WR);
  settle();
  set.release(5);
  EXPECT_EQ(receive(), "a");
  EXPECT_TRUE(resume("b"));
  EXPECT_EQ(receive(), "bc(end)");
}

TEST_F(WithheldAnswers, LeaveBeforeTheServerEnds) {
  connect();
  send("echo a\nneed 5\n");
  bool is_done = false;
  set.finish_all([&] { is_done = true; });
  EXPECT_EQ(receive(), "");
  EXPECT_FALSE(is_done);
  set.release(5);
  EXPECT_EQ(receive(), "a(end)");
  client.close();
  settle();
  EXPECT_TRUE(is_done);
}

TEST_F(WithheldAnswers, AreForgottenWithTheirClient) {
  connect();
  send("echo a\nneed 5\n");
  client.close();
  settle();
  set.release(5);
  settle();
  EXPECT_EQ(set.first_withheld(), 0U);
  EXPECT_EQ(log, "gone closed ");
}

TEST_F(WithheldAnswers, AreNotTheSilenceOfTheClient) {
  connect();
  send("echo a\nneed 5\n");
  pass(600s);
  EXPECT_EQ(set.size(), 1U);
  set.release(5);
  EXPECT_EQ(receive(), "a");
}

TEST_F(WithheldAnswers, ThatAreLostBecomeAWordAndTheEnd) {
  for (const std::string_view last : {"", "echo c\n", "block\n", "wait\n", "close\n", "half a line"}) {
    connect();
    send("echo a\nneed 5\n");
    send("echo b\nneed 6\n");
    if (!last.empty()) send(last);
    set.release(5);
    set.lose_withheld();
    EXPECT_EQ(receive(), "alost(end)") << last;
    EXPECT_EQ(set.first_withheld(), 0U);
    client.close();
    settle();
    EXPECT_EQ(set.size(), 0U);
  }
}

TEST_F(WithheldAnswers, ThatHaveLeftAreNotLost) {
  connect();
  send("echo a\nneed 5\n");
  set.release(5);
  set.lose_withheld();
  EXPECT_EQ(receive(), "a");
  send("echo b\n");
  EXPECT_EQ(receive(), "b");
}

}  // namespace
}  // namespace mete::net
