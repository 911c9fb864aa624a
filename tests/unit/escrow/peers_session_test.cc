// Two nodes and the link between them, in memory: the test carries the bytes, and loses, repeats or forges them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "escrow/peers/receiver.h"
#include "escrow/peers/sender.h"
#include "unit/escrow/peers_fixture.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

LinkTime at(Instant now) { return {.steady = now, .now = now}; }

// A link from one node to another.
class Link {
 public:
  Link(PeerNode& from, PeerNode& to, Progress& progress, std::string expected = "")
      : sender(from.identity, std::move(expected), from.counters, progress, at(kNow)),
        receiver(to.identity, to.counters) {}

  // Carries bytes to and fro until there are none; false if one end has refused.
  bool run(Instant now = kNow) {
    for (; failure.empty(); now = now + Sender::kBatchEvery) {
      if (!note(sender.advance(at(now)))) break;
      if (sender.output().empty() && back.empty()) return true;
      carry_there(now);
      carry_back(now);
    }
    // The last word of one end reaches the other.
    carry_there(now);
    carry_back(now);
    return false;
  }
  void carry_there(Instant now = kNow) {
    there += std::exchange(sender.output(), {});
    last_there = there;
    std::string_view input = there;
    note(receiver.receive(input, back, now), &refusal_there);
    there = input;
  }
  void carry_back(Instant now = kNow) {
    std::string_view input = back;
    note(sender.receive(input, at(now)));
    back = input;
  }

  Sender sender;
  Receiver receiver;
  std::string there;
  std::string back;
  std::string last_there;     // what was last given to the receiver
  std::string failure;        // the first error at either end
  std::string refusal_there;  // what the receiver said

 private:
  bool note(const Result<void>& done, std::string* also = nullptr) {
    if (done) return true;
    if (failure.empty()) failure = done.error().message;
    if (also != nullptr) *also = done.error().message;
    return false;
  }
};

struct PeerSession : ::testing::Test {
  PeerNode a{{"a", 1}};
  PeerNode b{{"b", 1}};
  Progress progress;
};

TEST_F(PeerSession, BringsCountersAndLearnsThatTheyArrived) {
  ASSERT_TRUE(a.counters.add("k", 5, kNow).has_value());
  Link link(a, b, progress);
  ASSERT_TRUE(link.run());
  EXPECT_EQ(b.counters.get("k", kNow), 5);
  EXPECT_EQ(a.counters.count_changes(progress.acknowledged, source_of({"b", 1})), 0U);
  ASSERT_TRUE(a.counters.add("k", 1, kNow).has_value());
  ASSERT_TRUE(link.run(kNow + 100ms));
  EXPECT_EQ(b.counters.get("k", kNow), 6);
}

TEST_F(PeerSession, ABusyCounterIsSentOnlyNowAndThen) {
  Link link(a, b, progress);
  ASSERT_TRUE(link.run());
  ASSERT_TRUE(a.counters.add("k", 1, kNow).has_value());
  ASSERT_TRUE(link.sender.advance(at(kNow + 100ms)).has_value());
  link.carry_there(kNow + 100ms);
  link.carry_back(kNow + 100ms);
  ASSERT_TRUE(a.counters.add("k", 1, kNow).has_value());
  ASSERT_TRUE(link.sender.advance(at(kNow + 109ms)).has_value());
  EXPECT_TRUE(link.sender.output().empty());
  ASSERT_TRUE(link.sender.advance(at(kNow + 110ms)).has_value());
  EXPECT_FALSE(link.sender.output().empty());
}

TEST_F(PeerSession, WorksWithoutSecretToo) {
  PeerNode c({"c", 1}, "");
  PeerNode d({"d", 1}, "");
  ASSERT_TRUE(c.counters.add("k", 5, kNow).has_value());
  Link link(c, d, progress);
  ASSERT_TRUE(link.run());
  EXPECT_EQ(d.counters.get("k", kNow), 5);
}

