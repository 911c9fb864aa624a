// Nodes that join a cluster, are killed, come back, and are told apart from copies of themselves.
#include "escrow/nodes/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/embedded/embedded_store.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr std::string_view kDirectory = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kOtherDirectory = "fedcba9876543210fedcba9876543210";

class RegistryTest : public ::testing::Test {
 protected:
  static Joining::Options options(std::string_view name, std::string_view identity, const Remembered& remembered = {}) {
    return {.name = std::string(name),
            .identity = std::string(identity),
            .address = std::string(name) + ".example:7380",
            .remembered = remembered};
  }
  // At the first attempt.
  Registry join(const Joining::Options& options) { return Joining(store, options).attempt().value().value(); }
  // What an attempt is refused with; nothing may have changed for others.
  std::string refusal(const Joining::Options& options) {
    const auto attempt = Joining(store, options).attempt();
    return attempt.has_value() ? "" : attempt.error().message;
  }
  static std::vector<std::string> names(const Registry& registry) {
    std::vector<std::string> names;
    for (const NodeInfo& each : registry.nodes()) names.push_back((each.is_self ? "*" : "") + each.node.name);
    return names;
  }

  ManualClock clock{Instant::from_unix_seconds(1'700'000'000)};
  store::EmbeddedStore store{{.clock = &clock}};
};

using Names = std::vector<std::string>;

TEST_F(RegistryTest, NodesSeeEachOtherUntilTheyLeaveOrFallSilent) {
  Registry a = join(options("a", "1"));
  Registry b = join(options("b.b-b_b", "2"));
  Registry c = join(options("c", "3"));
  EXPECT_EQ(names(c), (Names{"a", "b.b-b_b", "*c"}));
  EXPECT_EQ(a.refresh(), Membership::kMember);
  EXPECT_EQ(names(a), (Names{"*a", "b.b-b_b", "c"}));
  EXPECT_EQ(a.nodes()[1].node, b.self());
  EXPECT_EQ(b.self().address, "b.b-b_b.example:7380");
  EXPECT_EQ(a.remembered().cluster, b.remembered().cluster);
  for (int second = 0; second < 6; ++second) {
    clock.advance(kRefreshEvery);
    EXPECT_EQ(a.refresh(), Membership::kMember);
    EXPECT_EQ(b.refresh(), Membership::kMember);
  }
  EXPECT_EQ(names(a), (Names{"*a", "b.b-b_b"})) << "c has said nothing for 6 s";
  b.leave().value();
  a.refresh().value();
  EXPECT_EQ(names(a), Names{"*a"});
}

TEST_F(RegistryTest, EachStartHasAHigherIncarnation) {
  for (Incarnation start = 1; start <= 3; ++start) {
    Registry a = join(options("a", kDirectory));
    EXPECT_EQ(a.self().incarnation, start);
    EXPECT_EQ(a.remembered(), (Remembered{a.remembered().cluster, "a", start}));
    a.leave().value();
  }
  EXPECT_EQ(join(options("b", kOtherDirectory)).self().incarnation, 1);
}

TEST_F(RegistryTest, ANameThatAnotherHasIsRefused) {
  Registry first = join(options("a", kDirectory));
  EXPECT_EQ(refusal(options("a", kOtherDirectory)),
            "another node 'a' (incarnation 1, at a.example:7380) is running: give this one another name "
            "(escrow.node), or wait 5 s if that one has just been killed");
  clock.advance(6s);
  EXPECT_EQ(first.refresh(), Membership::kMember) << "an attempt that was refused takes nothing away";
  clock.advance(5s);
  EXPECT_EQ(join(options("a", kOtherDirectory)).self().incarnation, 2) << "it is free when nothing is heard of it";
}

TEST_F(RegistryTest, AKilledNodeComesBackOnItsDirectorySoon) {
  const Registry killed = join(options("a", kDirectory));
  clock.advance(300ms);
  Joining joining(store, options("a", kDirectory, killed.remembered()));
  EXPECT_EQ(joining.attempt().value().has_value(), false);
  clock.advance(1s);
  EXPECT_EQ(joining.attempt().value().has_value(), false);
  clock.advance(1s);
  EXPECT_EQ(joining.attempt().value().value().self().incarnation, 2);
}

TEST_F(RegistryTest, ItMayComeBackUnderAnotherName) {
  const Registry killed = join(options("a", kDirectory));
  Joining joining(store, options("b", kDirectory, killed.remembered()));
  EXPECT_FALSE(joining.attempt().value().has_value());
  clock.advance(2s);
  Registry renamed = joining.attempt().value().value();
  EXPECT_EQ(renamed.self().incarnation, 1);
  EXPECT_EQ(names(renamed), Names{"*b"});
}

TEST_F(RegistryTest, ACopyOfADirectoryIsRefused) {
  for (const std::string_view name : {"a", "b"}) {
    Registry original = join(options("a", kDirectory));
    Joining copy(store, options(name, kDirectory, original.remembered()));
    EXPECT_FALSE(copy.attempt().value().has_value());
    for (int second = 0; second < 2; ++second) {
      clock.advance(700ms);
      original.refresh().value();
      clock.advance(300ms);
      if (second == 0) {
        EXPECT_FALSE(copy.attempt().value().has_value());
      }
    }
    const auto refused = copy.attempt();
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(refused.error().message, HasSubstr("is running from this data directory or from a copy of it"));
    EXPECT_EQ(original.refresh(), Membership::kMember);
    original.leave().value();
  }
}

TEST_F(RegistryTest, WhoWasReplacedWhilePausedIsFenced) {
  Registry paused = join(options("a", kDirectory));
  Joining joining(store, options("a", kDirectory, paused.remembered()));
  joining.attempt().value();
  clock.advance(2s);
  Registry successor = joining.attempt().value().value();
  EXPECT_EQ(paused.refresh(), Membership::kFenced);
  EXPECT_EQ(paused.reason(),
            "node 'a' (incarnation 2, at a.example:7380) has come in the place of node 'a' (incarnation 1, at "
            "a.example:7380) while this one was not heard of: start it again if it is to go on, with a name and a data "
            "directory that no other node has");
  EXPECT_EQ(successor.refresh(), Membership::kMember);
  successor.leave().value();
  EXPECT_EQ(paused.refresh(), Membership::kFenced) << "for good";
  paused.leave().value();
}

TEST_F(RegistryTest, ASuccessorThatHasLeftAgainFencesToo) {
  Registry paused = join(options("a", kDirectory));
  clock.advance(6s);
  join(options("a", kOtherDirectory)).leave().value();
  EXPECT_EQ(paused.refresh(), Membership::kFenced);
  EXPECT_THAT(paused.reason(), HasSubstr("node 'a' (incarnation 2) has come in the place of"));
  EXPECT_EQ(join(options("a", kOtherDirectory)).self().incarnation, 3) << "it has let go of the name";
}

TEST_F(RegistryTest, WhoWasOnlySilentGoesOnAsBefore) {
  Registry a = join(options("a", kDirectory));
  Registry b = join(options("b", kOtherDirectory));
  for (int pause = 0; pause < 3; ++pause) {
    clock.advance(10s);
    EXPECT_EQ(a.refresh(), Membership::kMember);
    EXPECT_EQ(names(a), Names{"*a"});
    EXPECT_EQ(b.refresh(), Membership::kMember);
    EXPECT_EQ(names(b), (Names{"a", "*b"}));
  }
  EXPECT_EQ(a.self().incarnation, 1);
}

TEST_F(RegistryTest, AWipedStoreIsNoticedByThoseWhoRun) {
  Registry a = join(options("a", kDirectory));
  Registry b = join(options("b", kOtherDirectory));
  store.clear().value();
  EXPECT_EQ(a.refresh(), Membership::kWiped);
  EXPECT_THAT(a.reason(), HasSubstr("which this node belongs to: it knows of no cluster"));
  // One that knows nothing of the old cluster begins another.
  const Registry stranger = join(options("c", "3"));
  EXPECT_NE(stranger.remembered().cluster, b.remembered().cluster);
  EXPECT_EQ(b.refresh(), Membership::kWiped);
  EXPECT_THAT(b.reason(), HasSubstr("it is that of cluster " + std::to_string(stranger.remembered().cluster)));
  EXPECT_EQ(a.refresh(), Membership::kWiped) << "for good";
}

TEST_F(RegistryTest, AWipedStoreIsNoticedByThoseWhoStart) {
  Registry a = join(options("a", kDirectory));
  const Remembered remembered = a.remembered();
  a.leave().value();
  store.clear().value();
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(refusal(options("a", kDirectory, remembered)), HasSubstr("it knows of no cluster. It was wiped"));
  }
  store.drop("mete.nodes").value();
  EXPECT_THAT(refusal(options("a", kDirectory, remembered)), HasSubstr("it knows of no cluster. It was wiped"));
  EXPECT_EQ(refusal(options("a", kDirectory)), "") << "who remembers nothing begins anew";
}

TEST_F(RegistryTest, AStoreThatWentBackIsNoticedHoweverOftenOneTries) {
  Registry a = join(options("a", kDirectory));
  Remembered remembered = a.remembered();
  a.leave().value();
  remembered.incarnation = 3;
  for (int attempt = 0; attempt < 5; ++attempt) {
    EXPECT_THAT(refusal(options("a", kDirectory, remembered)),
                HasSubstr("it knows of 1 starts of node 'a', and there were 3"));
  }
  EXPECT_THAT(refusal(options("b", kDirectory, remembered)), HasSubstr("starts of node 'a'"))
      << "whatever it is called";
}

// A copy that was taken between two starts has all of their numbers.
TEST_F(RegistryTest, AStoreThatGoesBackBetweenStartsIsNoticedByThoseWhoRun) {
  Registry a = join(options("a", kDirectory));
  Registry b = join(options("b", kOtherDirectory));
  const Charge beat{"mete.nodes", "{mete}beat:a", 1};
  for (int second = 0; second < 3; ++second) EXPECT_EQ(a.refresh(), Membership::kMember);
  store.take({.charges = {&beat, 1}}).value();
  EXPECT_EQ(a.refresh(), Membership::kMember) << "one whose answer got lost was counted";
  EXPECT_EQ(a.remembered().beats, 5);
  store.give({&beat, 1}, {}).value();
  EXPECT_EQ(a.refresh(), Membership::kWiped);
  EXPECT_THAT(a.reason(), HasSubstr("it knows of 4 signs of life of node 'a', and there were 5"));
  EXPECT_EQ(a.refresh(), Membership::kWiped) << "for good";
  EXPECT_EQ(b.refresh(), Membership::kWiped) << "it is told, for nothing of its own was lost";
  EXPECT_THAT(b.reason(), HasSubstr("another node has found that it forgot something"));
}

TEST_F(RegistryTest, AStoreThatWentBackIsGoneOnWithWhenNobodyRunsAndNothingIsRemembered) {
  Registry a = join(options("a", kDirectory));
  Registry b = join(options("b", kOtherDirectory));
  Roll(store).say_gone_back().value();
  EXPECT_THAT(refusal(options("c", "3")), HasSubstr("has gone back to an earlier state")) << "a and b run";
  EXPECT_EQ(a.refresh(), Membership::kWiped);
  const Remembered remembered = a.remembered();
  clock.advance(6s);
  EXPECT_THAT(refusal(options("a", kDirectory, remembered)), HasSubstr("has gone back to an earlier state"));
  Registry fresh = join(options("a", "4"));
  EXPECT_EQ(fresh.refresh(), Membership::kMember);
}

TEST_F(RegistryTest, AnotherClockThanTheOthersIsRefused) {
  Registry a = join(options("a", kDirectory));
  const Charge place{"mete.nodes", "{mete}at:b", 1};
  const auto come = [&](std::string_view id, Duration ttl) {
    store.hold({.charges = {&place, 1}, .ttl = ttl, .id = id, .tag = "mete-cluster"}).value();
  };
  come("{mete}mete-b:1:0", 6s);
  EXPECT_EQ(refusal(options("c", kOtherDirectory)), "") << "that may be the way of the answer";
  come("{mete}mete-d:1:0", 65s);
  EXPECT_THAT(refusal(options("e", "3")), HasSubstr("the clock by which node 'd' (incarnation 1, at b) goes is ahead "
                                                    "of this node's by 60 s"));
  EXPECT_EQ(a.refresh(), Membership::kMember) << "whoever is there already goes on";
  EXPECT_EQ(a.nodes()[3].node.name, "d");
  EXPECT_EQ(a.nodes()[3].clock_ahead, 60s);
}

TEST_F(RegistryTest, OfTwoFoundersOneFoundsTheCluster) {
  Roll roll(store);
  roll.prepare().value();
  EXPECT_EQ(roll.cluster().value(), std::nullopt);
  const ClusterNumber number = roll.found_cluster().value();
  EXPECT_GE(number, Amount{1} << 52);
  EXPECT_EQ(roll.found_cluster().value(), number);
  EXPECT_EQ(roll.cluster().value(), number);
}

TEST_F(RegistryTest, HoldsThatAreNoNodesAreNone) {
  Registry a = join(options("a", kDirectory));
  store.define(stock("jobs").amount(9)).value();
  const Charge charge{"jobs", "k", 1};
  for (const std::string_view id :
       {"x", "{mete}", "{mete}b", "{mete}b:1", "{mete}b:0:0", "{mete}b c:1:0", "{mete}:1:0"}) {
    store.hold({.charges = {&charge, 1}, .ttl = 1h, .id = id, .tag = "mete-cluster"}).value();
  }
  EXPECT_EQ(a.refresh(), Membership::kMember);
  EXPECT_EQ(names(a), Names{"*a"});
}

}  // namespace
}  // namespace mete::escrow
