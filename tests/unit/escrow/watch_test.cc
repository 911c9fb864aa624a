// What nodes notice while they run: a shared store that has gone back to an earlier state, was wiped, forgets ids, or
// goes by a clock that was set. Two nodes over one store, on clocks that the test sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/errors.h"
#include "escrow/escrow_store.h"
#include "store/embedded/embedded_store.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr Amount kAmountOfAll = 100;

// The store that the nodes share, and a copy of it that was taken at some time: until then all is done to both.
struct SharedState {
  explicit SharedState(const Clock& clock) : now({.clock = &clock}), copy({.clock = &clock}) {}

  store::EmbeddedStore now;
  store::EmbeddedStore copy;
  bool is_copied = false;
  bool is_restored = false;
  bool is_away = false;
  std::uint64_t reconnects = 0;
  std::optional<Duration> id_retention;
};

class WayThere final : public store::StoreOf<WayThere> {
 public:
  explicit WayThere(SharedState& state) : state_(state) {}
  [[nodiscard]] Instant now() const override { return state_.now.now(); }
  [[nodiscard]] std::optional<store::RemoteStatus> remote() const override {
    store::RemoteStatus status;
    status.reconnects = state_.reconnects;
    status.failures = failures_;
    return status;
  }

 private:
  friend class store::StoreOf<WayThere>;
  Error fail() {
    ++failures_;
    return base::unavailable("it is away");
  }
  template <class What>
  Result<typename What::Answer> perform(const What& operation, store::Execution& execution) {
    if (state_.is_away) return fail();
    if (state_.is_restored) return state_.copy.run(operation, execution);
    if (!state_.is_copied) static_cast<void>(state_.copy.run(operation, execution));
    return state_.now.run(operation, execution);
  }
  Result<store::StoreStatistics> perform(const core::ReadStatistics& read, store::Execution& execution) {
    if (state_.is_away) return fail();
    auto statistics = state_.now.run(read, execution);
    if (statistics && state_.id_retention) statistics->id_retention = state_.id_retention;
    return statistics;
  }