TEST_F(PeerSession, WaitsForAcksBeforeItSendsMore) {
  for (int i = 0; i < 50'000; ++i) ASSERT_TRUE(a.counters.add("some key " + std::to_string(i), 1, kNow).has_value());
  Link link(a, b, progress);
  link.carry_there();
  link.carry_back();
  link.carry_there();
  link.carry_back();
  EXPECT_LT(link.sender.output().size(), (Sender::kInFlightMax + 1) * Sender::kBatchBytes);
  ASSERT_TRUE(link.run());
  EXPECT_EQ(b.counters.size(), 50'000U);
}

TEST_F(PeerSession, GoesOnWhereTheLastLinkBroke) {
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(a.counters.add("k" + std::to_string(i), 1, kNow).has_value());
  ASSERT_TRUE(Link(a, b, progress).run());
  ASSERT_TRUE(a.counters.add("k7", 1, kNow).has_value());
  {
    // The batch arrives, and its ack is lost with the link.
    Link link(a, b, progress);
    for (int i = 0; i < 2; ++i) {
      link.carry_there();
      link.carry_back();
    }
    link.carry_there();
    EXPECT_EQ(b.counters.get("k7", kNow), 2);
  }
  EXPECT_EQ(a.counters.count_changes(progress.acknowledged, source_of({"b", 1})), 1U);
  ASSERT_TRUE(Link(a, b, progress).run());
  EXPECT_EQ(b.counters.get("k7", kNow), 2) << "what comes twice counts once";
  EXPECT_EQ(a.counters.count_changes(progress.acknowledged, source_of({"b", 1})), 0U);
}

TEST_F(PeerSession, APeerThatStartedAnewGetsEverything) {
  ASSERT_TRUE(a.counters.add("k", 5, kNow).has_value());
  ASSERT_TRUE(Link(a, b, progress).run());
  PeerNode again({"b", 2});
  ASSERT_TRUE(Link(a, again, progress).run());
  EXPECT_EQ(again.counters.get("k", kNow), 5);
}

TEST_F(PeerSession, AnIdleLinkIsTriedAndADeadOneIsNoticed) {
  Link link(a, b, progress);
  ASSERT_TRUE(link.run());
  ASSERT_TRUE(link.run(kNow + 200ms));
  ASSERT_TRUE(link.sender.advance(at(kNow + 250ms)).has_value());
  EXPECT_FALSE(link.sender.output().empty()) << "a ping";
  link.sender.output().clear();  // It is lost.
  EXPECT_TRUE(link.sender.advance(at(kNow + 1249ms)).has_value());
  const auto late = link.sender.advance(at(kNow + 1250ms));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().message, "no answer within 1s");
}

TEST_F(PeerSession, APeerThatSaysNothingIsGivenUp) {
  Link link(a, b, progress);
  EXPECT_TRUE(link.sender.advance(at(kNow + 999ms)).has_value());
  EXPECT_FALSE(link.sender.advance(at(kNow + 1s)).has_value());
}

TEST_F(PeerSession, RefusesAnotherSecret) {
  PeerNode c({"c", 1}, "another secret altogether");
  ASSERT_TRUE(c.counters.add("k", 5, kNow).has_value());
  Link link(c, b, progress);
  EXPECT_FALSE(link.run());
  EXPECT_EQ(link.refusal_there, "the secret of node 'c' is another one: give both the same");
  EXPECT_FALSE(link.receiver.is_open());
  EXPECT_EQ(b.counters.size(), 0U);
}

TEST_F(PeerSession, RefusesANodeWithoutSecret) {
  PeerNode c({"c", 1}, "");
  Link link(c, b, progress);
  EXPECT_FALSE(link.run());
  EXPECT_THAT(link.refusal_there, HasSubstr("one of the two nodes has a secret and the other has none"));
}

TEST_F(PeerSession, RefusesItsOwnName) {
  PeerNode twin({"b", 2});
  Link link(twin, b, progress);
  EXPECT_FALSE(link.run());
  EXPECT_THAT(link.refusal_there, HasSubstr("two nodes with one name"));
}

TEST_F(PeerSession, RefusesAnOlderIncarnation) {
  PeerNode old({"a", 1});
  PeerNode young({"a", 2});
  ASSERT_TRUE(Link(old, b, progress).run());
  ASSERT_TRUE(Link(young, b, progress).run());
  Link link(old, b, progress);
  EXPECT_FALSE(link.run());
  EXPECT_THAT(link.refusal_there, HasSubstr("has started anew since, as incarnation 2"));
}

TEST_F(PeerSession, AStrangerCannotMakeANodeLookOld) {
  PeerNode liar({"a", 99}, "another secret altogether");
  EXPECT_FALSE(Link(liar, b, progress).run());
  EXPECT_TRUE(Link(a, b, progress).run());
}

TEST_F(PeerSession, TheConnectorWantsTheNodeOfItsList) {
  Link link(a, b, progress, "c");
  EXPECT_FALSE(link.run());
  EXPECT_EQ(link.failure, "node 'b' is there, and not 'c': check the list of peers");
  EXPECT_THAT(link.refusal_there, HasSubstr("the other node refuses: node 'b' is there"));
}

TEST_F(PeerSession, RefusesAReplayedFrame) {
  ASSERT_TRUE(a.counters.add("k", 5, kNow).has_value());
  Link link(a, b, progress);
  ASSERT_TRUE(link.run());
  ASSERT_TRUE(a.counters.remove("k", kNow));
  ASSERT_TRUE(link.sender.advance(at(kNow + 100ms)).has_value());
  link.carry_there();
  link.there += link.last_there;
  link.carry_there();
  EXPECT_THAT(link.refusal_there, HasSubstr("forged, replayed or damaged"));
}

TEST_F(PeerSession, RefusesARecordedLinkFromItsFirstByte) {
  ASSERT_TRUE(a.counters.add("k", 5, kNow).has_value());
  std::string recorded;
  {
    Link link(a, b, progress);
    for (int i = 0; i < 3; ++i) {
      link.carry_there();
      recorded += link.last_there;
      link.carry_back();
    }
    ASSERT_EQ(b.counters.get("k", kNow), 5);
  }
  PeerNode fresh({"b", 1});
  Receiver receiver(fresh.identity, fresh.counters);
  std::string_view input = recorded;
  std::string output;
  EXPECT_FALSE(receiver.receive(input, output, kNow).has_value());
  EXPECT_EQ(fresh.counters.size(), 0U);
}

TEST_F(PeerSession, RefusesEveryFlippedBitOfASealedFrame) {
  ASSERT_TRUE(a.counters.add("k", 5, kNow).has_value());
  Link probe(a, b, progress);
  for (int i = 0; i < 2; ++i) {
    probe.carry_there();
    probe.carry_back();
  }
  const std::size_t size = probe.sender.output().size();
  ASSERT_GT(size, kFrameHeaderBytes + kSealBytes);
  for (std::size_t at = 0; at < size; ++at) {
    PeerNode c({"c", 1});
    Progress none;
    Link link(a, c, none);
    for (int i = 0; i < 2; ++i) {
      link.carry_there();
      link.carry_back();
    }
    ASSERT_TRUE(link.failure.empty());
    link.sender.output()[at] = static_cast<char>(link.sender.output()[at] ^ 1);
    link.carry_there();
    EXPECT_EQ(c.counters.size(), 0U) << at;
  }
}

TEST_F(PeerSession, RefusesFramesBeforeTheProof) {
  Link link(a, b, progress);
  link.carry_there();
  append_header(link.there, FrameType::kState, 8);
  link.there += std::string(8, '\0');
  link.carry_there();
  EXPECT_EQ(link.refusal_there, "a frame came before the link was open");
}

TEST_F(PeerSession, RefusesBytesThatAreNoFrames) {
  Receiver receiver(b.identity, b.counters);
  std::string_view input = "GET / HTTP/1.1\r\n\r\n";
  std::string output;
  const auto done = receiver.receive(input, output, kNow);
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().message, HasSubstr("not the protocol of peers"));
  EXPECT_THAT(output, HasSubstr("not the protocol of peers"));
}

TEST_F(PeerSession, ABatchThatCannotBeReadChangesNothing) {
  PeerNode c({"c", 1}, "");
  PeerNode d({"d", 1}, "");
  ASSERT_TRUE(c.counters.add("k", 5, kNow).has_value());
  Link link(c, d, progress);
  link.carry_there();
  link.carry_back();
  // One byte more: the first counter is whole, and the second is not.
  std::string& output = link.sender.output();
  output += 'x';
  output[8] = static_cast<char>(output[8] + 1);
  link.carry_there();
  EXPECT_THAT(link.refusal_there, HasSubstr("counter 2 of a batch cannot be read"));
  EXPECT_EQ(d.counters.size(), 0U);
}

}  // namespace
}  // namespace mete::escrow
