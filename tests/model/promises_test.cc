// What every kind promises, over random histories: never more than is due, a greedy client gets its share, and a wait
// is enough, while one nanosecond less is not. These know nothing of how a kind keeps its word.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
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

  // As much of it as there is room for; returns how much that was.
  Amount take_up_to(Amount units) {
    const core::Moment moment = settle();
    const Amount taken = std::min(units, core::remaining(rule_, state_, moment));
    if (taken > 0 && take(taken) != Duration()) return 0;
    return taken;
  }

  // As take(), and the hold is open until end_hold().
  Duration hold(Amount units) {
    const Duration wait = take(units);
    if (wait != Duration()) return wait;
    holds_.push_back({{.units = units, .made_at = now_, .expires_at = Instant::max()}, admitted_.size() - 1});
    admitted_.back().is_held = true;
    return wait;
  }
  // A part of it stays, of so many thousandths; the rest comes back: that was not admitted in the end.
  void end_hold(std::size_t index, Amount thousandths) {
    if (holds_.empty()) return;
    const auto hold = holds_.begin() + static_cast<std::ptrdiff_t>(index % holds_.size());
    const Amount kept = hold->part.units / 1000 * thousandths;
    core::HeldPart rest = hold->part;
    rest.units -= kept;
    core::release(rule_, state_, rest, settle());
    admitted_[hold->admission].units = kept;
    admitted_[hold->admission].is_held = false;
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
// which rate, and what is given back may have been refilled already. Returns how much was taken.
Amount change(Client& client, std::mt19937_64& random, Amount amount) {
  const std::uint64_t what = random() % 12;
  const bool is_bucket = client.terms().kind == Kind::kBucket;
  if (what == 0 && !is_bucket) client.give(any_units(random, amount));
  if (what == 1) client.end_hold(random(), 0);
  // What of a bucket's part has been refilled meanwhile does not come back: what stays is more than was asked for.
  if (what == 3 && !is_bucket) {
    const std::uint64_t index = random();
    client.end_hold(index, static_cast<Amount>(random() % 1001));
  }
  if (what == 2 && !is_bucket) {
    client.change_amount(random() % 2 == 0 ? amount : std::max<Amount>(1, amount / 3));
  }
  return what == 4 ? client.take_up_to(any_units(random, amount)) : 0;
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
          if (changes == Changes::kSome && change(client, random, amount) > 0) {
            ASSERT_NO_FATAL_FAILURE(expect_no_more_than_is_due(client));
          }
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

// All of each window, and all of a stock as often as it is given back.
TEST(Promises, AGreedyClientGetsAllOfAWindowACalendarAndAStock) {
  for (const Amount amount : {Amount{1}, Amount{7}, Amount{1000}, Amount{1'000'000}, kAmountMax}) {
    for (const Kind kind : {Kind::kWindow, Kind::kCalendar, Kind::kStock}) {
      SCOPED_TRACE(std::string(to_string(kind)) + " of " + std::to_string(amount));
      const Limit limit = limit_of(kind, amount, 1h);
      Client client(limit);
      const Amount units = (amount + 6) / 7;
      for (int window = 0; window < 20; ++window) {
        client.pass(
            Duration::from_ns(Duration(1h).ns() - static_cast<std::int64_t>(client.now().ns() % 3'600'000'000'000ULL)));
        Amount taken = 0;
        for (int i = 0; i < 7; ++i) {
          client.pass(1min);
          taken += client.take_up_to(units);
        }
        EXPECT_EQ(taken, amount);
        EXPECT_NE(client.take(1), Duration());
        if (kind == Kind::kStock) client.give(amount);
      }
    }
  }
}

// A greedy client of which part comes back, and the ledger of what it has and what counts: a unit does for a period and
// a slot at most. What is given back is the oldest of that; what comes back of a hold was charged when it was made.
class Returning {
 public:
  explicit Returning(const Limit& limit)
      : rule_(rule_made_of(terms_of(limit, std::nullopt))),
        counts_for_(rule_.period + core::sliding::slot_width(rule_)) {}

  [[nodiscard]] bool take(Amount units) {
    core::Verdict verdict;
    if (!core::take(rule_, state_, units, settle(), verdict)) return false;
    charges_.push_back({.units = units, .made_at = now_, .expires_at = Instant::max()});
    return true;
  }
  [[nodiscard]] bool hold(Amount units) {
    if (!take(units)) return false;
    open_.push_back(charges_.back());
    return true;
  }
  [[nodiscard]] std::size_t open() const { return open_.size(); }
  [[nodiscard]] Instant made_at(std::size_t index) const { return open_[index].made_at; }
  // So much of a hold comes back.
  void end(std::size_t index, Amount returned) {
    core::HeldPart part = open_[index];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
    part.units = std::min(part.units, returned);
    const core::Moment moment = settle();
    if (core::still_charged(rule_, state_, part, moment) == 0) return;
    core::release(rule_, state_, part, moment);
    take_back(part.units, part.made_at);
  }
  void give(Amount units) { take_back(core::give_back(rule_, state_, units, 0, settle()), Instant()); }
  void pass(Duration length) { now_ = now_ + length; }
  [[nodiscard]] Instant now() const { return now_; }
  // Of what was charged within the last period and slot, what has not come back.
  [[nodiscard]] Amount has() const {
    Amount sum = 0;
    for (const core::HeldPart& charge : charges_) sum += charge.made_at + counts_for_ > now_ ? charge.units : 0;
    return sum;
  }

 private:
  core::Moment settle() {
    while (!charges_.empty() && charges_.front().made_at + counts_for_ <= now_) charges_.pop_front();
    const core::Moment moment{now_, {}};
    core::settle(rule_, state_, moment);
    return moment;
  }
  void take_back(Amount units, Instant from) {
    for (core::HeldPart& charge : charges_) {
      if (charge.made_at < from) continue;
      const Amount taken = std::min(units, charge.units);
      charge.units -= taken;
      units -= taken;
    }
  }

  core::Rule rule_;
  Duration counts_for_;
  core::State state_;
  Instant now_ = kBegin + Duration(1'234'567ns);
  std::deque<core::HeldPart> charges_;
  std::vector<core::HeldPart> open_;
};

// How a client's holds end, and what it gives back.
struct Habit {
  std::string_view name;
  int lives_in_thousandths;  // of a period: how long a hold is open; at random up to that if `is_random`
  bool is_random;
  int returned_percent;  // of a hold; each second one comes back as a whole if it is 0
  bool gives;
};

// The least that the client had when it was denied, as a part of what it could have had: all of the amount, up to a
// charge.
double least_share(Amount amount, const Habit& habit) {
  constexpr int kSteps = 3000;
  constexpr std::chrono::milliseconds kPeriod = 60s;
  const Limit limit = sliding("limit").amount(amount).per(kPeriod);
  const Amount units = amount == 1'000'000 ? 1000 : amount / 1000 + 7;
  std::mt19937_64 random(static_cast<std::uint64_t>(amount));
  Returning client(limit);
  double least = 1;
  for (int step = 0; step < kSteps; ++step) {
    client.pass(kPeriod / 1000 + std::chrono::nanoseconds(random() % 1000));
    for (std::size_t i = client.open(); i-- > 0;) {
      const std::size_t index = client.open() - 1 - i;  // the oldest first
      const auto lives = habit.is_random
                             ? static_cast<int>(random() % static_cast<unsigned>(habit.lives_in_thousandths))
                             : habit.lives_in_thousandths;
      if (index >= client.open() || client.now() - client.made_at(index) < Duration(kPeriod / 1000 * lives)) continue;
      const bool is_whole = habit.returned_percent == 0;
      client.end(index, is_whole ? (random() % 2 == 0 ? units : 0) : units * habit.returned_percent / 100);
    }
    if (habit.gives) {
      for (int i = 0; i < 3; ++i) client.give(1 + static_cast<Amount>(random() % static_cast<unsigned>(units)));
    }
    for (int i = 0; i < 20; ++i) {
      if (habit.lives_in_thousandths > 0 ? client.hold(units) : client.take(units)) continue;
      least = std::min(least, static_cast<double>(client.has() + units) / static_cast<double>(amount));
      break;
    }
  }
  return least;
}

// 125/126 of this are 99 % of the rate, and less than three quanta may count longer: docs/semantics.md.
constexpr double kShareThatCounts = 0.9984;

TEST(Promises, AGreedyClientGetsItsShareAlsoIfPartComesBack) {
  for (const Amount amount : {Amount{1000}, Amount{1'000'000}, Amount{10'000'000}, kAmountMax}) {
    for (const Habit& habit : std::vector<Habit>{{"gives", 0, false, 0, true},
                                                 {"commits 90 % after a twelfth", 83, false, 10, false},
                                                 {"commits 40 % after half a period", 500, false, 60, false},
                                                 {"commits 90 % at once", 1, false, 10, false},
                                                 {"cancels half of its holds", 200, false, 0, false},
                                                 {"commits 90 %, and gives", 83, false, 10, true}}) {
      SCOPED_TRACE(std::to_string(amount) + ": " + std::string(habit.name));
      EXPECT_GE(least_share(amount, habit), kShareThatCounts);
    }
  }
}

// What comes back in another order than it was charged may count longer by parts of quanta: a few per cent at the
// worst.
TEST(Promises, AGreedyClientGetsMostOfItsShareIfHoldsEndInAnyOrder) {
  for (const Amount amount : {Amount{1000}, Amount{1'000'000}, Amount{10'000'000}, kAmountMax}) {
    for (const Habit& habit : std::vector<Habit>{{"commits 90 %", 900, true, 10, false},
                                                 {"commits 40 %", 500, true, 60, false},
                                                 {"cancels half of its holds", 900, true, 0, true}}) {
      SCOPED_TRACE(std::to_string(amount) + ": " + std::string(habit.name));
      EXPECT_GE(least_share(amount, habit), 0.97);
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
