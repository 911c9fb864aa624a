// Takes that arrive together are answered as if each had come alone.
#include <gtest/gtest.h>

#include <random>

#include "store/embedded/embedded_store.h"

namespace mete::store {
namespace {

using namespace std::chrono_literals;

struct FilledStore {
  FilledStore() {
    store.define(bucket("bucket").amount(10).per(1s).burst(20)).value();
    store.define(window("window").amount(7).per(1s)).value();
    store.define(sliding("sliding").amount(7).per(1s)).value();
    store.define(calendar("calendar").amount(1000).per(Unit::kDay)).value();
    store.define(stock("stock").amount(50)).value();
    store.define(stock("shadow").amount(5).shadow()).value();
    store.set_override({"stock", "key 1"}, 9).value();
    const Charge held{"stock", "key 2", 5};
    store.hold({.charges = {&held, 1}, .ttl = 2s, .id = "hold"}).value();
  }

  ManualClock clock{Instant::from_unix_seconds(1'700'000'000)};
  EmbeddedStore store{{.clock = &clock}};
};

// Keys and costs that meet each other within a batch, limits that do not exist, and what no store takes.
std::vector<Charge> random_charges(std::mt19937_64& random, std::size_t count) {
  static const std::string kTooLong(kKeyBytesMax + 1, 'k');
  static constexpr std::string_view kLimits[] = {"bucket",   "window", "sliding", "stock",
                                                 "calendar", "shadow", "nobody"};
  static const std::string_view kKeys[] = {"key 1", "key 2", "a key that is a little longer than most", "", kTooLong};
  std::vector<Charge> charges;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_odd = random() % 50 == 0;
    charges.push_back({kLimits[random() % std::size(kLimits)], kKeys[random() % (is_odd ? std::size(kKeys) : 3)],
                       is_odd ? static_cast<Amount>(random() % 3) - 1 : static_cast<Amount>(random() % 4)});
  }
  return charges;
}

TEST(TakeEach, AnswersAsTakeDoesOneByOne) {
  FilledStore together;
  FilledStore alone;
  std::mt19937_64 random(7);
  std::size_t allowed = 0;
  std::size_t denied = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 500; ++round) {
    const std::vector<Charge> charges = random_charges(random, random() % 70);
    std::vector<Result<core::Verdict>> answers(charges.size());
    together.store.take_each(charges, answers);
    for (std::size_t i = 0; i < charges.size(); ++i) {
      const auto expected = alone.store.take({.charges = {&charges[i], 1}});
      ASSERT_EQ(answers[i], expected) << "round " << round << ", charge " << i;
      ++(!expected.has_value() ? refused : expected->is_allowed ? allowed : denied);
    }
    const auto step = Duration::from_ns(static_cast<std::int64_t>(random() % 100'000'000));
    together.clock.advance(step);
    alone.clock.advance(step);
  }
  EXPECT_GT(allowed, 500U);
  EXPECT_GT(denied, 500U);
  EXPECT_GT(refused, 500U);
}

TEST(TakeEach, AnswersNothingToNothing) {
  FilledStore filled;
  filled.store.take_each({}, {});
  EXPECT_EQ(filled.store.statistics().meters, 1U);
}

}  // namespace
}  // namespace mete::store
