// What every kind promises in every store, over random histories: never more than is due, and a greedy client gets its
// share. That a wait is enough, and one step less is not, is in rule05_06_waits_test.cc, and here along the way.
#include <algorithm>
#include <deque>
#include <limits>
#include <random>
#include <vector>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

// What was admitted, and not given back since.
struct Admitted {
  std::int64_t at_ns;  // since the beginning
  Amount units;
  bool is_held = false;
};

constexpr Amount kUnbounded = std::numeric_limits<Amount>::max();

// What may be admitted from one instant to another, both included, if the amount is `amount` an hour.
Amount due_between(Kind kind, Amount amount, std::int64_t from_ns, std::int64_t to_ns) {
  const std::int64_t hour_ns = kHour.ns();
  switch (kind) {
    case Kind::kBucket:
      return amount + static_cast<Amount>(__int128{amount} * (to_ns - from_ns) / hour_ns);
    case Kind::kSliding:
      return to_ns - from_ns < hour_ns ? amount : kUnbounded;
    case Kind::kWindow:
    case Kind::kCalendar:
      return from_ns / hour_ns == to_ns / hour_ns ? amount : kUnbounded;
    case Kind::kStock:
      return amount;
  }
  return 0;
}

// A random client of one limit: it takes, also up to a cost or together with a charge of another limit; it holds, and
// commits, cancels or forgets that; it gives back and gets another amount.
class RandomClient {
 public:
  // `other`: a limit for which there is always room.
  // What nodes have drawn of a limit stays theirs when its amount is lowered: docs/escrow.md.
  RandomClient(Limiter& limiter, const Limit& limit, std::string_view other)
      : limiter_(limiter),
        limit_(limit),
        other_(other),
        may_be_lowered_(limit.scope() != Scope::kEscrow),
        amount_(limit.amount()),
        random_(static_cast<std::uint64_t>(amount_)) {}

  [[nodiscard]] const std::vector<Admitted>& admitted() const { return admitted_; }
  [[nodiscard]] Amount amount() const { return amount_; }
  [[nodiscard]] std::int64_t now_ns() const { return now_ns_; }
  [[nodiscard]] bool one_in(std::uint64_t n) { return random_() % n == 0; }
  void pass(Duration length) {
    now_ns_ += length.ns();
    for (std::size_t i = holds_.size(); i-- > 0;) {
      if (holds_[i].expires_at_ns <= now_ns_) end_hold(i);
    }
  }

