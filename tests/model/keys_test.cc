// Random histories of keys through each store and through the model. METE_SEED replays one.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>

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

KeySubject embedded(const Clock& clock) {
  auto store = std::make_shared<store::EmbeddedStore>(Options{.clock = &clock});
  return [store](const KeyOperation& operation) { return execute(*store, operation); };
}

// Keys in a real Redis or a Cluster, which is empty for each history and goes by its clock.
template <class Server, Server& (*shared)()>
class KeysInRedis {
 public:
  explicit KeysInRedis(const Clock& clock) : clock_(clock) {}

  std::string execute(const KeyOperation& operation) {
    server_.set_time(clock_.now());
    return model::execute(keys_, operation);
  }

 private:
  const Clock& clock_;
  Server& server_ = shared();
  std::unique_ptr<store::redis::Link> link_ = store::redis::open_link(server_.patient_url()).value();
  store::redis::Session session_;
  support::RedisKeysStore keys_{*link_, session_};
};

template <class Server, Server& (*shared)()>
KeySubject in_redis(const Clock& clock) {
  auto keys = std::make_shared<KeysInRedis<Server, shared>>(clock);
  return [keys](const KeyOperation& operation) { return keys->execute(operation); };
}

// Keys in another Mete server over a socket, a new one for each history, on the history's own clock.
class KeysInMete {
 public:
  explicit KeysInMete(const Clock& clock) : server_(std::make_unique<store::EmbeddedStore>(Options{.clock = &clock})) {}

  std::string execute(const KeyOperation& operation) { return model::execute(*store_, operation); }

 private:
  serving::MeteServer server_;
  std::unique_ptr<store::Store> store_ = store::open_store(server_.url(), {}).value();
};

KeySubject in_mete(const Clock& clock) {
  auto keys = std::make_shared<KeysInMete>(clock);
  return [keys](const KeyOperation& operation) { return keys->execute(operation); };
}

KeySubject in_etcd(const Clock& clock) {
  const std::string url = support::shared_etcd().patient_url(support::unused_etcd_path());
  const std::shared_ptr<store::Store> store = store::open_store(url, {.clock = &clock}).value();
  return [store](const KeyOperation& operation) { return execute(*store, operation); };
}

struct KeyStoreCase {
  std::string name;
  KeySubjectFactory factory;
  int slowness = 1;  // so many times fewer histories
  Times times = {};
  int brevity = 1;  // and so many times fewer again, but for the long form

  friend void PrintTo(const KeyStoreCase& store, std::ostream* out) { *out << store.name; }
};

class KeyHistories : public ::testing::TestWithParam<KeyStoreCase> {};

TEST_P(KeyHistories, AnswerAsTheModel) {
  const auto difference = find_key_difference(GetParam().factory, search_for<KeySearch>(GetParam()));
  EXPECT_FALSE(difference.has_value()) << difference.value_or("");
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
    return [subject = embedded(clock), mistake](const KeyOperation& operation) {
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
