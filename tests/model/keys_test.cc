// Random histories of keys through each store and through the model. METE_SEED replays one.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <vector>

#include "model/key_history.h"
#include "model/model_keys.h"
#include "model/search.h"
#include "serving/mete_server.h"
#include "store/embedded/embedded_store.h"
#include "store/open.h"
#include "support/etcd_server.h"
#include "support/redis_cluster.h"
#include "support/redis_keys_store.h"
#include "support/redis_server.h"

namespace mete::model {
namespace {

using namespace std::chrono_literals;

// A store, and what makes it go by the history's clock, if it does not by itself.
struct KeyStore {
  std::shared_ptr<store::Store> store;
  std::function<void()> set_time = [] {};
};
using KeyStoreFactory = std::function<KeyStore(const Clock&)>;

KeySubjectFactory subject_of(const KeyStoreFactory& factory) {
  return [factory](const Clock& clock) -> KeySubject {
    return [made = factory(clock)](const KeyOperation& operation) {
      made.set_time();
      return execute(*made.store, operation);
    };
  };
}

KeyStore embedded(const Clock& clock) { return {std::make_shared<store::EmbeddedStore>(Options{.clock = &clock})}; }

// Keys in a real Redis or a Cluster, which is empty for each history and goes by its clock.
template <class Server, Server& (*shared)()>
struct KeysInRedis {
  Server& server = shared();
  std::unique_ptr<store::redis::Link> link = store::redis::open_link(server.patient_url()).value();
  store::redis::Session session;
  support::RedisKeysStore keys{*link, session};
};

template <class Server, Server& (*shared)()>
KeyStore in_redis(const Clock& clock) {
  auto made = std::make_shared<KeysInRedis<Server, shared>>();
  return {{made, &made->keys}, [made, &clock] { made->server.set_time(clock.now()); }};
}

// Keys in another Mete server over a socket, a new one for each history, on the history's own clock.
struct KeysInMete {
  explicit KeysInMete(const Clock& clock) : server(std::make_unique<store::EmbeddedStore>(Options{.clock = &clock})) {}

  serving::MeteServer server;
  std::unique_ptr<store::Store> store = store::open_store(server.url(), {}).value();
};

KeyStore in_mete(const Clock& clock) {
  auto made = std::make_shared<KeysInMete>(clock);
  return {{made, made->store.get()}};
}

KeyStore in_etcd(const Clock& clock) {
  const std::string url = support::shared_etcd().patient_url(support::unused_etcd_path());
  return {store::open_store(url, {.clock = &clock}).value()};
}

struct KeyStoreCase {
  std::string name;
  KeyStoreFactory factory;
  int slowness = 1;  // so many times fewer histories
  Times times = {};
  int brevity = 1;  // and so many times fewer again, but for the long form

