// Conservation: whatever many threads do at once, nothing is admitted past the limit, and the books balance to the
// unit.
#include <gtest/gtest.h>

#include <array>

#include "threads/many.h"

namespace mete::threads {
namespace {

using namespace std::chrono_literals;

constexpr int kBookedKeys = 4;
constexpr Amount kAmountPerKey = 200;

// What the threads did to the meters of one limit, by key.
struct Books {
  std::array<std::atomic<Amount>, kBookedKeys> balance{};
};

// One thread's operations on one limit, and the accounts of what they did.
class Bookkeeper {
 public:
  Bookkeeper(Limiter& limiter, std::string limit, Books& books, Random& random)
      : limiter_(limiter), limit_(std::move(limit)), books_(books), random_(random) {}

  void step() {
    const int key = random_.below(kBookedKeys);
    switch (random_.below(9)) {
      case 0:
      case 1:
        book(key, limiter_.take(limit_, key_name(key), random_.amount(20)).value().taken);
        return;
      case 2:
        book(key, limiter_.take({{limit_, key_name(key), random_.amount(40)}}, {.mode = Mode::kUpTo}).value().taken);
        return;
      case 3:
      case 4:
        book(key, -limiter_.give(limit_, key_name(key), random_.amount(30)).value().amount);
        return;
      case 5:
        return take_all();
      default:
        return use_hold();
    }
  }

  void settle_all() {
    while (!open_.empty()) settle_one();
  }

 private:
  struct OpenHold {
    std::string id;
    std::vector<int> keys;
    std::vector<Amount> amounts;
  };

  void book(int key, Amount change) { books_.balance[static_cast<std::size_t>(key)] += change; }

  // Several keys at once, in a random order: whoever locked them one by one would soon wait for each other.
  void take_all() {
    OpenHold charges = random_charges();
    std::vector<std::string> names;
    for (const int key : charges.keys) names.push_back(key_name(key));
    std::vector<Charge> list;
    for (std::size_t i = 0; i < names.size(); ++i) list.push_back({limit_, names[i], charges.amounts[i]});
    if (!limiter_.take(list).value().allowed()) return;
    for (std::size_t i = 0; i < names.size(); ++i) book(charges.keys[i], charges.amounts[i]);
  }

  void use_hold() {
    if (!open_.empty() && random_.one_in(2)) return settle_one();
    if (!open_.empty() && random_.one_in(3)) {
      limiter_.extend(open_.back().id, 2h).value();
      return;
    }
    OpenHold hold = random_charges();
    std::vector<std::string> names;
    for (const int key : hold.keys) names.push_back(key_name(key));
    std::vector<Charge> list;
    for (std::size_t i = 0; i < names.size(); ++i) list.push_back({limit_, names[i], hold.amounts[i]});
    const HoldDecision decision = limiter_.hold(list, 1h, {.tag = random_.one_in(2) ? "job" : ""}).value();
    if (!decision.allowed()) return;
    hold.id = decision.id;
    for (std::size_t i = 0; i < names.size(); ++i) book(hold.keys[i], hold.amounts[i]);
    open_.push_back(std::move(hold));
  }

  void settle_one() {
    const OpenHold hold = std::move(open_.back());
    open_.pop_back();
    if (random_.one_in(3)) {
      limiter_.cancel(hold.id).value();
      for (std::size_t i = 0; i < hold.keys.size(); ++i) book(hold.keys[i], -hold.amounts[i]);
      return;
    }
    std::vector<Amount> kept;
    for (const Amount held : hold.amounts) kept.push_back(random_.below(static_cast<int>(held) + 1));
    if (random_.one_in(3)) kept[0] = hold.amounts[0] + random_.amount(3);
    auto settled = limiter_.commit_with_overage(hold.id, kept);
    if (!settled) {
      EXPECT_EQ(settled.error().code, ErrorCode::kExceeds) << settled.error().message;
      kept[0] = hold.amounts[0];
      settled = limiter_.commit(hold.id, kept);
    }
    EXPECT_TRUE(settled.has_value());
    for (std::size_t i = 0; i < hold.keys.size(); ++i) book(hold.keys[i], kept[i] - hold.amounts[i]);
  }

  OpenHold random_charges() {
    OpenHold charges;
    const int count = 1 + random_.below(kBookedKeys);
    for (int i = 0; i < count; ++i) {
      charges.keys.push_back(random_.below(kBookedKeys));
      charges.amounts.push_back(random_.amount(10));
    }
    return charges;
  }

