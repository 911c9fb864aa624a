// The table grows and shrinks under traffic, with a sweep beside it: nothing gets lost, and nothing stays behind.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "support/long_form.h"
#include "threads/many.h"

namespace mete::threads {
namespace {

using namespace std::chrono_literals;

constexpr int kKeysEach = 56'000 / kSlowdown;  // one thread's alone make the table grow

class Growth : public ::testing::Test {
 protected:
  [[nodiscard]] Instant now() const { return clock_.now(); }

  Amount take(std::string_view limit, const std::string& key, Amount cost) {
    const Charge charge{limit, key, cost};
    return engine_.take({.charges = {&charge, 1}}, now()).value().taken;
  }
  Amount give(std::string_view limit, const std::string& key, Amount cost) {
    const Charge charge{limit, key, cost};
    return engine_.give({&charge, 1}, {}, now()).value().amount;
  }
  void sweep_all() {
    for (std::size_t rounds = 0; rounds < 3; ++rounds) engine_.sweep(engine_.buckets(), now());
  }

  ManualClock clock_{Instant::from_unix_seconds(1'700'000'000)};
  engine::Engine engine_{{.seed = 42}};
};

TEST_F(Growth, KeysAreFoundWhileTheTableGrowsAndShrinks) {
  engine_.define(stock("storage").amount(1000), now()).value();
  const std::size_t buckets = engine_.buckets();
  std::atomic<int> wrong{0};
  std::atomic<int> grown{0};
  {
    const Meanwhile sweeper([this] { engine_.sweep(64, now()); });
    run(kThreads, [&](int thread, Random&) {
      const std::string prefix = std::to_string(thread) + ":";
      for (int i = 0; i < kKeysEach; ++i) take("storage", prefix + std::to_string(i), i % 50 + 1);
      if (engine_.buckets() > buckets) ++grown;  // this thread's keys are all there
      for (int i = 0; i < kKeysEach; ++i) {
        if (give("storage", prefix + std::to_string(i), 1000) != i % 50 + 1) ++wrong;
        if (i >= 100 && take("storage", prefix + std::to_string(i - 100), 1) != 1) ++wrong;
        if (i >= 100 && give("storage", prefix + std::to_string(i - 100), 1) != 1) ++wrong;
      }
    });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(grown, 0);
  sweep_all();
  EXPECT_EQ(engine_.statistics().meters, 0U);
  EXPECT_LT(engine_.statistics().memory_bytes, std::size_t{4} << 20);
}

TEST_F(Growth, SeveralChargesAtOnceWhileTheTableGrows) {
  engine_.define(stock("storage").amount(kAmountMax), now()).value();
  std::atomic<Amount> shared{0};
  {
    const Meanwhile sweeper([this] { engine_.sweep(64, now()); });
    run(kThreads, [&](int thread, Random& random) {
      for (int i = 0; i < kKeysEach / 2; ++i) {
        const std::string own = std::to_string(thread) + ":" + std::to_string(i);
        const std::string first = key_name(random.below(4));
        const std::string second = key_name(random.below(4));
        const Charge charges[] = {{"storage", first, 1}, {"storage", own, 1}, {"storage", second, 1}};
        const std::string id = random.one_in(4) ? "id" + own : "";
        if (engine_.take({.charges = charges, .id = id}, now()).value().is_allowed) shared += 2;
      }
    });
  }
  Amount sum = 0;
  for (int i = 0; i < 4; ++i) sum += engine_.usage({"storage", key_name(i), 0}, now()).value().used;
  EXPECT_EQ(sum, shared);
  EXPECT_EQ(engine_.statistics().meters, static_cast<std::size_t>(kThreads * (kKeysEach / 2) + 4));
}

TEST_F(Growth, ScansMeetWhatStaysWhileOthersComeAndGo) {
  constexpr int kStaying = 2000 / kSlowdown;
  engine_.define(stock("storage").amount(1000), now()).value();
  for (int i = 0; i < kStaying; ++i) take("storage", key_name(i), 7);
  std::atomic<int> wrong{0};
  {
    const Meanwhile sweeper([this] { engine_.sweep(64, now()); });
    const Meanwhile scanner([&] {
      std::vector<int> met(kStaying);
      std::uint64_t cursor = 0;
      do {
        const UsagePage page = engine_.scan("storage", cursor, 100, now()).value();
        for (const KeyUsage& key : page.keys) {
          if (key.key.starts_with("key:")) ++met[static_cast<std::size_t>(std::stoi(key.key.substr(4)))];
        }
        cursor = page.cursor;
      } while (cursor != 0);
      for (const int times : met) wrong += times == 1 ? 0 : 1;
    });
    run(4, [&](int thread, Random&) {
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < kKeysEach / 3; ++i) take("storage", std::to_string(thread) + ":" + std::to_string(i), 1);
        for (int i = 0; i < kKeysEach / 3; ++i) give("storage", std::to_string(thread) + ":" + std::to_string(i), 1);
      }
    });
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(Growth, HoldsExpireUnderTheSweep) {
  engine_.define(stock("credits").amount(1000), now()).value();
  std::atomic<std::size_t> made{0};
  {
    const Meanwhile sweeper([this] {
      clock_.advance(10us);
      engine_.sweep(64, now());
    });
    run(kThreads, [&](int thread, Random& random) {
      for (int i = 0; i < kKeysEach / 4; ++i) {
        const std::string key = key_name(random.below(1000));
        const std::string id = std::to_string(thread) + ":" + std::to_string(i);
        const Charge charge{"credits", key, random.amount(5)};
        const bool is_allowed =
            engine_.hold({.charges = {&charge, 1}, .ttl = 50us, .id = id, .tag = "tag"}, now()).value().is_allowed;
        made += is_allowed ? 1 : 0;
        if (random.one_in(4)) (void)engine_.extend(id, 100us, now());
      }
    });
  }
  clock_.advance(1s);
  sweep_all();
  const engine::Statistics after = engine_.statistics();
  EXPECT_GT(made, 0U);
  EXPECT_EQ(after.open_holds, 0U);
  EXPECT_EQ(after.expired_holds, made);
  EXPECT_EQ(after.meters, 0U);
  clock_.advance(25h);
  sweep_all();
  EXPECT_EQ(engine_.statistics().ids, 0U);
}

TEST_F(Growth, AMemoryCeilingHoldsUnderPressure) {
  constexpr std::size_t kCeiling = std::size_t{1} << 20;  // some 17,000 keys
  // Each refusal looks through a thousand buckets first, so it is the refusals that take the time.
  const int keys_each = support::is_long_form() ? kKeysEach : 4'000;
  engine::Engine engine({.seed = 42, .max_memory = kCeiling});
  engine.define(bucket("api").amount(10).per(1s), now()).value();
  std::atomic<int> refused{0};
  std::atomic<int> admitted{0};
  std::atomic<int> wrong{0};
  const Charge existing{"api", "existing", 1};
  engine.take({.charges = {&existing, 1}, .mode = Mode::kForce}, now()).value();
  run(kThreads, [&](int thread, Random&) {
    for (int i = 0; i < keys_each; ++i) {
      const std::string key = std::to_string(thread) + ":" + std::to_string(i);
      const Charge charge{"api", key, 1};
      const auto verdict = engine.take({.charges = {&charge, 1}}, now());
      ++(verdict.has_value() ? admitted : refused);
      if (!verdict.has_value() && verdict.error().code != ErrorCode::kOutOfMemory) ++wrong;
      if (!engine.take({.charges = {&existing, 1}, .mode = Mode::kForce}, now()).has_value()) ++wrong;
      if (thread == 0 && i % 8 == 0) clock_.advance(1ms);
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(admitted, 0);
  EXPECT_LT(engine.statistics().meters, static_cast<std::size_t>(kThreads * keys_each)) << "there was no pressure";
  // A little above: buckets' overflow of what was let in.
  EXPECT_LE(engine.statistics().memory_bytes, kCeiling + (std::size_t{256} << 10));
}

}  // namespace
}  // namespace mete::threads