  SharedState& state_;
  std::uint64_t failures_ = 0;
};

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() : nodes{open("a"), open("b")} {
    for (const Limit& limit : {window("api").amount(kAmountOfAll).per(24h).scope(Scope::kEscrow),
                               stock("seats").amount(kAmountOfAll).scope(Scope::kEscrow)}) {
      EXPECT_TRUE(nodes[0]->define(limit).has_value());
    }
    pass(1s);
  }
  std::unique_ptr<EscrowStore> open(std::string name) {
    EscrowParts parts;
    parts.local = std::make_unique<store::EmbeddedStore>(Options{.clock = &clock});
    parts.shared = std::make_unique<WayThere>(shared);
    parts.registration =
        Registration::take(*parts.shared, {.name = name, .address = {}, .directory = {}, .wait = {}}).value();
    parts.node = std::move(name);
    parts.incarnation = 1;
    parts.clock = &clock;
    parts.has_threads = false;
    return EscrowStore::open(std::move(parts)).value();
  }
  void tend() {
    for (const auto& node : nodes) node->tend();
  }
  void pass(Duration time) {
    clock.advance(time);
    shared_clock.advance(time);
    tend();
  }
  // How many of so many the node admits, one by one.
  Amount take(std::size_t node, std::string_view limit, int count) {
    Amount admitted = 0;
    for (int i = 0; i < count; ++i) {
      const Charge charge{limit, "k", 1};
      const auto verdict = nodes[node]->take({.charges = {&charge, 1}});
      if (verdict.has_value() && verdict->is_allowed) ++admitted;
    }
    return admitted;
  }
  // A draw that was refused is asked again after a while.
  bool is_drawn_again(std::size_t node, std::string_view limit) {
    for (int second = 0; second < 5; ++second) {
      if (take(node, limit, 1) == 1) return true;
      pass(1s);
    }
    return false;
  }
  std::string halted(std::size_t node) { return nodes[node]->status().halted.value_or(""); }

  ManualClock clock{Instant::from_unix_seconds(1'700'000'000)};  // of the nodes
  ManualClock shared_clock{Instant::from_unix_seconds(1'700'000'000)};
  SharedState shared{shared_clock};
  std::array<std::unique_ptr<EscrowStore>, 2> nodes;
};

constexpr std::string_view kLimits[] = {"api", "seats"};

// 70 are forgotten, and nobody was started meanwhile.
TEST_F(WatchTest, AStoreThatHasGoneBackGrantsNothingASecondTime) {
  for (const std::string_view limit : kLimits) EXPECT_EQ(take(0, limit, 10), 10);
  for (int i = 0; i < 5; ++i) pass(1s);
  shared.is_copied = true;
  Amount admitted[2] = {10, 10};
  for (int i = 0; i < 2; ++i) admitted[i] += take(0, kLimits[i], 70);
  for (int i = 0; i < 5; ++i) pass(1s);
  EXPECT_EQ(admitted[0], 80);
  shared.is_restored = true;
  pass(1s);
  for (std::size_t node = 0; node < 2; ++node) {
    EXPECT_THAT(halted(node), HasSubstr("the shared store has gone back to an earlier state: it knows of "));
    for (int i = 0; i < 2; ++i) admitted[i] += take(node, kLimits[i], 120);
  }
  for (const Amount each : admitted) EXPECT_LE(each, kAmountOfAll);
}

// It is back at once, as a store is that was started again on a copy: what it grants counts once it was asked.
TEST_F(WatchTest, NothingIsGrantedByAStoreThatIsBackBeforeItWasLookedAt) {
  EXPECT_EQ(take(0, "seats", 10), 10);
  pass(1s);
  shared.is_copied = true;
  EXPECT_EQ(take(0, "seats", 70), 70);
  pass(1s);
  shared.is_restored = true;
  ++shared.reconnects;
  clock.advance(500ms);
  EXPECT_EQ(take(1, "seats", 120), 0);
  EXPECT_THAT(halted(1), HasSubstr("has gone back to an earlier state"));
}

TEST_F(WatchTest, NothingIsGrantedByAStoreThatWasAwayBeforeItWasLookedAt) {
  EXPECT_EQ(take(0, "seats", 10), 10);
  pass(1s);
  shared.is_copied = true;
  EXPECT_EQ(take(0, "seats", 70), 70);
  pass(1s);
  shared.is_away = true;
  EXPECT_EQ(take(1, "seats", 1), 0);
  shared.is_away = false;
  shared.is_restored = true;
  clock.advance(500ms);
  nodes[1]->tend();
  EXPECT_THAT(halted(1), HasSubstr("has gone back to an earlier state")) << "it was asked again for the draw";
  EXPECT_EQ(take(1, "seats", 120), 0);
}

// Nothing of its own was lost: it is told.
TEST_F(WatchTest, WhoHasLostNothingHearsOfItFromTheOthers) {
  EXPECT_EQ(take(0, "seats", 1), 1);
  shared.is_copied = true;
  EXPECT_EQ(take(0, "seats", 70), 70);
  clock.advance(1s);
  nodes[0]->tend();
  shared.is_restored = true;
  clock.advance(1s);
  tend();
  EXPECT_THAT(halted(0), HasSubstr("signs of life of node 'a'"));
  EXPECT_THAT(halted(1), HasSubstr("another node has found that it forgot something"));
  EXPECT_EQ(take(1, "seats", 120), 0);
}

// No call has failed, and so a draw was made of it: what is left of that is not spent.
TEST_F(WatchTest, WhatWasGrantedByAStoreThatHadGoneBackIsNotSpent) {
  pass(1s);
  shared.is_copied = true;
  pass(1s);
  shared.is_restored = true;
  EXPECT_EQ(take(0, "seats", 1), 1);
  EXPECT_GT(nodes[0]->status().shares.usable, 0);
  pass(1s);
  EXPECT_THAT(halted(0), HasSubstr("has gone back to an earlier state"));
  EXPECT_EQ(nodes[0]->status().shares.usable, 0);
  EXPECT_EQ(take(0, "seats", 10), 0);
}

TEST_F(WatchTest, WhatIsDecidedInTheSharedStoreIsNotDecidedByAnEarlierState) {
  EXPECT_TRUE(nodes[0]->define(bucket("bucket").amount(100).per(1h).scope(Scope::kEscrow)));
  pass(1s);
  shared.is_copied = true;
  pass(1s);
  shared.is_restored = true;
  pass(1s);
  for (const std::string_view limit : {"seats", "bucket"}) {
    const Charge charge{limit, "k", 1};
    EXPECT_EQ(nodes[0]->take({.charges = {&charge, 1}}).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(nodes[0]->take({.charges = {&charge, 1}, .id = "one"}).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(nodes[0]->hold({.charges = {&charge, 1}, .ttl = 1h, .id = "two"}).error().code, ErrorCode::kUnavailable);
  }
}

TEST_F(WatchTest, AStoreThatWasWipedIsNoticed) {
  EXPECT_EQ(halted(0), "");
  shared.now.clear().value();
  pass(1s);
  for (std::size_t node = 0; node < 2; ++node) {
    EXPECT_THAT(halted(node), HasSubstr("It was wiped, or escrow.shared leads to another one"));
    EXPECT_EQ(take(node, "seats", 1), 0);
  }
}

// Somebody has defined it there again, but not yet given it the number of its generation.
TEST_F(WatchTest, NodesThatAreLostTakeNothingOfALimitThatIsDefinedAgain) {
  shared.now.clear().value();
  pass(1s);
  const Limit again = window("again").amount(kAmountOfAll).per(24h).scope(Scope::kEscrow);
  for (const Limit& limit : {again, stock("seats").amount(kAmountOfAll).scope(Scope::kEscrow)}) {
    shared.now.define(limit).value();
    pass(5s);
    const Charge charge{limit.name(), "k", 1};
    const Charge both[] = {{limit.name(), "k", 1}, {limit.name(), "l", 1}};
    for (const auto& node : nodes) {
      EXPECT_EQ(node->take({.charges = {&charge, 1}}).error().code, ErrorCode::kUnavailable);
      EXPECT_EQ(node->take({.charges = both}).error().code, ErrorCode::kUnavailable);
      EXPECT_EQ(node->take({.charges = {&charge, 1}, .mode = Mode::kForce}).error().code, ErrorCode::kUnavailable);
      EXPECT_EQ(node->take({.charges = {&charge, 1}, .id = "one"}).error().code, ErrorCode::kUnavailable);
      EXPECT_EQ(node->hold({.charges = {&charge, 1}, .ttl = 1h, .id = "two"}).error().code, ErrorCode::kUnavailable);
    }
    EXPECT_EQ(shared.now.usage({limit.name(), "k"}).value().used, 0);
  }
}

TEST_F(WatchTest, DrawsRestWhileTheStoreForgetsIdsTooSoon) {
  EXPECT_EQ(take(0, "seats", 1), 1);
  shared.id_retention = 9min;
  pass(1s);
  EXPECT_THAT(halted(0), HasSubstr("remembers ids for 9m only (id_retention), and nodes need 10m"));
  EXPECT_EQ(take(1, "seats", 1), 0);
  EXPECT_EQ(take(0, "seats", 1), 1) << "what was drawn before is spent";
  shared.is_away = true;
  pass(1s);
  EXPECT_THAT(halted(0), HasSubstr("id_retention")) << "nobody has said that it is right by now";
  shared.is_away = false;
  shared.id_retention = 10min;
  pass(1s);
  EXPECT_EQ(halted(0), "");
  EXPECT_TRUE(is_drawn_again(1, "seats"));
}

TEST_F(WatchTest, DrawsRestAfterTheStoresClockWasSetAndWhatNodesHaveGoesBack) {
  for (int i = 0; i < 5; ++i) pass(1s);
  EXPECT_EQ(halted(0), "") << "it goes evenly";
  EXPECT_EQ(take(0, "api", 1), 1);
  EXPECT_GT(nodes[0]->status().shares.usable, 0);
  shared_clock.advance(30s);
  pass(1s);
  EXPECT_THAT(halted(0), HasSubstr("the clock that the shared store goes by was set ahead by 30s"));
  EXPECT_EQ(nodes[0]->status().shares.usable, 0);
  EXPECT_EQ(shared.now.usage({"api", "k"}).value().used, 1);
  EXPECT_EQ(take(1, "api", 1), 0);
  for (int second = 0; second < 9; ++second) pass(1s);
  EXPECT_NE(halted(0), "");
  pass(1s);
  EXPECT_EQ(halted(0), "");
  EXPECT_TRUE(is_drawn_again(1, "api"));
  for (int second = 0; second < 2; ++second) {
    clock.advance(1s);
    tend();
  }
  EXPECT_THAT(halted(0), HasSubstr("was set back by 1s")) << "it stands still until the time is there again";
}

}  // namespace
}  // namespace mete::escrow