  Limiter& limiter_;
  const std::string limit_;
  Books& books_;
  Random& random_;
  std::vector<OpenHold> open_;
};

Limit limit_of(Kind kind) {
  Limit limit(kind, std::string(to_string(kind)));
  limit.amount(kAmountPerKey);
  if (kind == Kind::kCalendar) return limit.per(Unit::kYear);
  return kind == Kind::kStock ? limit : limit.per(1h);
}

class Conservation : public ::testing::TestWithParam<Kind> {
 protected:
  // At every instant, as anybody can see it.
  void watch() {
    for (int key = 0; key < kBookedKeys; ++key) {
      const Usage usage = limiter_.usage(limit_.name(), key_name(key)).value();
      if (usage.used + usage.held > kAmountPerKey || usage.used < 0 || usage.held < 0) ++over_;
      if (usage.remaining != kAmountPerKey - usage.used - usage.held) ++over_;
    }
  }

  // The clock stands still, so that nothing comes back but what is given back: every kind keeps the same books.
  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  Limiter limiter_ = open("embedded:", {.clock = &clock_}).value();
  Limit limit_ = limit_of(GetParam());
  Books books_;
  std::atomic<int> over_{0};
};

TEST_P(Conservation, TheBooksBalance) {
  limiter_.define(limit_).value();
  {
    const Meanwhile watcher([this] { watch(); });
    run(kThreads, [this](int, Random& random) {
      Bookkeeper bookkeeper(limiter_, limit_.name(), books_, random);
      for (int i = 0; i < kSteps; ++i) bookkeeper.step();
      bookkeeper.settle_all();
    });
  }
  EXPECT_EQ(over_, 0) << "used + held was above the amount";
  for (int key = 0; key < kBookedKeys; ++key) {
    const Usage usage = limiter_.usage(limit_.name(), key_name(key)).value();
    EXPECT_EQ(usage.used, books_.balance[static_cast<std::size_t>(key)]) << key_name(key);
    EXPECT_EQ(usage.held, 0) << key_name(key);
    EXPECT_TRUE(limiter_.holds(limit_.name(), key_name(key)).value().empty());
  }
  EXPECT_TRUE(limiter_.holds_tagged("job").value().empty());
}

TEST_P(Conservation, WhatExpiresComesBackToo) {
  limiter_.define(limit_).value();
  // Held by everybody and settled by nobody.
  std::atomic<Amount> taken{0};
  run(kThreads, [&](int, Random& random) {
    for (int i = 0; i < kSteps / 10; ++i) {
      limiter_.hold({{limit_.name(), key_name(0), random.amount(5)}}, 1ms).value();
      if (random.one_in(20)) taken += limiter_.take(limit_.name(), key_name(0)).value().taken;
      if (random.one_in(10)) clock_.advance(100us);
    }
  });
  clock_.advance(1ms);
  const Usage usage = limiter_.usage(limit_.name(), key_name(0)).value();
  EXPECT_EQ(usage.held, 0);
  // A tenth of a second has passed. In that a bucket refills less than a unit, and does not credit it twice.
  EXPECT_NEAR(static_cast<double>(usage.used), static_cast<double>(taken), GetParam() == Kind::kBucket ? 1 : 0);
  EXPECT_TRUE(limiter_.holds(limit_.name(), key_name(0)).value().empty());
}

INSTANTIATE_TEST_SUITE_P(Kind, Conservation,
                         ::testing::Values(Kind::kStock, Kind::kBucket, Kind::kWindow, Kind::kSliding, Kind::kCalendar),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

// Charges over every kind, in different orders: all or nothing holds for each pair of them.
TEST(ConservationOfPairs, EveryLimitSeesTheSame) {
  const ManualClock clock(Instant::from_unix_seconds(1'700'000'000));
  Limiter limiter = open("embedded:", {.clock = &clock}).value();
  const std::string names[] = {"stock", "bucket", "window", "sliding", "calendar"};
  for (const Kind kind : {Kind::kStock, Kind::kBucket, Kind::kWindow, Kind::kSliding, Kind::kCalendar}) {
    limiter.define(limit_of(kind)).value();
  }
  run(kThreads, [&](int, Random& random) {
    for (int i = 0; i < kSteps; ++i) {
      std::vector<Charge> charges;
      const Amount cost = random.amount(9);
      const int first = random.below(5);
      for (int j = 0; j < 5; ++j) charges.push_back({names[(first + j) % 5], "shared", cost});
      if (random.one_in(2)) {
        limiter.take(charges).value();
      } else {
        limiter.give(charges).value();
      }
    }
  });
  const Usage first = limiter.usage("stock", "shared").value();
  EXPECT_LE(first.used, kAmountPerKey);
  for (const std::string& name : names) EXPECT_EQ(limiter.usage(name, "shared").value().used, first.used) << name;
}

}  // namespace
}  // namespace mete::threads
