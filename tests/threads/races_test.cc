// Races for one thing: an id, the end of a hold, the last units of a stock. Exactly one wins.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "threads/many.h"

namespace mete::threads {
namespace {

using namespace std::chrono_literals;

constexpr int kRounds = 8000 / kSlowdown;

class Races : public ::testing::Test {
 protected:
  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  Limiter limiter_ = open("embedded:", {.clock = &clock_}).value();
};

TEST_F(Races, OneIdIsOneCharge) {
  limiter_.define(stock("credits").amount(kAmountMax)).value();
  std::vector<std::vector<Decision>> answers(kThreads);
  run(kThreads, [&](int thread, Random&) {
    for (int i = 0; i < kRounds; ++i) {
      const std::string id = "id:" + std::to_string(i);
      answers[static_cast<std::size_t>(thread)].push_back(limiter_.take({{"credits", "a", 3}}, {.id = id}).value());
    }
  });
  EXPECT_EQ(limiter_.usage("credits", "a").value().used, 3 * kRounds);
  for (const auto& of_thread : answers) EXPECT_EQ(of_thread, answers[0]);
}

TEST_F(Races, OneIdIsOneHold) {
  limiter_.define(stock("credits").amount(kAmountMax)).value();
  std::vector<std::vector<HoldDecision>> answers(kThreads);
  run(kThreads, [&](int thread, Random&) {
    for (int i = 0; i < kRounds; ++i) {
      const std::string id = "id:" + std::to_string(i);
      answers[static_cast<std::size_t>(thread)].push_back(
          limiter_.hold({{"credits", "a", 3}}, 1h, {.id = id, .tag = "tag"}).value());
    }
  });
  EXPECT_EQ(limiter_.usage("credits", "a").value().held, 3 * kRounds);
  EXPECT_EQ(limiter_.holds_tagged("tag").value().size(), static_cast<std::size_t>(kRounds));
  for (const auto& of_thread : answers) EXPECT_EQ(of_thread, answers[0]);
}

TEST_F(Races, AnIdBelongsToOneOperation) {
  limiter_.define(stock("credits").amount(kAmountMax)).value();
  limiter_.take("credits", "a", 1'000'000).value();
  std::atomic<Amount> balance{1'000'000};
  std::atomic<int> winners{0};
  run(kThreads, [&](int thread, Random&) {
    for (int i = 0; i < kRounds; ++i) {
      const std::string id = "id:" + std::to_string(i);
      const Amount cost = 1 + thread;
      if (thread % 2 == 0) {
        const auto taken = limiter_.take({{"credits", "a", cost}}, {.id = id});
        if (taken.has_value()) balance += cost;
        winners += taken.has_value() ? 1 : 0;
      } else {
        const auto given = limiter_.give({{"credits", "a", cost}}, id);
        if (given) balance -= cost;
        winners += given ? 1 : 0;
      }
    }
  });
  EXPECT_EQ(winners, kRounds) << "all others are told of the mismatch";
  EXPECT_EQ(limiter_.usage("credits", "a").value().used, balance);
}

TEST_F(Races, AHoldEndsOnce) {
  limiter_.define(stock("credits").amount(kAmountMax)).value();
  std::vector<std::string> ids;
  for (int i = 0; i < kRounds; ++i) ids.push_back(limiter_.hold({{"credits", "a", 5}}, 1h, {.tag = "tag"}).value().id);
  std::array<std::array<std::atomic<bool>, kRounds>, 2> ended{};  // by a commit, by a cancel
  std::atomic<int> unexpected{0};
  run(kThreads, [&](int thread, Random& random) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::string& id = ids[i];
      if (random.one_in(3)) (void)limiter_.extend(id, 1h);
      const auto settled = thread % 2 == 0 ? limiter_.commit(id, 4) : limiter_.cancel(id);
      if (settled) {
        ended.at(static_cast<std::size_t>(thread % 2)).at(i) = true;  // all who do the same are told the same
        if (settled->amount != (thread % 2 == 0 ? 4 : 5)) ++unexpected;
      } else if (settled.error().code != ErrorCode::kNoHold) {
        ++unexpected;
      }
    }
  });
  int committed = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    committed += ended[0].at(i) ? 1 : 0;
    EXPECT_NE(ended[0].at(i), ended[1].at(i)) << "final once";
  }
  EXPECT_EQ(unexpected, 0);
  const Usage usage = limiter_.usage("credits", "a").value();
  EXPECT_EQ(usage.used, 4 * committed);
  EXPECT_EQ(usage.held, 0);
  EXPECT_TRUE(limiter_.holds_tagged("tag").value().empty());
}

TEST_F(Races, AHoldEndsOrExpires) {
  limiter_.define(stock("credits").amount(kAmountMax)).value();
  std::vector<std::string> ids;
  for (int i = 1; i <= kRounds; ++i) {
    ids.push_back(limiter_.hold({{"credits", "a", 5}}, Duration::from_ns(i * 1000LL)).value().id);
  }
  std::atomic<int> committed{0};
  std::atomic<int> refused{0};
  run(kThreads, [&](int thread, Random& random) {
    for (auto i = static_cast<std::size_t>(thread); i < ids.size(); i += kThreads) {
      if (random.one_in(2)) clock_.advance(250ns);
      const auto settled = limiter_.commit(ids[ids.size() - 1 - i]);
      ++(settled ? committed : refused);
    }
  });
  clock_.advance(1s);
  EXPECT_EQ(committed + refused, kRounds);
  EXPECT_GT(committed, 0);
  EXPECT_EQ(limiter_.usage("credits", "a").value().used, 5 * committed);
}

// Linearizability of one stock meter: every admitted unit saw another remaining value, and none is missing.
TEST_F(Races, EveryUnitIsAdmittedOnceAndInOrder) {
  constexpr Amount kUnits = 400'000 / kSlowdown;
  limiter_.define(stock("credits").amount(kUnits)).value();
  std::vector<std::vector<Amount>> seen(kThreads);
  run(kThreads, [&](int thread, Random&) {
    for (;;) {
      const Decision decision = limiter_.take("credits", "a").value();
      if (!decision.allowed()) return;
      seen[static_cast<std::size_t>(thread)].push_back(decision.remaining);
    }
  });
  std::vector<Amount> all;
  for (const auto& of_thread : seen) {
    EXPECT_TRUE(std::is_sorted(of_thread.rbegin(), of_thread.rend())) << "a thread saw time run backwards";
    all.insert(all.end(), of_thread.begin(), of_thread.end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kUnits));
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<Amount>(i));
}

}  // namespace
}  // namespace mete::threads
