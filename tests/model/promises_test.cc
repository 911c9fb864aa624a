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

struct Admitted {
  Wide at;
  Wide units;
};

// One meter, and all that it has admitted.
class Client {
 public:
  explicit Client(const Limit& limit) : terms_(terms_of(limit, std::nullopt)) {
    rule_ = {.kind = terms_.kind,
             .amount = static_cast<Amount>(terms_.amount),
             .capacity = static_cast<Amount>(terms_.capacity),
             .period = Duration::from_ns(static_cast<std::int64_t>(terms_.period))};
  }

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

  Terms terms_;
  core::Rule rule_;
  core::State state_;
  Instant now_ = kBegin;
  std::vector<Admitted> admitted_;
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

void expect_never_more(const Client& client) {
  const auto& admitted = client.admitted();
  for (std::size_t first = 0; first < admitted.size(); ++first) {
    Wide sum = 0;
    for (std::size_t last = first; last < admitted.size(); ++last) {
      sum += admitted[last].units;
      const Wide due = due_between(client.terms(), admitted[first].at, admitted[last].at);
      ASSERT_TRUE(sum <= due) << "from admission " << first << " to " << last;
    }
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

TEST_P(Promises, NeverMoreThanIsDueAndWaitsAreExact) {
  constexpr int kHistories = 5;
  constexpr int kSteps = 400;
  const Kind kind = GetParam();
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
          const Amount units = any_units(random, amount);
          const Duration wait = client.take(units);
          if (wait == Duration() || wait.is_never()) continue;
          ASSERT_FALSE(client.would_fit(wait + Duration(-1ns), units)) << "step " << step;
          ASSERT_TRUE(client.would_fit(wait, units)) << "step " << step;
          if (random() % 3 == 0) client.pass(wait);
        }
        ASSERT_NO_FATAL_FAILURE(expect_never_more(client));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Promises, testing::ValuesIn(kKinds),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

// A greedy client gets 99 % of the rate at least. A small amount is taken all of: up to five, everything that was
// charged has its exact time.
constexpr double kShare = 0.99;

struct Greedy {
  Amount amount;
  Amount units;  // that are taken at once
};

Wide taken_in(const Limit& limit, const Greedy& greedy, int periods, Duration pace) {
  Client client(limit);
  client.pass(1'234'567ns);  // no multiple of anything
  const Instant end = client.now() + Duration::from_ns(limit.period()->ns() * periods);
  Wide taken = 0;
  while (client.now() < end) {
    const Duration wait = client.take(greedy.units);
    if (wait == Duration()) taken += greedy.units;
    client.pass(wait == Duration() ? pace : std::max(wait, pace));
  }
  return taken;
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
        const Wide taken = taken_in(limit, greedy, kPeriods, pace);
        // What a client can have that takes so much at a time, but for the last period, which is not over for some.
        const Wide whole = Wide{greedy.amount / greedy.units} * greedy.units;
        EXPECT_GE(static_cast<double>(taken), kShare * static_cast<double>(whole * (kPeriods - 1)));
        if (greedy.amount <= 5) {
          EXPECT_TRUE(taken >= whole * (kPeriods - 1));
        }
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
