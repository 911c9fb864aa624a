// What other nodes have and do not use: whoever asks for it has it, or is told how soon to ask again.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "unit/escrow/promise_fixture.h"

namespace mete::escrow {
namespace {

constexpr Amount kAmount = 100;

std::vector<Limit> kinds_of_shares() {
  std::vector<Limit> kinds = {window("limit").amount(kAmount).per(24h),
                              calendar("limit").amount(kAmount).per(Unit::kMonth), stock("limit").amount(kAmount)};
  for (Limit& each : kinds) each.scope(Scope::kEscrow);
  return kinds;
}

// The ways to ask for one unit.
struct Way {
  const char* name = nullptr;
  std::function<Result<core::Verdict>(store::Store& store, Amount cost)> ask;
};
std::vector<Way> ways() {
  static int last_id = 0;
  const auto next_id = [] { return "id" + std::to_string(++last_id); };
  return {{"plain",
           [](store::Store& store, Amount cost) {
             const Charge charge{"limit", "k", cost};
             return store.take({.charges = {&charge, 1}});
           }},
          {"with an id",
           [=](store::Store& store, Amount cost) {
             const Charge charge{"limit", "k", cost};
             return store.take({.charges = {&charge, 1}, .id = next_id()});
           }},
          {"hold",
           [=](store::Store& store, Amount cost) {
             const Charge charge{"limit", "k", cost};
             return store.hold({.charges = {&charge, 1}, .ttl = 24h, .id = next_id()});
           }},
          {"beside a shared one",
           [](store::Store& store, Amount cost) {
             const Charge charges[] = {{"limit", "k", cost}, {"plenty", "k", 1}};
             return store.take({.charges = charges});
           }},
          {"beside a node's own", [](store::Store& store, Amount cost) {
             const Charge charges[] = {{"limit", "k", cost}, {"own", "k", 1}};
             return store.take({.charges = charges});
           }}};
}

class EveryWay : public EscrowPromise {
 protected:
  int holds = 0;

  // Nine units are idle at b, and nothing else is left: then act(a, b, way).
  void with_idle_units_at_b(const std::function<void(EscrowStore& a, EscrowStore& b, const Way& way)>& act) {
    for (const Limit& kind : kinds_of_shares()) {
      for (const Way& way : ways()) {
        SCOPED_TRACE(std::string(to_string(kind.kind())) + ", " + way.name);
        const auto a = node("a");
        const auto b = node("b");
        a->define(kind).value();
        a->define(stock("plenty").amount(1000).scope(Scope::kShared)).value();
        a->define(stock("own").amount(1000)).value();
        b->tend();
        ASSERT_TRUE(take(*b, "limit"));
        b->tend();
        const Amount there = charged("limit");
        ASSERT_TRUE(take(*a, "limit", kAmount - there));
        ASSERT_EQ(charged("limit"), kAmount);
        act(*a, *b, way);
        a->drop("limit").value();
        beside.clear();
        clock.advance(1s);
        b->tend();
      }
    }
  }
};

// Where nobody can be asked for it.
TEST_F(EveryWay, IsDeniedForNoLongerThanUntilAnotherNodeMayGiveBack) {
  with_idle_units_at_b([&](EscrowStore& a, EscrowStore& b, const Way& way) {
    ASSERT_EQ(b.status().shares.usable, 9);
    const auto denied = way.ask(a, 1).value();
    ASSERT_FALSE(denied.is_allowed);
    EXPECT_LE(denied.retry_after, Duration(5s));
    EXPECT_EQ(way.ask(a, kAmount + 1).value().retry_after, Duration::never());
    clock.advance(denied.retry_after);
    b.tend();
    EXPECT_TRUE(way.ask(a, 1).value().is_allowed);
  });
}

TEST_F(EveryWay, HasTheLastUnitThatAnotherNodeDoesNotUse) {
  with_idle_units_at_b([&](EscrowStore& a, EscrowStore& b, const Way& way) {
    beside = {&a, &b};
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(way.ask(a, 1).value().is_allowed) << i;
    EXPECT_FALSE(way.ask(a, 1).value().is_allowed);
    EXPECT_EQ(charged("limit"), kAmount);
  });
}

// As much as there is, wherever it lies.
TEST_F(EveryWay, UpToGetsWhatOtherNodesDoNotUse) {
  with_idle_units_at_b([&](EscrowStore& a, EscrowStore& b, const Way& /*way*/) {
    const auto up_to = [&](Amount cost) {
      const Charge charge{"limit", "k", cost};
      return a.take({.charges = {&charge, 1}, .mode = Mode::kUpTo}).value();
    };
    // It has one unit of its own, and has been told again and again that there is no other: it does not ask the shared
    // store for a while, but would ask other nodes.
    const Charge one{"limit", "k", 1};
    a.give({&one, 1}, {}).value();
    const Charge with_more[] = {one, {"plenty", "k", 10'000}};
    ASSERT_FALSE(a.take({.charges = with_more}).value().is_allowed);
    ASSERT_EQ(a.status().shares.usable, 1);
    for (const auto pause : {10ms, 20ms, 40ms, 80ms, 160ms, 50ms}) {
      ASSERT_FALSE(take(a, "limit", 2));
      clock.advance(pause);
    }
    beside = {&a, &b};
    EXPECT_EQ(up_to(5).taken, 5);
    EXPECT_EQ(up_to(10 * kAmount).taken, 5);
    EXPECT_FALSE(up_to(1).is_allowed);
    clock.advance(5s);
    a.tend();
    EXPECT_EQ(charged("limit"), kAmount) << "what was tried in between is not lost, nor charged twice";
  });
}

// A peek brings nothing back, but knows what will come.
TEST_F(EveryWay, APeekTellsSharesFromWhatClientsHold) {
  with_idle_units_at_b([&](EscrowStore& a, EscrowStore& b, const Way& /*way*/) {
    beside = {&a, &b};
    const Charge one{"limit", "k", 1};
    const core::Take peek{.charges = {&one, 1}, .mode = Mode::kPeek};
    EXPECT_LE(a.run(peek).value().retry_after, Duration(5s));
    const Charge all{"limit", "k", 9};
    ASSERT_TRUE(b.hold({.charges = {&all, 1}, .ttl = 1h, .id = "h" + std::to_string(++holds)}).value().is_allowed);
    b.tend();
    EXPECT_EQ(a.run(peek).value().retry_after, Duration(1h));
  });
}

// Nobody has anything to give back: that is asked once in a while.
TEST_F(EveryWay, AsksOthersSeldomWhileNobodyHasAnything) {
  with_idle_units_at_b([&](EscrowStore& a, EscrowStore& b, const Way& way) {
    const Charge all{"limit", "k", 9};
    ASSERT_TRUE(b.take({.charges = {&all, 1}}).value().is_allowed);
    beside = {&a, &b};
    const int before = asks[&a]->rounds;
    for (int i = 0; i < 1000; ++i) {
      ASSERT_FALSE(way.ask(a, kAmount).value().is_allowed);
      clock.advance(1ms);
    }
    EXPECT_LE(asks[&a]->rounds - before, 5);
  });
}

}  // namespace
}  // namespace mete::escrow