  friend void PrintTo(const KeyStoreCase& store, std::ostream* out) { *out << store.name; }
};

class KeyHistories : public ::testing::TestWithParam<KeyStoreCase> {};

TEST_P(KeyHistories, AnswerAsTheModel) {
  const auto difference = find_key_difference(subject_of(GetParam().factory), search_for<KeySearch>(GetParam()));
  EXPECT_FALSE(difference.has_value()) << difference.value_or("");
}

// Steps that meet each other on a few keys, of all types, and some that no store takes.
core::KeyStep random_step(std::mt19937_64& random) {
  static constexpr std::string_view kKeys[] = {"a", "b", "c", "a key that is a little longer than most", "d", "e", ""};
  const auto below = [&](std::uint64_t end) { return static_cast<std::int64_t>(random() % end); };
  const std::string_view key = kKeys[random() % (below(40) == 0 ? std::size(kKeys) : std::size(kKeys) - 1)];
  switch (random() % 8) {
    case 0:
      return core::TakeQuota{key, {1 + below(9), std::chrono::seconds(below(4))}, below(4)};
    case 1:
      return core::Throttle{key, {below(6), 1 + below(3), std::chrono::seconds(1 + below(3)), below(3)}};
    case 2:
    case 3: {
      core::AddBounded add{.key = key, .by = below(9) - 3, .saturate = below(3) == 0};
      if (below(2) == 0) add.lower = below(4) - 2;
      if (below(2) == 0) add.upper = below(30);
      if (below(3) == 0) add.expiry = core::Expiry::in(std::chrono::milliseconds(1 + below(400)));
      add.expiry_only_if_none = below(2) == 0;
      return add;
    }
    default:
      return core::AddToCounter{key, below(30) == 0 ? std::numeric_limits<std::int64_t>::max() : below(9) - 4};
  }
}

Result<core::KeyStepAnswer> rounded_answer(Result<core::KeyStepAnswer> answer, Duration resolution) {
  if (!answer.has_value() || !std::holds_alternative<core::Verdict>(*answer)) return answer;
  return rounded(Result<core::Verdict>(std::get<core::Verdict>(*answer)), resolution);
}

TEST_P(KeyHistories, TogetherTheyAreAnsweredAsAlone) {
  constexpr int kRounds = 300;
  const Duration resolution = GetParam().times.resolution;
  ManualClock clock(Instant::from_unix_seconds(1'700'000'000));
  const KeyStore together = GetParam().factory(clock);
  store::EmbeddedStore alone({.clock = &clock});
  std::mt19937_64 random(3);
  int refused = 0;
  for (int round = 0; round < kRounds / GetParam().brevity; ++round) {
    std::vector<core::KeyStep> steps;
    for (auto count = random() % 70; count > 0; --count) steps.push_back(random_step(random));
    std::vector<Result<core::KeyStepAnswer>> answers(steps.size());
    together.set_time();
    ASSERT_TRUE(together.store->run(core::KeysEach{steps, answers}).has_value());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto by_itself = [&](const auto& step) -> Result<core::KeyStepAnswer> { return alone.run(step); };
      const auto expected = rounded_answer(std::visit(by_itself, steps[i]), resolution);
      const auto actual = rounded_answer(answers[i], resolution);
      ASSERT_EQ(actual.has_value(), expected.has_value()) << "round " << round << ", step " << i;
      if (expected.has_value()) {
        ASSERT_EQ(*actual, *expected) << "round " << round << ", step " << i << ", kind " << steps[i].index();
      } else {
        ASSERT_EQ(actual.error(), expected.error());
        ++refused;
      }
    }
    clock.advance(std::chrono::microseconds(random() % 300'000));
  }
  EXPECT_GT(refused, 50);
}

constexpr int kSlownessOfRedis = 16;  // 10,000 operations; 500,000 in the long form

KeyStoreCase keys_in_redis() {
  return {"redis", in_redis<support::RedisServer, support::shared_redis>, kSlownessOfRedis, kMicroseconds};
}
KeyStoreCase keys_in_cluster() {
  return {"redis_cluster", in_redis<support::RedisCluster, support::shared_cluster_on_time>, kSlownessOfRedis,
          kMicroseconds};
}

// The very histories that Redis gets.
KeyStoreCase embedded_as_redis() { return {"embedded_as_redis", embedded, kSlownessOfRedis, kMicroseconds}; }

INSTANTIATE_TEST_SUITE_P(Stores, KeyHistories,
                         ::testing::Values(KeyStoreCase{"embedded", embedded}, embedded_as_redis(), keys_in_redis(),
                                           keys_in_cluster(),
                                           KeyStoreCase{"etcd", in_etcd, kSlownessOfRedis, {}, kBrevityOfEtcd},
                                           KeyStoreCase{"mete", in_mete, kSlownessOfMete}),
                         [](const auto& store) { return store.param.name; });

// The comparison itself: the store with a mistake in what it is asked.
KeySubjectFactory mistaken_keys(const std::function<void(KeyOperation&)>& mistake) {
  return [mistake](const Clock& clock) -> KeySubject {
    return [subject = subject_of(embedded)(clock), mistake](const KeyOperation& operation) {
      KeyOperation changed = operation;
      mistake(changed);
      return subject(changed);
    };
  };
}

TEST(KeyComparison, FindsSmallMistakes) {
  const std::function<void(KeyOperation&)> mistakes[] = {
      [](KeyOperation& operation) { operation.expiry.length = operation.expiry.length + Duration(1ns); },
      [](KeyOperation& operation) { operation.throttle.period = operation.throttle.period + Duration(1ns); },
      [](KeyOperation& operation) { operation.set.wants_old = false; },
      [](KeyOperation& operation) { operation.bounded.expiry_only_if_none = false; },
      [](KeyOperation& operation) {
        if (operation.call == KeyCall::kQuotaSet) operation.call = KeyCall::kQuotaGet;
      },
  };
  for (const auto& mistake : mistakes) {
    const auto report = find_key_difference(mistaken_keys(mistake), {.seed = 1, .histories = 200});
    ASSERT_TRUE(report.has_value());
    EXPECT_LE(std::count(report->begin(), report->end(), '\n'), 10) << *report;
  }
}

// A store at its memory ceiling, with room for a few entries of each size: an operation may be refused if it needs a
// new key, and then has changed nothing. What exists goes on working.
TEST(KeyHistoriesAtTheCeiling, AnswerAsTheModel) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const KeyHistory history = random_key_history(seed, 3000);
    ManualClock clock(history.front().at);
    store::EmbeddedStore store({.clock = &clock, .max_memory = std::size_t{1} << 20});
    store::Keys keys = store.keys();
    ModelKeys model(clock);
    // Entries of the sizes that the history needs, on which it has no effect.
    const auto filler = [](int number) {
      return "f" + std::string(1, static_cast<char>(number >> 8)) + static_cast<char>(number);
    };
    int quotas = 0;
    for (; quotas < 1000; ++quotas) keys.quota_set("q" + filler(quotas), {1, 1s}).value();
    int counters = 0;
    while (keys.set({.key = filler(counters), .value = 1})) ++counters;
    while (keys.quota_set("q" + filler(quotas), {1, 1s})) ++quotas;
    ASSERT_GT(counters, 100);
    ASSERT_GT(quotas, 2);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(keys.remove(filler(i)).value());
      EXPECT_TRUE(keys.remove("q" + filler(i)).value());
    }
    int refused = 0;
    int done = 0;
    for (const KeyOperation& operation : history) {
      if (operation.call == KeyCall::kList) continue;  // the fillers would be listed too
      set_clock(clock, operation.at,
                [&](const KeyOperation& look) { (void)(execute(model, look) + execute(store, look)); });
      const std::string actual = execute(store, operation);
      if (actual == "error OOM") {
        ASSERT_EQ(model.keys().type(operation.key).value(), store::KeyType::kNone) << to_text(operation);
        ASSERT_EQ(keys.type(operation.key).value(), store::KeyType::kNone) << to_text(operation);
        ++refused;
        continue;
      }
      ASSERT_EQ(actual, execute(model, operation)) << to_text(operation);
      ++done;
    }
    EXPECT_GT(refused, 20);
    EXPECT_GT(done, 1000);
  }
}

}  // namespace
}  // namespace mete::model
