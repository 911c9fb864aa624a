// Settling what nodes had drawn that never come back.
#include "escrow/nodes/retirement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/embedded/embedded_store.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

// Each look at it takes a while.
class BusyClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return Instant::from_ns(ns_ += 100'000'000); }

 private:
  mutable std::uint64_t ns_ = 0;
};

class RetirementTest : public ::testing::Test {
 protected:
  RetirementTest() {
    Roll(store).prepare().value();
    store.define(stock("seats").amount(1'000'000).scope(Scope::kEscrow)).value();
    store.define(window("api").amount(1'000'000).per(24h).scope(Scope::kEscrow)).value();
  }
  void start(std::string_view node) { Roll(store).next_incarnation(node).value(); }
  void draw(std::string_view node, std::string_view limit, Amount units) {
    const Charge charge{limit, "k", units};
    const std::string id = "mete-" + std::to_string(++draws);
    store.hold({.charges = {&charge, 1}, .ttl = 1h, .id = id, .tag = Retirement::tag_of(node)}).value();
  }
  Usage usage(std::string_view limit) { return store.usage({limit, "k"}).value(); }

  ManualClock clock{Instant::from_unix_seconds(1'700'000'000)};
  store::EmbeddedStore store{{.clock = &clock}};
  Retirement retirement{store, clock};
  int draws = 0;
};

TEST_F(RetirementTest, AllOfItCountsAsSpentAndOfNobodyElseAnything) {
  for (const std::string_view limit : {"seats", "api"}) {
    draw("a", limit, 30);
    draw("a", limit, 12);
    draw("b", limit, 5);
  }
  const Retired retired = retirement.settle_some("a").value();
  EXPECT_EQ(retired.lots, 4U);
  EXPECT_EQ(retired.units, 84);
  EXPECT_EQ(retired.left, 0U);
  for (const std::string_view limit : {"seats", "api"}) {
    EXPECT_EQ(usage(limit).used, 42) << limit;
    EXPECT_EQ(usage(limit).held, 5) << limit;
  }
  EXPECT_EQ(retirement.settle_some("a").value().lots, 0U);
}

TEST_F(RetirementTest, ManyAreSettledSomeAtATime) {
  for (int i = 0; i < 2500; ++i) draw("a", "seats", 2);
  for (const std::size_t left : {1500U, 500U, 0U}) {
    const Retired retired = retirement.settle_some("a").value();
    EXPECT_EQ(retired.left, left);
    EXPECT_EQ(retired.units, static_cast<Amount>(2 * retired.lots));
  }
  EXPECT_EQ(usage("seats").used, 5000);
}

TEST_F(RetirementTest, ACallTakesNoLongerThanAClientWaits) {
  for (int i = 0; i < 30; ++i) draw("a", "seats", 1);
  const BusyClock slow;
  Retirement patient(store, slow);
  int calls = 0;
  for (std::size_t left = 1; left > 0; ++calls) {
    const Retired retired = patient.settle_some("a").value();
    EXPECT_LE(retired.lots, 10U);
    EXPECT_GT(retired.lots, 0U);
    left = retired.left;
  }
  EXPECT_GE(calls, 3);
  EXPECT_EQ(usage("seats").used, 30);
}

// It was on its way when the node was retired.
TEST_F(RetirementTest, ADrawThatArrivesLaterIsFoundByTheNextCall) {
  start("a");
  draw("a", "api", 10);
  EXPECT_EQ(retirement.settle_some("a").value().left, 0U);
  EXPECT_EQ(retirement.away({}).value(), Names{});
  draw("a", "api", 7);
  EXPECT_EQ(retirement.away({}).value(), Names{"a"}) << "and is told of";
  EXPECT_EQ(retirement.settle_some("a").value().units, 7);
  EXPECT_EQ(usage("api").used, 17);
}

TEST_F(RetirementTest, WhoIsAwayAndHasDrawsIsTold) {
  for (const std::string_view node : {"c", "a", "b", "d"}) start(node);
  for (const std::string_view node : {"a", "b", "c"}) draw(node, "seats", 1);
  const NodeInfo b{.node = {.name = "b", .incarnation = 1, .identity = {}, .address = {}}, .is_self = true};
  EXPECT_EQ(retirement.away({b}).value(), (Names{"a", "c"})) << "d has nothing";
}

}  // namespace
}  // namespace mete::escrow
