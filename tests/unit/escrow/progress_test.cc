// What one node brings another: random histories of three nodes whose links break and come back, for moments and for
// hours, whose messages come twice and late, and which begin anew: in the end they agree.
#include "escrow/counters/progress.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "unit/escrow/counters_fixture.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using core::Expiry;
using core::ExpiryCondition;

constexpr std::size_t kNodes = 3;
constexpr std::array<const char*, 3> kKeys = {"x", "y", "z"};

struct Batch {
  Counters::Changes changes;
  Writer from;
};

void merge(Counters& to, const Batch& batch, Instant now) {
  for (const std::string& piece : batch.changes.states) {
    for (const CounterState& state : decode_states(piece).value()) to.merge(state, source_of(batch.from), now);
  }
}

// Brings all there is; how many batches that took.
int bring_all(Counters& from, Counters& to, Progress& progress, Instant now) {
  for (int batches = 1;; ++batches) {
    const Batch batch{progress.next(from, now), from.self()};
    merge(to, batch, now);
    progress.answered(batch.changes.cursor, to.self(), now);
    const bool has_counted = progress.acknowledged() == batch.changes.cursor;
    if (has_counted && batch.changes.states.empty()) return batches;
  }
}

TEST(Progress, BringsWhatHasChangedAndNotWhatTheOtherHasSaidItself) {
  Counters a({"a", 1});
  Counters b({"b", 1});
  Progress to_b;
  Progress to_a;
  for (int i = 0; i < 5000; ++i) EXPECT_TRUE(a.add("key " + std::to_string(i), 1, kNow).has_value());
  EXPECT_GT(bring_all(a, b, to_b, kNow), 3) << "in batches";
  EXPECT_EQ(b.size(), 5000U);
  bring_all(b, a, to_a, kNow);
  EXPECT_TRUE(to_a.next(b, kNow).states.empty());
  EXPECT_TRUE(a.add("key 7", 1, kNow).has_value());
  const auto changes = to_b.next(a, kNow);
  ASSERT_EQ(changes.states.size(), 1U);
  EXPECT_EQ(decode_states(changes.states[0]).value().size(), 1U);
}

TEST(Progress, WhoBeganAnewOrWasAwayForLongGetsEverything) {
  Counters a({"a", 1});
  Progress progress;
  EXPECT_TRUE(a.add("k", 1, kNow).has_value());
  Counters b({"b", 1});
  bring_all(a, b, progress, kNow);
  Counters again({"b", 2});
  bring_all(a, again, progress, kNow + 1s);
  EXPECT_EQ(again.get("k", kNow), 1);
  bring_all(a, again, progress, kNow + 2s + kGoneKept);
  EXPECT_EQ(bring_all(a, again, progress, kNow + 3s + kGoneKept), 1) << "and once is enough";
}

class World {
 public:
  void act() {
    Counters& counters = *nodes_[*rc::gen::inRange<std::size_t>(0, kNodes)];
    const char* const key = kKeys[*rc::gen::inRange<std::size_t>(0, kKeys.size())];
    switch (*rc::gen::inRange(0, 7)) {
      case 0:
        RC_ASSERT(counters.set({.key = key, .value = *rc::gen::inRange<std::int64_t>(-9, 10)}, now_).has_value());
        break;
      case 1:
        counters.remove(key, now_);
        break;
      case 2:
        counters.expire(key, Expiry::in(2s), ExpiryCondition::kAlways, now_);
        break;
      case 3:
        counters.persist(key, now_);
        break;
      default:
        RC_ASSERT(counters.add(key, *rc::gen::inRange<std::int64_t>(-9, 10), now_).has_value());
    }
  }

  // A batch arrives, is lost, arrives twice or has no answer; time passes; a node begins anew.
  void pass() {
    const auto from = *rc::gen::inRange<std::size_t>(0, kNodes);
    const auto to = *rc::gen::inRange<std::size_t>(0, kNodes);
    Counters& receiver = *nodes_[to];
    const int what = *rc::gen::inRange(0, 9);
    if (what == 0) {
      now_ = now_ + *rc::gen::element<Duration>(100ms, 1s, 50s, 70s, 50min, 2h);
    } else if (what == 1 && !late_.empty()) {
      merge(*nodes_[late_.front().first], late_.front().second, now_);
      late_.pop_front();
    } else if (what == 2) {
      restart(to);
    } else if (from != to) {
      Progress& progress = progress_[from][to];
      Batch batch{progress.next(*nodes_[from], now_), nodes_[from]->self()};
      if (what == 3) return;
      merge(receiver, batch, now_);
      if (what != 4) progress.answered(batch.changes.cursor, receiver.self(), now_);
      if (what == 5) late_.emplace_back(to, std::move(batch));
    }
    if (*rc::gen::arbitrary<bool>()) nodes_[0]->sweep(now_);
  }

  void settle() {
    for (int round = 0; round < 4; ++round) {
      for (std::size_t from = 0; from < kNodes; ++from) {
        for (std::size_t to = 0; to < kNodes; ++to) {
          if (from != to) bring_all(*nodes_[from], *nodes_[to], progress_[from][to], now_);
        }
      }
    }
    for (const char* const key : kKeys) {
      for (std::size_t i = 1; i < kNodes; ++i) {
        RC_ASSERT(nodes_[0]->get(key, now_) == nodes_[i]->get(key, now_));
        RC_ASSERT(nodes_[0]->expires_at(key, now_) == nodes_[i]->expires_at(key, now_));
      }
    }
  }

 private:
  void restart(std::size_t node) {
    const Writer self = nodes_[node]->self();
    nodes_[node] = std::make_unique<Counters>(Writer{self.node, self.incarnation + 1});
    progress_[node] = {};
  }

  std::array<std::unique_ptr<Counters>, kNodes> nodes_ = {std::make_unique<Counters>(Writer{"a", 1}),
                                                          std::make_unique<Counters>(Writer{"b", 1}),
                                                          std::make_unique<Counters>(Writer{"c", 1})};
  std::array<std::array<Progress, kNodes>, kNodes> progress_;
  std::deque<std::pair<std::size_t, Batch>> late_;
  Instant now_ = kNow;
};

RC_GTEST_PROP(Progress, NodesAgreeWhateverBecomesOfTheirMessages, ()) {
  World world;
  const int steps = *rc::gen::inRange(1, 80);
  for (int i = 0; i < steps; ++i) *rc::gen::arbitrary<bool>() ? world.act() : world.pass();
  world.settle();
}

}  // namespace
}  // namespace mete::escrow
