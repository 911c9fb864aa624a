// What every kind promises in every store, over random histories: never more than is due, and a greedy client gets its
// share. That a wait is enough, and one step less is not, is in rule05_06_waits_test.cc, and here along the way.
#include <algorithm>
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

// A random client of one limit: it takes, and holds, cancels or forgets, gives back and gets another amount.
class RandomClient {
 public:
  // What nodes have drawn of a limit stays theirs when its amount is lowered: docs/escrow.md.
  RandomClient(Limiter& limiter, const Limit& limit)
      : limiter_(limiter),
        limit_(limit),
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
  Decision take_or_hold(const Charge& charge) {
    const bool is_hold = one_in(4);
    Decision decision;
    if (is_hold) {
      const Duration ttl = std::chrono::microseconds(random_() % 9'000'000'000 + 1);
      const HoldDecision held = limiter_.hold({charge}, ttl).value();
      if (held.allowed()) holds_.push_back({held.id, admitted_.size(), now_ns_ + ttl.ns()});
      decision = held;
    } else {
      decision = limiter_.take({charge}).value();
    }
    if (decision.allowed()) admitted_.push_back({now_ns_, charge.cost, is_hold});
    return decision;
  }
  // Something comes back, or the key gets another amount. Not so of a bucket: what is due of one depends on when it had
  // which rate, and what is given back may have been refilled already.
  void change() {
    const std::uint64_t what = random_() % 10;
    const bool is_bucket = limit_.kind() == Kind::kBucket;
    if (what == 0 && !is_bucket) give();
    if (what == 1 && !holds_.empty()) cancel(random_() % holds_.size());
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
  // Nothing of it was admitted in the end.
  void end_hold(std::size_t index) {
    admitted_[holds_[index].admission].units = 0;
    holds_.erase(holds_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  Limiter& limiter_;
  const Limit& limit_;
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
    RandomClient client(limiter(), limit);
    const auto wait = [&](Duration length) {
      advance(length);
      client.pass(length);
    };
    for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
      wait(client.pause());
      client.change();
      const Charge charge = client.charge();
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

constexpr Amount kAmounts[] = {3, 40, 900};

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

TEST_P(Promises, Promise_WhoHasWaitedIsAdmitted) {
  for (const Amount amount : kAmounts) {
    for (const Limit& limit : each_kind(amount)) {
      SCOPED_TRACE(std::string(to_string(limit.kind())) + " of " + std::to_string(amount));
      run_history(
          limit, [](const RandomClient&) {},
          [&](const Charge& charge) {
            EXPECT_TRUE(limiter().peek(charge.limit, charge.key, charge.cost).value().allowed());
          });
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

INSTANTIATE_TEST_SUITE_P(Store, Promises, ::testing::ValuesIn(stores()), store_name);

}  // namespace
}  // namespace mete::conformance
