// The counter as a value: random states and random histories of several nodes, merged in any order.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "escrow/counters/codec.h"
#include "escrow/counters/counter.h"
#include "unit/escrow/counters_fixture.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;

const Writer kA{"a", 1};
const Writer kB{"b", 1};

Writer any_writer() { return {*rc::gen::element<std::string>("a", "b", "c"), *rc::gen::inRange<std::uint64_t>(1, 3)}; }

Stamp any_stamp() { return {*rc::gen::inRange<std::uint64_t>(0, 4), any_writer()}; }

// Any state whatever, such as no history leads to: few numbers, so that many are equal.
Counter any_counter() {
  Counter counter;
  counter.epoch.stamp = any_stamp();
  counter.epoch.has_base = *rc::gen::arbitrary<bool>();
  if (counter.epoch.has_base) counter.epoch.base = *rc::gen::inRange<std::int64_t>(-2, 3);
  counter.expiry = {any_stamp(), Instant::from_ns(*rc::gen::inRange<std::uint64_t>(0, 4))};
  for (const char* node : {"a", "b", "c"}) {
    for (const std::uint64_t incarnation : {1U, 2U}) {
      if (*rc::gen::arbitrary<bool>()) continue;
      counter.slots.push_back(
          {{node, incarnation}, *rc::gen::inRange<std::uint64_t>(0, 4), *rc::gen::inRange<std::uint64_t>(0, 4)});
    }
  }
  return counter;
}

Counter merged(Counter a, const Counter& b) {
  a.merge(b);
  return a;
}

std::string encoded(std::string_view key, const Counter& counter) {
  StateWriter writer;
  writer.write(key, counter);
  return std::move(writer).take().at(0);
}

RC_GTEST_PROP(CounterMerge, IsCommutative, ()) {
  const Counter a = any_counter();
  const Counter b = any_counter();
  RC_ASSERT(merged(a, b) == merged(b, a));
}

RC_GTEST_PROP(CounterMerge, IsAssociative, ()) {
  const Counter a = any_counter();
  const Counter b = any_counter();
  const Counter c = any_counter();
  RC_ASSERT(merged(merged(a, b), c) == merged(a, merged(b, c)));
}

RC_GTEST_PROP(CounterMerge, IsIdempotentAndTellsWhetherItChanged, ()) {
  const Counter a = any_counter();
  const Counter b = any_counter();
  Counter once = a;
  const bool is_changed = once.merge(b);
  RC_ASSERT(is_changed == (once != a));
  Counter twice = once;
  RC_ASSERT(!twice.merge(b));
  RC_ASSERT(!twice.merge(a));
  RC_ASSERT(twice == once);
}

RC_GTEST_PROP(CounterCodec, GivesBackWhatItGot, ()) {
  const Counter counter = any_counter();
  const auto states = decode_states(encoded("key", counter));
  RC_ASSERT(states.has_value());
  RC_ASSERT(*states == (std::vector<CounterState>{{"key", counter}}));
}

RC_GTEST_PROP(CounterCodec, RefusesEveryPrefix, ()) {
  const std::string whole = encoded("key", any_counter());
  const auto size = *rc::gen::inRange<std::size_t>(1, whole.size());
  RC_ASSERT(!decode_states(whole.substr(0, size)).has_value());
}

// Three nodes do something, and send their state to one another; some messages are lost, come late or twice. In the end
// everybody has heard from everybody.
struct Replica {
  Writer writer;
  Counter counter;
};

void act(Replica& node, Instant now) {
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      node.counter.set(node.writer, *rc::gen::inRange<std::int64_t>(-5, 6), now);
      break;
    case 1:
      if (node.counter.is_live(now)) node.counter.remove(node.writer, now);
      break;
    case 2:
      if (node.counter.is_live(now)) node.counter.expire_at(node.writer, now + 3ns, now);
      break;
    default:
      RC_ASSERT(node.counter.add(node.writer, *rc::gen::inRange<std::int64_t>(-5, 6), now));
  }
}

