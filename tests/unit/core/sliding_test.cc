// The sliding window: tables, its bound, and the exactness of its waits.
#include "core/sliding.h"

#include <gtest/gtest.h>

#include "unit/core/table.h"

namespace mete::core {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(Sliding, CountsEachChargeForOnePeriod) {
  run_table(sliding_rule(10, 10s), k2023,
            {
                {0ns, 0, true, 10, 0ns, 0ns},
                {5s, 6, true, 4, 0ns, 10s},
                {9s, 4, true, 0, 0ns, 10s},
                {9s, 1, false, 0, 6s, 10s},  // at 15 s the six leave
                {15s - 1ns, 6, false, 0, 1ns, 4s + 1ns},
                {15s, 7, false, 6, 4s, 4s},
                {15s, 6, true, 0, 0ns, 10s},
                {19s, 4, true, 0, 0ns, 10s},
                {29s, 10, true, 0, 0ns, 10s},  // and all after a whole idle period
            });
}

TEST(Sliding, SmallAmountsGetAllOfTheirRate) {
  run_table(sliding_rule(3, 1s), k2023,
            {
                {0ns, 1, true, 2, 0ns, 1s},
                {1ns, 1, true, 1, 0ns, 1s},
                {2ns, 1, true, 0, 0ns, 1s},
                {1s - 1ns, 1, false, 0, 1ns, 3ns},
                {1s, 1, true, 0, 0ns, 1s},
                {1s, 1, false, 0, 1ns, 1s},
                {1s + 1ns, 1, true, 0, 0ns, 1s},
            });
}

// Slots have 80 ms. The fifth charge that is not the newest is one too many for the log.
TEST(Sliding, ManyChargesAreCountedInSlots) {
  run_table(sliding_rule(10, 10s), k2023,
            {
                {10ms, 1, true, 9, 0ns, 10s},
                {20ms, 1, true, 8, 0ns, 10s},
                {30ms, 1, true, 7, 0ns, 10s},
                {90ms, 1, true, 6, 0ns, 10s},
                {100ms, 1, true, 5, 0ns, 10s},
                {170ms, 5, true, 0, 0ns, 10s + 70ms},          // up to the end of the slot from 160 to 240 ms, and 10 s
                {170ms, 3, false, 0, 10s - 90ms, 10s + 70ms},  // three leave at 10.08 s
                {170ms, 4, false, 0, 10s - 10ms, 10s + 70ms},  // two more at 10.16 s
                {10s + 80ms, 3, true, 0, 0ns, 10s + 80ms},
                {21s, 10, true, 0, 0ns, 10s},  // without usage it begins anew, with exact times
            });
}

// A slot that is left keeps multiples of ceil(amount / 1889); the rest is carried on to the newest.
TEST(Sliding, TheRestOfASlotIsCarriedOn) {
  const Rule rule = sliding_rule(18'890, 125s);  // quanta of 10, slots of a second
  State state;
  const auto charge_at = [&](Duration at, Amount units) {
    const Moment moment = moment_at(rule, k2023 + at);
    settle(rule, state, moment);
    charge(rule, state, units, moment);
  };
  for (int i = 0; i < 6; ++i) charge_at(Duration::from_ns(i), 1);  // a ring from now on
  charge_at(0s, 9);
  charge_at(1s, 6);
  charge_at(2s, 1);
  EXPECT_EQ(used(rule, state, moment_at(rule, k2023 + 2s)), 22);
  const Instant first = k2023 + 126s;
  EXPECT_EQ(used(rule, settled(rule, state, first), moment_at(rule, first)), 12) << "ten of the fifteen";
  EXPECT_EQ(used(rule, settled(rule, state, first + 1s), moment_at(rule, first + 1s)), 2) << "ten of the five and six";
  EXPECT_EQ(used(rule, settled(rule, state, first + 2s), moment_at(rule, first + 2s)), 0);
}

// What is given back in many small pieces leaves the oldest charges, and makes none younger.
TEST(Sliding, ManySmallGivesMakeNothingYounger) {
  const Rule rule = sliding_rule(1'000'000, 10s);
  State state;
  const auto at = [&](Duration since) {
    const Moment moment = moment_at(rule, k2023 + since);
    settle(rule, state, moment);
    return moment;
  };
  for (int ms = 0; ms < 400; ++ms) charge(rule, state, 2500, at(std::chrono::milliseconds(ms)));
  EXPECT_EQ(give_back(rule, state, 2000, 0, at(5s)), 2000);
  charge(rule, state, 1, at(5s));
  for (int i = 0; i < 798; ++i) EXPECT_EQ(give_back(rule, state, 1, 0, at(5s)), 1);
  EXPECT_EQ(used(rule, state, at(5s)), 1'000'000 - 2000 + 1 - 798);
  EXPECT_LE(used(rule, state, at(10'500ms)), 530) << "what was no whole quantum of the last slot, and one";
  EXPECT_EQ(used(rule, state, at(15'100ms)), 0);
}

// What comes back of a hold leaves the slot of its charge, to the unit; the slots before and behind stay as they are.
TEST(Sliding, PartOfAHoldLeavesItsOwnSlot) {
  const Rule rule = sliding_rule(1'000'000, 125s);  // quanta of 530, slots of a second
  State state;
  const auto at = [&](Duration since) {
    const Moment moment = moment_at(rule, k2023 + since);
    settle(rule, state, moment);
    return moment;
  };
  for (int second = 0; second < 60; ++second) charge(rule, state, 5300, at(std::chrono::seconds(second)));
  for (int i = 0; i < 5; ++i) {
    release(rule, state, {.units = 100, .made_at = k2023 + 30s, .expires_at = Instant::max()}, at(60s));
  }
  const auto used_at = [&](Duration since) { return used(rule, state, at(since)); };
  EXPECT_EQ(used_at(60s), 60 * 5300 - 500);
  EXPECT_EQ(used_at(155s), 30 * 5300 - 500);
  EXPECT_EQ(used_at(156s), 29 * 5300);
}

// A log has forgotten a charge after a period. The ring that it turns into would still count it: what comes back now
// would be taken from others.
TEST(Sliding, WhatALogHasForgottenTakesNothingFromARing) {
  const Rule rule = sliding_rule(6, 3600s);
  State state;
  const auto at = [&](Duration since) {
    const Moment moment = moment_at(rule, k2023 + since);
    settle(rule, state, moment);
    return moment;
  };
  charge(rule, state, 1, at(1s));
  const HeldPart part{.units = 1, .made_at = k2023 + 1s, .expires_at = Instant::max()};
  for (int i = 0; i < 6; ++i) charge(rule, state, 1, at(3601s + std::chrono::milliseconds(i)));
  ASSERT_EQ(state.sliding.form(), SlidingState::Form::kRing);
  EXPECT_EQ(still_charged(rule, state, part, at(3602s)), 0);
  release(rule, state, part, at(3602s));
  EXPECT_EQ(used(rule, state, at(3602s)), 6);
}

// Of three slots that have part of a quantum, besides the oldest, two are evened; and nothing counts for less time.
TEST(Sliding, ThirdPartsAreEvened) {
  const Rule rule = sliding_rule(1'000'000, 125s);
  State state;
  const auto at = [&](Duration since) {
    const Moment moment = moment_at(rule, k2023 + since);
    settle(rule, state, moment);
    return moment;
  };
  for (int second = 0; second < 10; ++second) charge(rule, state, 5300, at(std::chrono::seconds(second)));
  for (const int second : {0, 2, 5, 6}) {
    release(rule, state, {.units = 30, .made_at = k2023 + std::chrono::seconds(second), .expires_at = Instant::max()},
            at(10s));
  }
  // The slots of the fifth and the sixth second are the closest: the older one gives 30 of its units to the other.
  const auto leaves = [&](int second) {
    const Amount before = used(rule, state, at(std::chrono::seconds(125 + second)));
    return before - used(rule, state, at(std::chrono::seconds(126 + second)));
  };
  EXPECT_EQ(used(rule, state, at(10s)), 10 * 5300 - 120);
  EXPECT_EQ(leaves(0), 5270);
  EXPECT_EQ(leaves(1), 5300);
  EXPECT_EQ(leaves(2), 5270);
  EXPECT_EQ(leaves(3), 5300);
  EXPECT_EQ(leaves(4), 5300);
  EXPECT_EQ(leaves(5), 5240);
  EXPECT_EQ(leaves(6), 5300);
}

// Every slot full of parts that come back, in any order: the state holds them, and says so itself.
TEST(Sliding, StatesAreSoundWhateverComesBack) {
  const Rule rule = sliding_rule(1'000'000, 125s);
  State state;
  std::uint64_t random = 1;
  const auto any = [&](std::uint64_t below) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<Amount>((random >> 33) % below);
  };
  for (int step = 0; step < 4000; ++step) {
    const Instant now = k2023 + std::chrono::milliseconds(step * 250);
    const Moment moment = moment_at(rule, now);
    settle(rule, state, moment);
    const Amount cost = any(4000);
    if (fits(rule, state, cost, moment)) charge(rule, state, cost, moment);
    release(rule, state,
            {.units = any(1500), .made_at = now + std::chrono::seconds(-any(130)), .expires_at = Instant::max()},
            moment);
    const std::string_view bytes(reinterpret_cast<const char*>(&state.sliding), sizeof(state.sliding));
    const auto read = sliding::read_state(bytes);
    ASSERT_TRUE(read) << step;
    ASSERT_EQ(read->used(), used(rule, state, moment));
    Amount sum = 0;
    for (const sliding::Charged& charged : sliding::charges_of(rule, *read)) sum += charged.units;
    ASSERT_EQ(sum, read->used());
  }
}

TEST(Sliding, EdgesOfAmountAndPeriod) {
  const Duration slot = std::chrono::microseconds(2'524'953'600'000);
  run_table(
      sliding_rule(kAmountMax, kPeriodMax), Instant(),
      {
          {0ns, kAmountMax, true, 0, 0ns, kPeriodMax + slot},  // a period of more than 800 days has no exact times
          {0ns, kAmountMax, false, 0, kPeriodMax + slot, kPeriodMax + slot},
          {kPeriodMax, 1, false, 0, slot, slot},
          {kPeriodMax + slot, 1, true, kAmountMax - 1, 0ns, kPeriodMax + slot},
      });
  run_table(sliding_rule(1'000'000'000'000'000, 1ms), k2500,
            {
                {0ns, 1'000'000'000'000'000, true, 0, 0ns, 1ms},
                {1ms - 1ns, 1, false, 0, 1ns, 1ns},
                {1ms, 1'000'000'000'000'000, true, 0, 0ns, 1ms},
                {1ms, 1'000'000'000'000'001, false, 0, Duration::never(), 1ms},
            });
}

// The last windows before the end of time are as long as any other.
TEST(Sliding, TheLastWindowsOfTime) {
  const Rule rule = sliding_rule(10, kPeriodMax);
  const Moment moment = moment_at(rule, Instant::max() + Duration(-1h));
  State state = settled(rule, {}, moment.now);
  charge(rule, state, 10, moment);
  EXPECT_GT(wait_for(rule, state, 1, moment), Duration());
  EXPECT_GT(wait_for(rule, state, 10, moment), Duration(1h));
}

TEST(Sliding, ForcedBeyondItsAmount) {
  const Rule rule = sliding_rule(10, 10s);
  State state = settled(rule, {}, k2023);
  charge(rule, state, 40, moment_at(rule, k2023));
  EXPECT_EQ(remaining(rule, state, moment_at(rule, k2023)), 0);
  EXPECT_EQ(wait_for(rule, state, 0, moment_at(rule, k2023)), Duration(10s));
  EXPECT_EQ(wait_for(rule, state, 10, moment_at(rule, k2023)), Duration(10s));
  expect_exact_wait(rule, state, 1, k2023 + 3s);
  // More than the amount is no charge for the log, and more than the ring has room for stays with the newest.
  for (int i = 1; i < 200; ++i) {
    const Instant now = k2023 + Duration::from_ns(i * 80'000'000LL);
    settle(rule, state, moment_at(rule, now));
    charge(rule, state, 3, moment_at(rule, now));
    expect_exact_wait(rule, state, 1, now);
    expect_exact_wait(rule, state, 10, now);
  }
}

TEST(Sliding, APartLeavesItsOwnPlaceWhileItCounts) {
  const Rule rule = sliding_rule(10, 10s);
  const HeldPart part{4, k2023 + 5s, k2023 + 1h};
  State state;
  charge(rule, state, 2, moment_at(rule, k2023));
  charge(rule, state, 4, moment_at(rule, part.made_at));

  const Moment then = moment_at(rule, k2023 + 9s);
  State same = settled(rule, state, then.now);
  EXPECT_EQ(still_charged(rule, same, part, then), 4);
  release(rule, same, part, then);
  EXPECT_EQ(used(rule, same, then), 2);
  EXPECT_TRUE(is_fresh(rule, settled(rule, same, k2023 + 10s), moment_at(rule, k2023 + 10s)));

  const Moment next = moment_at(rule, k2023 + 15s);
  State later = settled(rule, state, next.now);
  charge(rule, later, 3, next);
  EXPECT_EQ(still_charged(rule, later, part, next), 0);
  release(rule, later, part, next);
  EXPECT_EQ(used(rule, later, next), 3);
}

// Two windows, as earlier versions kept them: charged at the end of the one before, and now.
TEST(Sliding, TwoWindowsBecomeCharges) {
  const Rule rule = sliding_rule(10, 10s);
  struct {
    Instant start;
    Amount current = 3;
    Amount previous = 4;
  } const kept{k2023};
  State state;
  state.sliding = sliding::read_state({reinterpret_cast<const char*>(&kept), sizeof kept}).value();
  const auto used_at = [&](Duration at) {
    return used(rule, settled(rule, state, k2023 + at), moment_at(rule, k2023 + at));
  };
  EXPECT_EQ(used_at(2s), 7);
  EXPECT_EQ(used_at(10s - 1ns), 7);
  EXPECT_EQ(used_at(10s), 3);
  EXPECT_EQ(used_at(20s - 1ns), 3);
  EXPECT_EQ(used_at(20s), 0);
}

TEST(Sliding, WhatCannotBeAStateIsNotRead) {
  const Rule rule = sliding_rule(1000, 125s);
  State state;
  for (int i = 0; i < 300; ++i) {
    const Moment moment = moment_at(rule, k2023 + Duration::from_ns(i * 400'000'000LL));
    settle(rule, state, moment);
    charge(rule, state, 3, moment);
  }
  const std::string good(reinterpret_cast<const char*>(&state.sliding), state_size(rule));
  ASSERT_TRUE(sliding::read_state(good));
  EXPECT_FALSE(sliding::read_state(good.substr(0, 48)));
  EXPECT_FALSE(sliding::read_state(good.substr(1)));
  EXPECT_FALSE(sliding::read_state({}));
  // Whatever the bytes are, what is read can be used.
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    const auto place = static_cast<std::size_t>(random.between(8, static_cast<std::int64_t>(bytes.size()) - 1));
    bytes[place] = static_cast<char>(random.between(0, 255));
    const auto read = sliding::read_state(bytes);
    if (!read) continue;
    State any;
    any.sliding = *read;
    const Moment moment = moment_at(rule, k2023 + 130s);
    settle(rule, any, moment);
    charge(rule, any, 3, moment);
    EXPECT_GE(give_back(rule, any, 500, 0, moment), 0);
    EXPECT_GE(wait_for(rule, any, 500, moment), Duration());
  }
}

TEST(Sliding, AReleaseNeverGoesBelowZero) {
  const Rule rule = sliding_rule(10, 10s);
  State state = settled(rule, {}, k2023);
  charge(rule, state, 2, moment_at(rule, k2023));
  release(rule, state, {5, k2023, k2023 + 1s}, moment_at(rule, k2023));
  EXPECT_TRUE(is_fresh(rule, state, moment_at(rule, k2023)));
}

}  // namespace
}  // namespace mete::core
