// Keys under many threads: what was counted is there, what was consumed fits, and clearing is one step.
#include <gtest/gtest.h>

#include "store/embedded/embedded_store.h"
#include "store/keys.h"
#include "threads/many.h"

namespace mete::threads {
namespace {

using namespace std::chrono_literals;

class KeysOfMany : public ::testing::Test {
 protected:
  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  store::EmbeddedStore store_{{.clock = &clock_}};
  store::Keys keys_ = store_.keys();
};

TEST_F(KeysOfMany, OneCounterCountsThemAll) {
  std::atomic<std::int64_t> sum{0};
  run(kThreads, [&](int, Random& random) {
    for (int i = 0; i < kSteps; ++i) {
      const Amount by = random.amount(9) - 4;
      keys_.add("c", by).value();
      sum += by;
    }
  });
  EXPECT_EQ(keys_.get("c").value(), sum);
}

TEST_F(KeysOfMany, BoundsHoldAndWhatWasAppliedIsTold) {
  std::atomic<std::int64_t> sum{0};
  std::atomic<int> outside{0};
  run(kThreads, [&](int, Random& random) {
    for (int i = 0; i < kSteps; ++i) {
      const auto answer =
          keys_
              .add_bounded(
                  {.key = "c", .by = random.amount(9) - 5, .lower = 0, .upper = 20, .saturate = random.one_in(2)})
              .value();
      sum += answer.applied;
      if (answer.value < 0 || answer.value > 20) ++outside;
    }
  });
  EXPECT_EQ(outside, 0);
  EXPECT_EQ(keys_.get("c").value(), sum);
}

TEST_F(KeysOfMany, AQuotaAndAThrottleAreNeverOverdrawn) {
  constexpr Amount kAmount = 5000;
  std::atomic<Amount> consumed{0};
  std::atomic<Amount> taken{0};
  run(kThreads, [&](int, Random& random) {
    for (int i = 0; i < kSteps / 4; ++i) {
      const Amount units = random.amount(4);
      if (keys_.quota_take("q", {kAmount, 3600s}, units).value() != core::kQuotaDenied) consumed += units;
      const store::ThrottleRequest request{.capacity = kAmount, .count = 1, .period = 1h, .quantity = units};
      taken += keys_.throttle("t", request).value().taken;
    }
  });
  EXPECT_EQ(consumed, kAmount) << "everybody asked until the last unit was gone";
  EXPECT_EQ(keys_.get("q").value(), 0);
  EXPECT_EQ(taken, kAmount);
}

// Rules come and go with the keys; each must live as long as a key refers to it.
TEST_F(KeysOfMany, KeysComeAndGo) {
  run(kThreads, [&](int, Random& random) {
    for (int i = 0; i < kSteps; ++i) {
      const std::string key = key_name(random.below(50));
      switch (random.below(7)) {
        case 0:
          (void)keys_.set(
              {.key = key, .value = 1, .expiry = store::Expiry::in(Duration::from_ns(random.amount(2000)))});
          break;
        case 1:
          (void)keys_.quota_set(key, {random.amount(5), 1s});
          break;
        case 2:
        case 3:
          (void)keys_.throttle(key, {random.amount(5), random.amount(5), 1ms, 1});
          break;
        case 4:
          (void)keys_.remove(key);
          break;
        case 5:
          (void)keys_.add(key, 1);
          break;
        default:
          clock_.advance(Duration::from_ns(random.amount(1000)));
          if (random.one_in(20)) (void)keys_.scan(0, 100);
      }
    }
  });
  for (int i = 0; i < 50; ++i) (void)keys_.remove(key_name(i));
  EXPECT_EQ(keys_.size().value(), 0U);
  EXPECT_EQ(store_.statistics().rules, 0U);
}

// Holds lie in several buckets. Whoever saw a hold half forgotten would stop at a CHECK, or leave its parts behind.
TEST_F(KeysOfMany, ClearIsOneStep) {
  store_.define(stock("credits").amount(kAmountMax)).value();
  run(kThreads, [&](int thread, Random& random) {
    for (int i = 0; i < kSteps / 10; ++i) {
      if (random.one_in(100)) store_.clear().value();
      const std::string a = key_name(random.below(20));
      const std::string b = "other" + a;
      const Charge charges[] = {{"credits", a, 3}, {"credits", b, 3}};
      const std::string id = std::to_string(thread) + ":" + std::to_string(i);
      ASSERT_TRUE(store_.hold({.charges = charges, .ttl = 1h, .id = id, .tag = "tag"}).value().is_allowed);
      const auto settled = random.one_in(2) ? store_.commit({.id = id}) : store_.cancel(id);
      const bool is_cleared = !settled && settled.error().code == ErrorCode::kNoHold;
      ASSERT_TRUE(settled.has_value() || is_cleared);
      if (random.one_in(100)) (void)store_.oldest_holds(5);
      keys_.add(a, 1).value();
    }
  });
  for (int i = 0; i < 20; ++i) {
    const Usage a = store_.usage({"credits", key_name(i)}).value();
    const Usage b = store_.usage({"credits", "other" + key_name(i)}).value();
    EXPECT_EQ(a.used, b.used) << "both charges of a hold were forgotten, or none";
    EXPECT_EQ(a.held, 0);
  }
  EXPECT_EQ(store_.statistics().open_holds, 0U);
  EXPECT_TRUE(store_.holds_tagged("tag").value().empty());
  EXPECT_TRUE(store_.oldest_holds(5).value().empty());
}

}  // namespace
}  // namespace mete::threads