RC_GTEST_PROP(CounterHistory, NodesAgreeWhateverBecomesOfTheirMessages, ()) {
  std::vector<Replica> nodes = {{{"a", 1}, {}}, {{"b", 1}, {}}, {{"c", 1}, {}}};
  std::vector<Counter> messages;
  Instant now = kNow;
  const int steps = *rc::gen::inRange(1, 40);
  for (int i = 0; i < steps; ++i) {
    now = now + Duration::from_ns(*rc::gen::inRange(0, 3));
    Replica& node = nodes[*rc::gen::inRange<std::size_t>(0, nodes.size())];
    act(node, now);
    messages.push_back(node.counter);
    // One of all that were ever sent arrives: perhaps for the second time, perhaps much later.
    nodes[*rc::gen::inRange<std::size_t>(0, nodes.size())].counter.merge(
        messages[*rc::gen::inRange<std::size_t>(0, messages.size())]);
  }
  const std::vector<Replica> sent = nodes;
  for (Replica& node : nodes) {
    for (const Replica& other : sent) node.counter.merge(other.counter);
  }
  RC_ASSERT(nodes[0].counter == nodes[1].counter);
  RC_ASSERT(nodes[1].counter == nodes[2].counter);
}

RC_GTEST_PROP(CounterHistory, NothingThatWasAddedIsLost, ()) {
  std::vector<Replica> nodes = {{{"a", 1}, {}}, {{"b", 1}, {}}, {{"c", 1}, {}}};
  std::int64_t sum = 0;
  const int steps = *rc::gen::inRange(1, 40);
  for (int i = 0; i < steps; ++i) {
    Replica& node = nodes[*rc::gen::inRange<std::size_t>(0, nodes.size())];
    const auto by = *rc::gen::inRange<std::int64_t>(-100, 100);
    RC_ASSERT(node.counter.add(node.writer, by, kNow));
    sum += by;
    if (*rc::gen::arbitrary<bool>()) nodes[*rc::gen::inRange<std::size_t>(0, 3)].counter.merge(node.counter);
  }
  Counter all;
  for (const Replica& node : nodes) all.merge(node.counter);
  RC_ASSERT(all.value() == sum);
}

TEST(Counter, SetDropsWhatIsAddedMeanwhileAndKeepsWhatIsAddedAfterwards) {
  Counter a;
  ASSERT_TRUE(a.add(kA, 5, kNow));
  Counter b = a;
  ASSERT_TRUE(b.add(kB, 3, kNow));
  a.set(kA, 100, kNow);
  b.merge(a);
  EXPECT_EQ(b.value(), 100);
  ASSERT_TRUE(b.add(kB, 1, kNow));
  a.merge(b);
  EXPECT_EQ(a.value(), 101);
}

TEST(Counter, OfTwoSetsTheLaterOneWins) {
  Counter a;
  Counter b;
  a.set(kA, 1, kNow + 2ns);
  b.set(kB, 2, kNow + 1ns);
  EXPECT_EQ(merged(a, b).value(), 1);
  EXPECT_EQ(merged(b, a).value(), 1);
}

TEST(Counter, ASetThatHasSeenAnotherWinsAgainstItWhateverTheClockSays) {
  Counter a;
  a.set(kA, 1, kNow + 1h);
  Counter b = a;
  b.set(kB, 2, kNow);
  EXPECT_EQ(merged(a, b).value(), 2);
}

TEST(Counter, NodesThatAddAfterAnExpiryThatBothSawAddUp) {
  Counter a;
  ASSERT_TRUE(a.add(kA, 5, kNow));
  a.expire_at(kA, kNow + 1s, kNow);
  Counter b = a;
  const Instant later = kNow + 2s;
  EXPECT_FALSE(a.is_live(later));
  ASSERT_TRUE(a.add(kA, 2, later));
  ASSERT_TRUE(b.add(kB, 3, later));
  EXPECT_EQ(merged(a, b).value(), 5);
  EXPECT_FALSE(merged(a, b).is_expiring());
}

