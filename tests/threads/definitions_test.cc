// Definitions change while operations run: limits come, change and go, keys get other amounts, and everything is
// listed.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "threads/many.h"

namespace mete::threads {
namespace {

using namespace std::chrono_literals;

constexpr int kStepsBeside = 24'000 / kSlowdown;  // of each thread, beside the definitions
constexpr int kKeysInUse = 16;

class Definitions : public ::testing::Test {
 protected:
  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  Limiter limiter_ = open("embedded:", {.clock = &clock_}).value();
};

Limit of_kind(int number, const std::string& name, Amount amount) {
  switch (number % 5) {
    case 0:
      return stock(name).amount(amount);
    case 1:
      return bucket(name).amount(amount).per(24h * 365);
    case 2:
      return window(name).amount(amount).per(24h * 365);
    case 3:
      return sliding(name).amount(amount).per(24h * 365);
    default:
      return calendar(name).amount(amount).per(Unit::kYear);
  }
}

// The clock stands still, so usage changes by what is taken and given alone, whatever becomes of the limit.
TEST_F(Definitions, UsageSurvivesEveryRedefinition) {
  constexpr Amount kPlenty = 1'000'000'000;
  limiter_.define(of_kind(0, "api", kPlenty)).value();
  std::vector<std::atomic<Amount>> balance(kKeysInUse);
  {
    int revision = 0;
    const Meanwhile definer([&] {
      ++revision;
      limiter_.define(of_kind(revision, "api", kPlenty + revision % 7)).value();
    });
    int number = 0;
    const Meanwhile overrider([&] {
      const std::string key = key_name(++number % kKeysInUse);
      limiter_.override_amount("api", key, kPlenty + number % 3).value();
      if (number % 2 == 0) limiter_.clear_override("api", key).value();
    });
    run(kThreads, [&](int, Random& random) {
      for (int i = 0; i < kStepsBeside; ++i) {
        const int key = random.below(kKeysInUse);
        auto& total = balance[static_cast<std::size_t>(key)];
        if (random.one_in(3)) {
          total -= limiter_.give("api", key_name(key), random.amount(5)).value().amount;
        } else if (random.one_in(3)) {
          const HoldDecision hold = limiter_.hold({{"api", key_name(key), 4}}, 1h).value();
          EXPECT_EQ(limiter_.commit(hold.id, 3).value().amount, 3);
          total += 3;
        } else {
          total += limiter_.take("api", key_name(key), random.amount(5)).value().taken;
        }
      }
    });
  }
  for (int key = 0; key < kKeysInUse; ++key) {
    EXPECT_EQ(limiter_.usage("api", key_name(key)).value().used, balance[static_cast<std::size_t>(key)])
        << key_name(key);
  }
}

// A limit that is there or not there: operations are admitted or told so, and never anything else.
TEST_F(Definitions, LimitsComeAndGo) {
  limiter_.define(stock("anchor").amount(kAmountMax)).value();
  std::atomic<int> unexpected{0};
  std::atomic<Amount> anchored{0};
  {
    int number = 0;
    const Meanwhile definer([&] {
      const std::string name = "limit" + std::to_string(++number % 3);
      limiter_.define(of_kind(number, name, 1000)).value();
      limiter_.override_amount(name, key_name(1), 2000).value();
      limiter_.drop("limit" + std::to_string((number + 1) % 3)).value();
    });
    // A listing may meet the meters of a limit that is just going.
    int listed = 0;
    const Meanwhile lister([&] {
      const auto keys = limiter_.top("limit" + std::to_string(++listed % 3), 10);
      if (!keys && keys.error().code != ErrorCode::kNoLimit) ++unexpected;
    });
    run(kThreads, [&](int, Random& random) {
      for (int i = 0; i < kStepsBeside; ++i) {
        const std::string name = "limit" + std::to_string(random.below(3));
        const std::string key = key_name(random.below(kKeysInUse));
        const auto taken = limiter_.take({{"anchor", key, 1}, {name, key, 1}});
        if (taken.has_value() && taken->allowed()) ++anchored;
        if (!taken.has_value() && taken.error().code != ErrorCode::kNoLimit) ++unexpected;
        const auto held = limiter_.hold({{name, key, 1}, {"anchor", key, 1}}, 1h);
        if (!held.has_value() && held.error().code != ErrorCode::kNoLimit) ++unexpected;
        if (!held.has_value() || !held->allowed()) continue;
        const auto settled =
            random.one_in(2) ? limiter_.cancel(held->id) : limiter_.commit(held->id, std::vector<Amount>{1, 0});
        if (!settled) ++unexpected;  // the anchor's part is always there
      }
    });
  }
  EXPECT_EQ(unexpected, 0);
  Amount sum = 0;
  for (int key = 0; key < kKeysInUse; ++key) {
    const Usage usage = limiter_.usage("anchor", key_name(key)).value();
    sum += usage.used;
    EXPECT_EQ(usage.held, 0);
  }
  EXPECT_EQ(sum, anchored);
}

// Redefining between kinds of different sizes moves meters in memory while they are listed: names must stay true.
TEST_F(Definitions, ListingsSeeTrueKeysWhileMetersMove) {
  constexpr int kStaying = 400;
  limiter_.define(stock("api").amount(kAmountMax)).value();
  limiter_.define(stock("other").amount(kAmountMax)).value();
  for (int i = 0; i < kStaying; ++i) limiter_.take("api", key_name(i), i + 1).value();
  std::atomic<int> wrong{0};
  {
    int revision = 0;
    const Meanwhile definer([&] { limiter_.define(of_kind(++revision % 2 == 0 ? 0 : 3, "api", kAmountMax)).value(); });
    run(kThreads, [&](int thread, Random&) {
      for (int i = 0; i < 800 / kSlowdown; ++i) {
        if (thread % 2 == 0) {  // blocks of every size come and go
          for (int j = 0; j < 40; ++j) {
            const std::string key =
                std::string(static_cast<std::size_t>(j % 24), 'x') + std::to_string(thread * 1000 + j);
            limiter_.override_amount("other", key, 5).value();
            limiter_.clear_override("other", key).value();
          }
          continue;
        }
        std::map<std::string, Amount> seen;
        std::uint64_t cursor = 0;
        do {
          const UsagePage page = limiter_.scan("api", cursor, 50).value();
          for (const KeyUsage& key : page.keys) {
            if (!seen.emplace(key.key, key.usage.used).second) ++wrong;
          }
          cursor = page.cursor;
        } while (cursor != 0);
        if (seen.size() != kStaying) ++wrong;
        for (int j = 0; j < kStaying; ++j) {
          const auto found = seen.find(key_name(j));
          if (found == seen.end() || found->second != j + 1) ++wrong;
        }
      }
    });
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(Definitions, TopAndLimitsBesideTraffic) {
  limiter_.define(bucket("api").amount(1000).per(1s)).value();
  std::atomic<int> wrong{0};
  {
    int revision = 0;
    const Meanwhile definer([&] {
      limiter_.define(bucket("api").amount(1000 + revision++ % 2).per(1s)).value();
      limiter_.define(stock("extra" + std::to_string(revision % 100)).amount(1)).value();
      if (!limiter_.find_limit("api").value()) ++wrong;
    });
    const Meanwhile lister([&] {
      const auto top = limiter_.top("api", 5).value();
      for (std::size_t i = 1; i < top.size(); ++i) {
        if (top[i - 1].usage.used + top[i - 1].usage.held < top[i].usage.used + top[i].usage.held) ++wrong;
      }
      if (limiter_.limits().value().empty()) ++wrong;
    });
    run(kThreads, [&](int thread, Random& random) {
      for (int i = 0; i < kStepsBeside; ++i) {
        limiter_.take("api", key_name(random.below(500)), random.amount(10)).value();
        if (thread == 0 && i % 16 == 0) clock_.advance(100us);
      }
    });
  }
  EXPECT_EQ(wrong, 0);
}

// Handles of limits that come, change and go beside them: each answer is one that a name could have been given.
TEST_F(Definitions, HandlesFollowTheirLimits) {
  constexpr Amount kPlenty = 1'000'000'000;
  limiter_.define(of_kind(0, "stays", kPlenty)).value();
  const LimitHandle stays = limiter_.limit("stays");
  const LimitHandle goes = limiter_.limit("goes");
  const MeterHandle meter = limiter_.meter("stays", key_name(0));
  std::atomic<Amount> taken{0};
  std::atomic<int> wrong{0};
  {
    int revision = 0;
    const Meanwhile definer([&] {
      ++revision;
      limiter_.define(of_kind(revision, "stays", kPlenty + revision % 7)).value();
      limiter_.define(of_kind(revision, "goes", 1)).value();
      limiter_.drop("goes").value();
      limiter_.override_amount("stays", key_name(0), kPlenty + revision % 3).value();
      if (revision % 2 == 0) limiter_.clear_override("stays", key_name(0)).value();
    });
    run(kThreads, [&](int, Random& random) {
      for (int i = 0; i < kStepsBeside / 4; ++i) {
        const Amount cost = random.amount(3);
        if (stays.allow(key_name(0), cost)) taken += cost;
        if (meter.take(cost)->allowed()) taken += cost;
        if (meter.allow()) ++taken;
        const auto answer = goes.take(key_name(1), 2);
        if (answer.has_value() ? answer->allowed() : answer.error().code != ErrorCode::kNoLimit) ++wrong;
      }
    });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(limiter_.usage("stays", key_name(0))->used, taken);
}

}  // namespace
}  // namespace mete::threads
