// What every kind promises, over random histories: never more than is due, a greedy client gets its share, and a wait
// is enough, while one nanosecond less is not. These know nothing of how a kind keeps its word.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/take.h"
#include "model/model_meter.h"

namespace mete::model {
namespace {

using namespace std::chrono_literals;

constexpr Instant kBegin = Instant::from_unix_seconds(1'700'000'000);
constexpr Instant kLast = Instant::from_unix_seconds(16'700'000'000);  // in 2499: an Instant ends in 2554
constexpr Kind kKinds[] = {Kind::kBucket, Kind::kWindow, Kind::kSliding, Kind::kCalendar, Kind::kStock};

// What was admitted, and not given back since.
struct Admitted {
  Wide at;
  Wide units;
  bool is_held = false;
};

core::Rule rule_made_of(const Terms& terms) {
  return {.kind = terms.kind,
          .amount = static_cast<Amount>(terms.amount),
          .capacity = static_cast<Amount>(terms.capacity),
          .period = Duration::from_ns(static_cast<std::int64_t>(terms.period))};
}

// One meter, and all that it has admitted.
class Client {
 public:
  explicit Client(const Limit& limit)
      : limit_(limit), terms_(terms_of(limit, std::nullopt)), rule_(rule_made_of(terms_)) {}

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] const Terms& terms() const { return terms_; }
  [[nodiscard]] const std::vector<Admitted>& admitted() const { return admitted_; }

  void pass(Duration length) { now_ = now_ + length; }

  // How long to wait; zero if it was admitted.
  Duration take(Amount units) {
    core::Verdict verdict;
    const core::Moment moment = settle();
    if (core::take(rule_, state_, units, moment, verdict)) admitted_.push_back({Wide{now_.ns()}, units});
    return verdict.retry_after;
  }

  // As take(), and the hold is open until end_hold().
  Duration hold(Amount units) {
    const Duration wait = take(units);
    if (wait != Duration()) return wait;
    holds_.push_back({{.units = units, .made_at = now_, .expires_at = Instant::max()}, admitted_.size() - 1});
    admitted_.back().is_held = true;
    return wait;
  }
  // All of it comes back: nothing of it was admitted in the end.
  void end_hold(std::size_t index) {
    if (holds_.empty()) return;
    const auto hold = holds_.begin() + static_cast<std::ptrdiff_t>(index % holds_.size());
    core::release(rule_, state_, hold->part, settle());
    admitted_[hold->admission].units = 0;
    holds_.erase(hold);
  }
  // Gives back what was admitted last and is not held.
  void give(Amount units) {
    const core::Moment moment = settle();
    Amount held = 0;
    for (const Hold& hold : holds_) held += core::still_charged(rule_, state_, hold.part, moment);
    Wide left = core::give_back(rule_, state_, units, held, moment);
    for (auto each = admitted_.rbegin(); each != admitted_.rend() && left > 0; ++each) {
      const Wide returned = each->is_held ? Wide{0} : std::min(left, each->units);
      each->units -= returned;
      left -= returned;
    }
  }
  // Another amount for its key: what is used stays used.
  void change_amount(Amount amount) {
    const core::Moment moment = settle();
    const Terms terms = terms_of(limit_, amount);
    const core::Rule rule = rule_made_of(terms);
    state_ = core::rebase({rule_, moment}, state_, {rule, moment});
    rule_ = rule;
    terms_ = terms;
  }

  [[nodiscard]] bool would_fit(Duration later, Amount units) const {
    Client copy = *this;
    copy.pass(later);
    const core::Moment moment = copy.settle();
    return core::fits(rule_, copy.state_, units, moment);
  }

 private:
  core::Moment settle() {
    core::Moment moment{now_, {}};
    if (core::has_window(rule_.kind)) {
      const WideSpan span = span_at(terms_, Wide{now_.ns()});
      moment.window = {Instant::from_ns(static_cast<std::uint64_t>(span.start)),
                       Instant::from_ns(static_cast<std::uint64_t>(span.end))};
    }
    core::settle(rule_, state_, moment);
    return moment;
  }

  struct Hold {
    core::HeldPart part;
    std::size_t admission;
  };

  Limit limit_;
  Terms terms_;
  core::Rule rule_;
  core::State state_;
  Instant now_ = kBegin;
  std::vector<Admitted> admitted_;
  std::vector<Hold> holds_;
};

// What may have been admitted from one instant to another, both included.
Wide due_between(const Terms& terms, Wide from, Wide to) {
  switch (terms.kind) {
    case Kind::kBucket:
      return terms.capacity + terms.amount * (to - from) / terms.period;
    case Kind::kSliding:
      return to - from < terms.period ? terms.amount : Wide{1} << 100;
    case Kind::kWindow:
    case Kind::kCalendar:
      return span_at(terms, from) == span_at(terms, to) ? terms.amount : Wide{1} << 100;
    case Kind::kStock:
      return terms.amount;
  }
  return 0;
}

// Of what ends with the latest admission: so it is asked after each.
void expect_no_more_than_is_due(const Client& client) {
  const auto& admitted = client.admitted();
  Wide sum = 0;
  for (auto first = admitted.rbegin(); first != admitted.rend(); ++first) {
    sum += first->units;
    const Wide due = due_between(client.terms(), first->at, admitted.back().at);
    ASSERT_TRUE(sum <= due) << "from admission " << admitted.rend() - first - 1 << " to " << admitted.size() - 1;
  }
}

Limit limit_of(Kind kind, Amount amount, Duration period) {
  Limit limit(kind, "limit");
  limit.amount(amount);
  if (kind == Kind::kCalendar) return limit.per(Unit::kHour);
  if (kind == Kind::kStock) return limit;
  return limit.per(period);
}

class Promises : public testing::TestWithParam<Kind> {};

// Mostly many within a period, at times none for a while, and often several at one instant.
Duration any_pause(std::mt19937_64& random, std::int64_t period_ns) {
  const auto pace = static_cast<std::int64_t>(random() % 1000);
  if (pace >= 990) return Duration::from_ns(period_ns / 2);
  return Duration::from_ns((pace < 500 ? period_ns / 1000 * pace / 100 : 0) + pace % 3);
}

Amount any_units(std::mt19937_64& random, Amount amount) {
  const auto share = static_cast<Amount>(random() % 1000);
  return std::max<Amount>(1, share < 700 ? amount / 200 * (share % 2) : amount / 1000 * share);
}

// Something comes back, or the key gets another amount. Not so of a bucket: what is due of one depends on when it had
// which rate, and what is given back may have been refilled already.
void change(Client& client, std::mt19937_64& random, Amount amount) {
  const std::uint64_t what = random() % 12;
  const bool is_bucket = client.terms().kind == Kind::kBucket;
  if (what == 0 && !is_bucket) client.give(any_units(random, amount));
  if (what == 1) client.end_hold(random());
  if (what == 2 && !is_bucket) {
    client.change_amount(random() % 2 == 0 ? amount : std::max<Amount>(1, amount / 3));
  }
}

enum class Changes : std::uint8_t { kNone, kSome };

void run_histories(Kind kind, Changes changes) {
  constexpr int kHistories = 5;
  constexpr int kSteps = 400;
  for (const Amount amount : {Amount{1}, Amount{2}, Amount{3}, Amount{5}, Amount{6}, Amount{10}, Amount{99},
                              Amount{100}, Amount{101}, Amount{1000}, Amount{1'000'000}, kAmountMax}) {
    for (const Duration period : {Duration(1ms), Duration(4s), Duration(3'600'000'000'007ns), Duration(24h * 3000)}) {
      for (std::uint64_t seed = 0; seed < kHistories; ++seed) {
        SCOPED_TRACE(std::to_string(amount) + " per " + std::to_string(period.ns()) + " ns, seed " +
                     std::to_string(seed));
        std::mt19937_64 random(seed);
        Client client(limit_of(kind, amount, period));
        for (int step = 0; step < kSteps && client.now() < kLast; ++step) {
          client.pass(any_pause(random, kind == Kind::kCalendar ? Duration(1h).ns() : period.ns()));
          if (changes == Changes::kSome) change(client, random, amount);
          const Amount units = any_units(random, amount);
          const bool is_hold = changes == Changes::kSome && random() % 4 == 0;
          const Duration wait = is_hold ? client.hold(units) : client.take(units);
          if (wait == Duration()) {
            ASSERT_NO_FATAL_FAILURE(expect_no_more_than_is_due(client));
            continue;
          }
          if (wait.is_never()) continue;
          ASSERT_FALSE(client.would_fit(wait + Duration(-1ns), units)) << "step " << step;
          ASSERT_TRUE(client.would_fit(wait, units)) << "step " << step;
          if (random() % 3 == 0) client.pass(wait);
        }
      }
    }
  }
}

TEST_P(Promises, NeverMoreThanIsDueAndWaitsAreExact) { run_histories(GetParam(), Changes::kNone); }

TEST_P(Promises, NorWithHoldsGivesAndOverrides) { run_histories(GetParam(), Changes::kSome); }

INSTANTIATE_TEST_SUITE_P(Kinds, Promises, testing::ValuesIn(kKinds),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

// A greedy client gets 99 % of the rate at least. A small amount is taken all of: up to five, everything that was
// charged has its exact time.
constexpr double kShare = 0.99;
// Where rounding a slot up to microseconds counts.
constexpr double kShareOfOddMicroseconds = 0.989;

double share_of(const Limit& limit, Amount amount) {
  if (amount <= 5) return 1;
  const Duration period = *limit.period();
  return period < 2ms && period.ns() % Duration(1ms).ns() != 0 ? kShareOfOddMicroseconds : kShare;
}

struct Greedy {
  Amount amount;
  Amount units;  // that are taken at once
};

// How long it takes until more than so many units were admitted.
Duration time_for_more_than(Wide units, const Limit& limit, const Greedy& greedy, Duration pace) {
  Client client(limit);
  client.pass(1'234'567ns);  // no multiple of anything
  const Instant begin = client.now();
  for (Wide taken = 0;;) {
    const Duration wait = client.take(greedy.units);
    if (wait == Duration()) taken += greedy.units;
    if (taken > units) return client.now() - begin;
    client.pass(wait == Duration() ? pace : wait);
  }
}

TEST(Promises, AGreedyClientGetsItsShareOfASlidingWindow) {
  constexpr int kPeriods = 60;
  for (const Duration period : {Duration(1ms), Duration(1001us), Duration(4s), Duration(1h)}) {
    for (const Greedy& greedy : std::vector<Greedy>{{1, 1},
                                                    {2, 1},
                                                    {5, 1},
                                                    {10, 1},
                                                    {100, 1},
                                                    {101, 1},
                                                    {1000, 1},
                                                    {1000, 7},
                                                    {1'000'000, 997},
                                                    {kAmountMax, kAmountMax / 500}}) {
      const Limit limit = sliding("limit").amount(greedy.amount).per(period);
      // As fast as it can; and with pauses, so that its charges spread over the whole period.
      const std::int64_t even = period.ns() / (greedy.amount / greedy.units + 1);
      for (const Duration pace : {Duration(1ns), Duration::from_ns(std::max<std::int64_t>(1, even / 2)),
                                  Duration::from_ns(std::max<std::int64_t>(1, even * 9 / 10))}) {
        SCOPED_TRACE(std::to_string(greedy.amount) + " per " + std::to_string(period.ns()) + " ns, " +
                     std::to_string(greedy.units) + " at a time, every " + std::to_string(pace.ns()) + " ns");
        // What a client can have in a period that takes so much at a time.
        const Wide whole = Wide{greedy.amount / greedy.units} * greedy.units;
        const Duration time = time_for_more_than(whole * kPeriods, limit, greedy, pace);
        EXPECT_LE(static_cast<double>(time.ns()) * share_of(limit, greedy.amount),
                  static_cast<double>(period.ns() * kPeriods));
      }
    }
  }
}

TEST(Promises, OneHundredIn4SecondsAreNotExceededByBurstsLateInTwoWindows) {
  Client client(sliding("limit").amount(100).per(4s));
  client.pass(Duration::from_ns(static_cast<std::int64_t>(4'000'000'000 - kBegin.ns() % 4'000'000'000)));
  client.pass(3900ms);
  EXPECT_EQ(client.take(100), Duration());
  client.pass(3900ms);
  Wide taken = 0;
  while (client.take(1) == Duration()) ++taken;
  EXPECT_TRUE(taken == 0) << "3.9 s after a hundred";
}

}  // namespace
}  // namespace mete::model