TEST(Counter, AnExtensionThatComesInTimeOrNotHasOneOutcomeEverywhere) {
  Counter a;
  ASSERT_TRUE(a.add(kA, 5, kNow));
  a.expire_at(kA, kNow + 1s, kNow);
  Counter b = a;
  a.expire_at(kA, kNow + 10s, kNow);
  EXPECT_TRUE(merged(b, a).is_live(kNow + 2s)) << "nobody has begun anew: it lives";
  ASSERT_TRUE(b.add(kB, 1, kNow + 2s));
  EXPECT_EQ(merged(b, a).value(), 1) << "it was begun anew";
  EXPECT_EQ(merged(a, b).value(), 1);
}

TEST(Counter, SumsOfSeveralNodesPast64BitsAreShownAsTheNearestNumber) {
  using Limits = std::numeric_limits<std::int64_t>;
  Counter a;
  Counter b;
  ASSERT_TRUE(a.add(kA, Limits::max(), kNow));
  ASSERT_TRUE(b.add(kB, Limits::max(), kNow));
  a.merge(b);
  EXPECT_EQ(a.value(), Limits::max());
  ASSERT_TRUE(a.add(kA, Limits::min(), kNow));
  EXPECT_EQ(a.value(), Limits::max() - 1);
}

TEST(CounterCodec, SplitsCountersWithVeryManySlots) {
  Counter counter;
  for (std::uint64_t i = 0; i < 2 * kSlotsPerState + 1; ++i) counter.slots.push_back({{"a", i}, 1, 0});
  const auto states = decode_states(encoded("key", counter));
  ASSERT_TRUE(states.has_value());
  ASSERT_EQ(states->size(), 3U);
  Counter all;
  for (const CounterState& state : *states) {
    EXPECT_TRUE(state.is_part);
    all.merge(state.counter);
  }
  EXPECT_EQ(all, counter);
}

TEST(CounterCodec, NoPieceIsTooLongForAMessage) {
  Counter counter;
  for (std::uint64_t i = 0; i < 20 * kSlotsPerState; ++i) {
    counter.slots.push_back({{std::string(kNodeBytesMax, 'n'), ~std::uint64_t{0} - 100'000 + i}, kSlotMax, kSlotMax});
  }
  StateWriter writer;
  writer.write("key", counter);
  Counter all;
  for (const std::string& piece : std::move(writer).take()) {
    EXPECT_LT(piece.size(), StateWriter::kPieceBytes * 3 / 2);
    const auto states = decode_states(piece);
    ASSERT_TRUE(states.has_value());
    for (const CounterState& state : *states) all.merge(state.counter);
  }
  EXPECT_EQ(all, counter);
}

TEST(CounterCodec, RefusesWhatNoNodeWrites) {
  const auto refusal_of = [](std::string_view key, const Counter& counter) {
    const auto states = decode_states(encoded(key, counter));
    return states ? std::string("none") : states.error().message;
  };
  const auto with_slots = [](const std::vector<Slot>& slots) {
    return Counter{.epoch = {}, .expiry = {}, .slots = {slots.begin(), slots.end()}};
  };
  const auto with_epoch = [](const Stamp& stamp) {
    return Counter{.epoch = {.stamp = stamp}, .expiry = {}, .slots = {}};
  };
  const std::string prefix = "counter 1 of a batch cannot be read: ";
  EXPECT_EQ(refusal_of("key", with_slots({{kA, 1, 1}, {kB, 1, 1}})), "none");
  EXPECT_EQ(refusal_of("key", with_slots({{kB, 1, 1}, {kA, 1, 1}})), prefix + "its slots are out of order");
  EXPECT_EQ(refusal_of("key", with_slots({{kA, 1, 1}, {kA, 1, 1}})), prefix + "its slots are out of order");
  EXPECT_EQ(refusal_of("key", with_slots({{kA, kSlotMax + 1, 1}})), prefix + "a slot is too large");
  EXPECT_EQ(refusal_of("key", with_slots({{{"", 1}, 1, 1}})), prefix + "a slot's node has no name, or too long a one");
  EXPECT_EQ(refusal_of("", with_slots({})), prefix + "its key is empty or too long");
  EXPECT_EQ(refusal_of("key", with_epoch({kStampNumberMax + 1, kA})), prefix + "its stamp is too large");
  EXPECT_EQ(refusal_of("key", with_epoch({1, {std::string(65, 'n'), 1}})), prefix + "the name of a node is too long");
}

}  // namespace
}  // namespace mete::escrow