  Duration pause() { return one_in(2) ? std::chrono::microseconds(random_() % 400'000'000) : Duration(); }
  Charge charge() {
    const auto most = static_cast<std::uint64_t>(std::max<Amount>(1, limit_.amount() / 4));
    return {limit_.name(), "a", 1 + static_cast<Amount>(random_() % most)};
  }
  // Makes the cost what a denial's wait is for.
  Decision take_or_hold(Charge& charge) {
    const bool is_hold = one_in(4);
    Decision decision;
    Amount taken = charge.cost;
    if (is_hold) {
      const Duration ttl = std::chrono::microseconds(random_() % 9'000'000'000 + 1);
      const HoldDecision held = limiter_.hold({charge}, ttl).value();
      if (held.allowed()) holds_.push_back({held.id, admitted_.size(), now_ns_ + ttl.ns()});
      decision = static_cast<const Decision&>(held);
    } else if (one_in(3)) {
      decision = limiter_.take({charge, {other_, "a", 1}}).value();
    } else if (one_in(3)) {
      decision = limiter_.take({charge}, {.mode = Mode::kUpTo}).value();
      taken = decision.taken;
      EXPECT_LE(taken, charge.cost);
      EXPECT_EQ(decision.allowed(), taken > 0);
      if (!decision.allowed()) charge.cost = 1;
    } else {
      decision = limiter_.take({charge}).value();
    }
    if (decision.allowed()) admitted_.push_back({now_ns_, taken, is_hold});
    return decision;
  }
  // Something comes back, or the key gets another amount. Not so of a bucket: what is due of one depends on when it had
  // which rate, and what is given back may have been refilled already.
  void change() {
    const std::uint64_t what = random_() % 10;
    const bool is_bucket = limit_.kind() == Kind::kBucket;
    if (what == 0 && !is_bucket) give();
    if (what == 1 && !holds_.empty()) cancel(random_() % holds_.size());
    if (what == 3 && !holds_.empty()) commit(random_() % holds_.size());
    if (what == 2 && !is_bucket && may_be_lowered_) {
      amount_ = one_in(2) ? limit_.amount() : std::max<Amount>(1, limit_.amount() / 2);
      limiter_.override_amount(limit_.name(), "a", amount_).value();
    }
  }

 private:
  struct Hold {
    std::string id;
    std::size_t admission;
    std::int64_t expires_at_ns;
  };

  // Of what was admitted last and is not held.
  void give() {
    Amount left = limiter_.give({charge()}).value().amount;
    for (auto each = admitted_.rbegin(); each != admitted_.rend() && left > 0; ++each) {
      const Amount returned = each->is_held ? 0 : std::min(left, each->units);
      each->units -= returned;
      left -= returned;
    }
  }
  void cancel(std::size_t index) {
    limiter_.cancel(holds_[index].id).value();
    end_hold(index);
  }
  // Part of it comes back; the rest was admitted when the hold was made.
  void commit(std::size_t index) {
    Admitted& admitted = admitted_[holds_[index].admission];
    const auto amount = static_cast<Amount>(random_() % static_cast<std::uint64_t>(admitted.units + 1));
    limiter_.commit(holds_[index].id, amount).value();
    admitted.units = amount;
    admitted.is_held = false;
    holds_.erase(holds_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  // Nothing of it was admitted in the end.
  void end_hold(std::size_t index) {
    admitted_[holds_[index].admission].units = 0;
    holds_.erase(holds_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  Limiter& limiter_;
  const Limit& limit_;
  const std::string_view other_;
  const bool may_be_lowered_;
  Amount amount_;
  std::mt19937_64 random_;
  std::int64_t now_ns_ = 0;
  std::vector<Admitted> admitted_;
  std::vector<Hold> holds_;
};

class Promises : public Conformance {
 protected:
  // What a client of this limit does at random. Now and then it waits as it is told. Calls after_admission(client) and
  // after_wait(charge).
  template <class AfterAdmission, class AfterWait>
  void run_history(const Limit& limit, AfterAdmission after_admission, AfterWait after_wait) {
    constexpr int kSteps = 120;
    start_window(kHour);
    const std::string other = define(stock(unique("other " + limit.name())).amount(kSteps));
    RandomClient client(limiter(), limit, other);
    const auto wait = [&](Duration length) {
      advance(length);
      client.pass(length);
    };
    for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
      wait(client.pause());
      client.change();
      Charge charge = client.charge();
      const Decision decision = client.take_or_hold(charge);
      if (decision.allowed()) {
        after_admission(client);
      } else if (!decision.retry_after.is_never() && client.one_in(4)) {
        wait(in_steps(decision.retry_after));
        after_wait(charge);
      }
    }
  }
};

constexpr Amount kAmounts[] = {3, 40, 900, 1'000'000, kAmountMax};

// Of what ends with the latest admission.
void expect_no_more_than_is_due(Kind kind, const RandomClient& client) {
  const auto& admitted = client.admitted();
  Amount sum = 0;
  for (auto first = admitted.rbegin(); first != admitted.rend(); ++first) {
    sum += first->units;
    ASSERT_LE(sum, due_between(kind, client.amount(), first->at_ns, admitted.back().at_ns));
  }
}

TEST_P(Promises, Promise_NeverMoreThanIsDue) {
  for (const Amount amount : kAmounts) {
    for (const Limit& limit : each_kind(amount)) {
      SCOPED_TRACE(std::string(to_string(limit.kind())) + " of " + std::to_string(amount));
      run_history(
          limit, [&](const RandomClient& client) { expect_no_more_than_is_due(limit.kind(), client); },
          [](const Charge&) {});
    }
  }
}

class Waits : public Promises {
 protected:
  void expect_enough(Kind kind) {
    for (const Amount amount : kAmounts) {
      SCOPED_TRACE(amount);
      const Limit limit = scoped(of_kind(kind, unique("limit " + std::to_string(amount)), amount));
      define(limit);
      run_history(
          limit, [](const RandomClient&) {},
          [&](const Charge& charge) {
            EXPECT_TRUE(limiter().peek(charge.limit, charge.key, charge.cost).value().allowed());
          });
    }
  }
};

TEST_P(Waits, Promise_WhoHasWaitedIsAdmittedToABucket) { expect_enough(Kind::kBucket); }
TEST_P(Waits, Promise_WhoHasWaitedIsAdmittedToAWindow) { expect_enough(Kind::kWindow); }
TEST_P(Waits, Promise_WhoHasWaitedIsAdmittedToASlidingWindow) { expect_enough(Kind::kSliding); }
TEST_P(Waits, Promise_WhoHasWaitedIsAdmittedToACalendar) { expect_enough(Kind::kCalendar); }
TEST_P(Waits, Promise_WhoHasWaitedIsAdmittedToAStock) { expect_enough(Kind::kStock); }

// One that takes whenever it may has all of each window; and all of a stock, as often as it gives it back.
TEST_P(Promises, Promise_AGreedyClientGetsAllOfAWindowACalendarAndAStock) {
  constexpr int kPeriods = 4;
  for (const Amount amount : kAmounts) {
    for (const Kind kind : {Kind::kWindow, Kind::kCalendar, Kind::kStock}) {
      const Limit limit = scoped(of_kind(kind, unique(std::string(to_string(kind)) + std::to_string(amount)), amount));
      SCOPED_TRACE(limit.name());
      define(limit);
      start_window(kHour);
      const Amount units = (amount + 6) / 7;
      for (int period = 0; period < kPeriods; ++period) {
        Amount taken = 0;
        for (int i = 0; i < 7; ++i) {
          advance(1min);
          taken += limiter().take({{limit.name(), "a", units}}, {.mode = Mode::kUpTo}).value().taken;
        }
        EXPECT_EQ(taken, amount);
        EXPECT_FALSE(take(limit.name(), "a", 1).allowed());
        if (kind == Kind::kStock) {
          EXPECT_EQ(limiter().give(limit.name(), "a", amount).value().amount, amount);
        } else {
          start_window(kHour);
        }
      }
    }
  }
}

// One that takes whenever it may, and else waits as long as it is told: so many periods' amounts, and one charge more,
// take it 99 % of that rate's time at most. Where the amount is small, not a step more than the periods.
TEST_P(Promises, Promise_AGreedyClientGetsItsShareOfASlidingWindow) {
  constexpr std::int64_t kPeriods = 12;
  constexpr Amount kTakesPerPeriod = 10;
  constexpr Amount kSmallAmount = 5;
  for (const Amount amount :
       {Amount{1}, Amount{2}, Amount{5}, Amount{10}, Amount{100}, Amount{1000}, Amount{1'000'000}}) {
    SCOPED_TRACE(amount);
    const std::string name = define(sliding(unique("sliding " + std::to_string(amount))).amount(amount).per(1h));
    const Amount units = std::max<Amount>(1, amount / kTakesPerPeriod);
    std::int64_t now_ns = 0;
    for (Amount taken = 0; taken <= amount * kPeriods;) {
      const Decision decision = take(name, "a", units);
      if (decision.allowed()) taken += units;
      if (taken > amount * kPeriods) break;
      // A pause, so that they are not all at one instant.
      const Duration pause = decision.allowed() ? Duration(1s) : in_steps(decision.retry_after);
      advance(pause);
      now_ns += pause.ns();
    }
    const std::int64_t due_ns = kPeriods * kHour.ns();
    EXPECT_LE(now_ns, amount <= kSmallAmount ? due_ns : due_ns * 100 / 99);
  }
}

// A greedy client of a sliding window whose holds are committed for less, or cancelled, in the order in which they were
// made, and who gives back: the ledger of what it has and what counts, which a unit does for a period and a slot at
// most. What is given back is the oldest of that; what comes back of a hold was charged when it was made.
class Ledger {
 public:
  void charge(Amount units) { charges_.push_back({now_ns_, units}); }
  void pass(Duration length) {
    now_ns_ += length.ns();
    while (!charges_.empty() && charges_.front().at_ns + kCountsFor.ns() <= now_ns_) charges_.pop_front();
  }
  void take_back(Amount units, std::int64_t from_ns) {
    for (Admitted& charge : charges_) {
      if (charge.at_ns < from_ns) continue;
      const Amount taken = std::min(units, charge.units);
      charge.units -= taken;
      units -= taken;
    }
  }
  [[nodiscard]] Amount has() const {
    Amount sum = 0;
    for (const Admitted& charge : charges_) sum += charge.units;
    return sum;
  }
  [[nodiscard]] std::int64_t now_ns() const { return now_ns_; }

 private:
  static constexpr Duration kCountsFor = Duration::from_ns(kHour.ns() / 125 * 126);
  std::int64_t now_ns_ = 0;
  std::deque<Admitted> charges_;
};

// 125/126 of what counts are 99 % of the rate: docs/semantics.md.
TEST_P(Promises, Promise_AGreedyClientGetsItsShareOfASlidingWindowAlsoIfPartComesBack) {
  constexpr int kSteps = 150;
  constexpr double kShareThatCounts = 0.9984;
  struct Open {
    std::string id;
    std::int64_t made_at_ns;
  };
  for (const Amount amount : {Amount{1'000'000}, Amount{10'000'000}}) {
    SCOPED_TRACE(amount);
    const std::string name = define(sliding(unique("sliding " + std::to_string(amount))).amount(amount).per(1h));
    const Amount units = amount / 40 + 7;
    Ledger ledger;
    std::deque<Open> open;
    for (int step = 0; step < kSteps; ++step) {
      advance(1min);
      ledger.pass(1min);
      while (!open.empty() && open.front().made_at_ns + Duration(5min).ns() <= ledger.now_ns()) {
        const Amount kept = step % 7 == 0 ? 0 : units * 9 / 10;
        kept == 0 ? limiter().cancel(open.front().id).value() : limiter().commit(open.front().id, kept).value();
        ledger.take_back(units - kept, open.front().made_at_ns);
        open.pop_front();
      }
      for (const Amount given : {Amount{1}, Amount{17}}) {
        ledger.take_back(limiter().give(name, "a", given).value().amount, 0);
      }
      bool is_denied = false;
      for (int i = 0; i < 3 && !is_denied; ++i) {
        const HoldDecision decision = limiter().hold({{name, "a", units}}, 6h).value();
        is_denied = !decision.allowed();
        if (is_denied) continue;
        ledger.charge(units);
        open.push_back({decision.id, ledger.now_ns()});
      }
      if (!is_denied) continue;
      ASSERT_GE(static_cast<double>(ledger.has() + units), static_cast<double>(amount) * kShareThatCounts) << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Store, Waits, ::testing::ValuesIn(stores()), store_name);
INSTANTIATE_TEST_SUITE_P(Store, Promises, ::testing::ValuesIn(stores()), store_name);

}  // namespace
}  // namespace mete::conformance
