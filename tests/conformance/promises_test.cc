// What every kind promises in every store, over random histories: never more than is due, and a greedy client gets its
// share. That a wait is enough, and one step less is not, is in rule05_06_waits_test.cc, and here along the way.
#include <algorithm>
#include <random>
#include <vector>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

struct Admitted {
  std::int64_t at_ns;  // since the beginning
  Amount units;
};

// What may be admitted from one instant to another, both included, if the amount is `amount` an hour.
Amount due_between(Kind kind, Amount amount, std::int64_t from_ns, std::int64_t to_ns) {
  const std::int64_t hour_ns = kHour.ns();
  switch (kind) {
    case Kind::kBucket:
      return amount + static_cast<Amount>(static_cast<double>(amount) * static_cast<double>(to_ns - from_ns) /
                                          static_cast<double>(hour_ns));
    case Kind::kSliding:
      return to_ns - from_ns < hour_ns ? amount : kAmountMax;
    case Kind::kWindow:
    case Kind::kCalendar:
      return from_ns / hour_ns == to_ns / hour_ns ? amount : kAmountMax;
    case Kind::kStock:
      return amount;
  }
  return 0;
}

class Promises : public Conformance {
 protected:
  // What a random client of this limit was admitted. Now and then it waits as it is told, and calls after_wait(charge).
  template <class AfterWait>
  std::vector<Admitted> run_history(const Limit& limit, AfterWait after_wait) {
    constexpr int kSteps = 120;
    const Amount amount = limit.amount();
    std::mt19937_64 random(static_cast<std::uint64_t>(amount));
    std::vector<Admitted> admitted;
    std::int64_t now_ns = 0;
    const auto pass = [&](Duration length) {
      advance(length);
      now_ns += length.ns();
    };
    start_window(kHour);
    for (int step = 0; step < kSteps; ++step) {
      if (random() % 2 == 0) pass(std::chrono::microseconds(random() % 400'000'000));
      const auto most = static_cast<std::uint64_t>(std::max<Amount>(1, amount / 4));
      const Charge charge{limit.name(), "a", 1 + static_cast<Amount>(random() % most)};
      const Decision decision = take(charge.limit, charge.key, charge.cost);
      if (decision.allowed()) {
        admitted.push_back({now_ns, charge.cost});
      } else if (!decision.retry_after.is_never() && random() % 4 == 0) {
        pass(in_steps(decision.retry_after));
        after_wait(charge);
      }
    }
    return admitted;
  }
};

constexpr Amount kAmounts[] = {3, 40, 900};

TEST_P(Promises, Promise_NeverMoreThanIsDue) {
  for (const Amount amount : kAmounts) {
    for (const Limit& limit : each_kind(amount)) {
      SCOPED_TRACE(std::string(to_string(limit.kind())) + " of " + std::to_string(amount));
      const std::vector<Admitted> admitted = run_history(limit, [](const Charge&) {});
      for (std::size_t first = 0; first < admitted.size(); ++first) {
        Amount sum = 0;
        for (std::size_t last = first; last < admitted.size(); ++last) {
          sum += admitted[last].units;
          ASSERT_LE(sum, due_between(limit.kind(), amount, admitted[first].at_ns, admitted[last].at_ns));
        }
      }
    }
  }
}

TEST_P(Promises, Promise_WhoHasWaitedIsAdmitted) {
  for (const Amount amount : kAmounts) {
    for (const Limit& limit : each_kind(amount)) {
      SCOPED_TRACE(std::string(to_string(limit.kind())) + " of " + std::to_string(amount));
      run_history(limit, [&](const Charge& charge) {
        EXPECT_TRUE(limiter().peek(charge.limit, charge.key, charge.cost).value().allowed());
      });
    }
  }
}

// One that takes whenever it may, and else waits as long as it is told.
TEST_P(Promises, Promise_AGreedyClientGetsItsShareOfASlidingWindow) {
  constexpr Amount kPeriods = 12;
  constexpr Amount kTakesPerPeriod = 10;
  for (const Amount amount :
       {Amount{1}, Amount{2}, Amount{5}, Amount{10}, Amount{100}, Amount{1000}, Amount{1'000'000}}) {
    SCOPED_TRACE(amount);
    const std::string name = define(sliding(unique("sliding")).amount(amount).per(1h));
    const Amount units = std::max<Amount>(1, amount / kTakesPerPeriod);
    std::int64_t now_ns = 0;
    Amount taken = 0;
    while (now_ns < kPeriods * kHour.ns()) {
      const Decision decision = take(name, "a", units);
      if (decision.allowed()) taken += units;
      // A pause, so that they are not all at one instant.
      const Duration pause = decision.allowed() ? Duration(1s) : in_steps(decision.retry_after);
      advance(pause);
      now_ns += pause.ns();
    }
    EXPECT_GE(taken * 100, amount * (kPeriods - 1) * 99);
  }
}

INSTANTIATE_TEST_SUITE_P(Store, Promises, ::testing::ValuesIn(stores()), store_name);

}  // namespace
}  // namespace mete::conformance
