// What a connection gives whoever has not shown who it is.
#include "unit/net/connection_fixture.h"

namespace mete::net {
namespace {

using namespace std::chrono_literals;

class Strangers : public testing::ConnectionFixture, public ::testing::WithParamInterface<bool> {
 protected:
  Strangers() : ConnectionFixture(GetParam()) {
    clients_are_strangers = true;
    protocol.on_known = [this](std::uint64_t id) { log += "known " + std::to_string(id) + " "; };
  }
  // As many bytes as the server takes.
  std::size_t send_all_it_takes(const std::string& bytes) {
    std::size_t sent = 0;
    while (true) {
      const ssize_t count = ::send(client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0) return sent;
      sent += static_cast<std::size_t>(count);
      settle();
      if (sent > 1'000'000) return sent;
    }
  }
  std::size_t kept() {
    std::size_t bytes = 0;
    set.with(1, [&](Connection& connection) { bytes = connection.buffered_bytes(); });
    return bytes;
  }
};

INSTANTIATE_TEST_SUITE_P(Sessions, Strangers, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "on_fibers" : "on_the_loop"; });

TEST_P(Strangers, HaveSoMuchTimeHoweverBusyTheyAre) {
  connect();
  for (int second = 0; second < 5; ++second) {
    send("echo x\n");
    EXPECT_EQ(receive(), "x");
    pass(1s);
  }
  pass(5100ms);
  EXPECT_EQ(receive(), "late(end)");
}

TEST_P(Strangers, HaveItAgainWithEachAnsweredQuestion) {
  connect();
  pass(4s);
  send("question x\n");
  EXPECT_EQ(receive(), "x");
  pass(4s);
  EXPECT_EQ(receive(), "");
  pass(5100ms);
  EXPECT_EQ(receive(), "late(end)");
}

TEST_P(Strangers, AskForSoLongAtMost) {
  protocol.limits.stranger_life_max = 9s;
  connect();
  send("listen\nquestion x\n");
  EXPECT_EQ(receive(), "x");
  pass(8900ms);
  EXPECT_EQ(receive(), "") << "who listens may be silent";
  pass(9100ms);
  EXPECT_EQ(receive(), "late(end)");
}

TEST_P(Strangers, BecomeSuchAgainWithoutASign) {
  connect();
  send("known\n");
  pass(50s);
  is_known_valid = false;
  pass(1s);
  pass(5100ms);
  EXPECT_EQ(receive(), "late(end)");
}

TEST_P(Strangers, StayOnceTheyAreKnown) {
  connect();
  EXPECT_EQ(log, "");
  send("known\n");
  EXPECT_EQ(log, "known 1 ");
  pass(50s);
  send("echo x\n");
  EXPECT_EQ(receive(), "x");
  send(std::string(900, 'y'));  // as much of a request as anybody
  EXPECT_EQ(receive(), "");
}

TEST_P(Strangers, WhoAreNoneAreKnownAtOnce) {
  clients_are_strangers = false;
  connect();
  EXPECT_EQ(log, "known 1 ");
}

TEST_P(Strangers, MayBeginNoLongRequest) {
  connect();
  send(std::string(101, 'y'));
  EXPECT_EQ(receive(), "long(end)");
}

TEST_P(Strangers, AreNotReadAheadOfAnAnswerThatWaits) {
  connect();
  send("block\n");
  send_all_it_takes(std::string(4000, 'y'));
  EXPECT_LE(kept(), std::size_t{16} << 10);
  EXPECT_EQ(set.size(), 1U);
}

TEST_P(Strangers, GetFewAnswersThatTheyDoNotRead) {
  connect();
  std::string requests;
  for (int count = 0; count < 100; ++count) requests += "big 100\n";
  send_all_it_takes(requests);
  EXPECT_LE(kept(), std::size_t{16} << 10);
}

}  // namespace
}  // namespace mete::net
