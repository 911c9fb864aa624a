// Random histories through each store and through the model. METE_SEED replays one; METE_TEST_LONG=1 runs many more.
#include "model/history.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <random>

#include "model/never_laxer.h"
#include "model/search.h"
#include "serving/escrow_node.h"
#include "serving/mete_server.h"
#include "store/embedded/embedded_store.h"
#include "support/etcd_server.h"
#include "support/postgres_server.h"
#include "support/redis_cluster.h"
#include "support/redis_server.h"
#include "support/simulated_disk.h"

namespace mete::model {
namespace {

struct StoreCase {
  std::string name;
  LimiterFactory factory;
  Between between = {};
  int slowness = 1;  // so many times fewer histories
  Times times = {};
  int brevity = 1;             // and so many times fewer again, but for the long form
  Scope scope = Scope::kNode;  // of all limits
  bool may_be_stricter = false;

  friend void PrintTo(const StoreCase& store, std::ostream* out) { *out << store.name; }
};

// So seldom must a store that may be stricter than the model be so.
constexpr int kStricterOneIn = 20;

class Histories : public ::testing::TestWithParam<StoreCase> {};

TEST_P(Histories, AnswerAsTheModel) {
  const auto subject = subject_of(GetParam().factory, GetParam().between, GetParam().scope);
  const auto search = search_for<Search>(GetParam());
  NeverLaxer never_laxer;
  const auto difference = GetParam().may_be_stricter ? find_difference(subject, search, std::ref(never_laxer))
                                                     : find_difference(subject, search);
  EXPECT_FALSE(difference.has_value()) << difference.value_or("");
  EXPECT_LE(never_laxer.stricter() * kStricterOneIn, never_laxer.admissions());
}

// A store on a disk, which is closed and opened again every few operations, and sometimes writes a snapshot. Nothing
// may be lost by that, and nothing come back.
class Restarts {
 public:
  Limiter begin(const Clock& clock) {
    clock_ = &clock;
    disk_ = std::make_unique<support::SimulatedDisk>();
    random_.seed(1);
    return open_again();
  }

  void happen(Limiter& limiter) {
    constexpr unsigned kEvery = 3;
    if (random_() % kEvery != 0) return;
    if (random_() % kEvery == 0) {
      EXPECT_TRUE(store_->persistence()->save().has_value());
    }
    limiter = open("embedded:").value();  // the directory is for one at a time
    limiter = open_again();
  }

 private:
  Limiter open_again() {
    auto opened = store::EmbeddedStore::open({.directory = "data", .files = disk_.get(), .has_threads = false},
                                             {.clock = clock_});
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    store_ = opened->get();
    return Limiter(std::move(*opened));
  }

  const Clock* clock_ = nullptr;
  std::unique_ptr<support::SimulatedDisk> disk_;
  std::minstd_rand random_;
  store::Store* store_ = nullptr;
};

StoreCase restarted() {
  const auto restarts = std::make_shared<Restarts>();
  return {"restarted", [restarts](const Clock& clock) { return restarts->begin(clock); },
          [restarts](Limiter& limiter) { restarts->happen(limiter); }, 8};
}

Limiter open_embedded(const Clock& clock) { return open("embedded:", {.clock = &clock}).value(); }

// A real server, empty for each history. Before each operation its clock is set to that of the history.
template <class Server, Server& (*shared)()>
class OnTime {
 public:
  Limiter begin(const Clock& clock) {
    clock_ = &clock;
    server_ = &shared();
    server_->set_time(clock.now());
    return open(server_->patient_url(), {.clock_step_max = {}}).value();
  }
  // A limiter can only hold on to a time that it has seen, and not every call asks the server for it: before the clock
  // is set back, one does.
  void tell_time(Limiter& limiter) {
    if (clock_->now() < server_->time()) (void)limiter.find_hold("nobody's");
    server_->set_time(clock_->now());
  }

 private:
  const Clock* clock_ = nullptr;
  Server* server_ = nullptr;
};

constexpr int kSlownessOfServers = 16;  // 7,500 operations; 375,000 in the long form
constexpr int kBrevityOfPostgres = 4;

template <class Server, Server& (*shared)()>
StoreCase on_time(std::string name, int brevity = 1, const Times& times = kMicroseconds) {
  const auto on_time = std::make_shared<OnTime<Server, shared>>();
  return {std::move(name),
          [on_time](const Clock& clock) { return on_time->begin(clock); },
          [on_time](Limiter& limiter) { on_time->tell_time(limiter); },
          kSlownessOfServers,
          times,
          brevity};
}

StoreCase redis() { return on_time<support::RedisServer, support::shared_redis>("redis"); }
StoreCase redis_cluster() {
  return on_time<support::RedisCluster, support::shared_cluster_on_time>("redis_cluster", 1, kOfCluster);
}
StoreCase postgres() {
  return on_time<support::PostgresServer, support::shared_postgres>("postgres", kBrevityOfPostgres);
}

// Another Mete server over a socket, a new one for each history. It outlives the history, and so has a clock of its
// own.
class OtherMete {
 public:
  Limiter begin(const Clock& clock) {
    of_history_ = &clock;
    server_.reset();
    tell_time();
    server_.emplace(std::make_unique<store::EmbeddedStore>(Options{.clock = &clock_}));
    return open(server_->url()).value();
  }
  void tell_time() { clock_.set(of_history_->now()); }

 private:
  const Clock* of_history_ = nullptr;
  ManualClock clock_{Instant()};
  std::optional<serving::MeteServer> server_;
};

StoreCase mete_server() {
  const auto other = std::make_shared<OtherMete>();
  return {"mete", [other](const Clock& clock) { return other->begin(clock); },
          [other](Limiter& /*limiter*/) { other->tell_time(); }, kSlownessOfMete};
}

// The only node of a cluster, another one for each history, on clocks of its own.
class OneNode {
 public:
  Limiter begin(const Clock& clock) {
    of_history_ = &clock;
    node_.emplace(clock.now());
    return Limiter(node_->open());
  }
  void tell_time() { node_->set_time(of_history_->now()); }

 private:
  const Clock* of_history_ = nullptr;
  std::optional<serving::EscrowNode> node_;
};

StoreCase on_a_node(std::string name, Scope scope) {
  const auto node = std::make_shared<OneNode>();
  return {std::move(name),
          [node](const Clock& clock) { return node->begin(clock); },
          [node](Limiter& /*limiter*/) { node->tell_time(); },
          kSlownessOfServers,
          {},
          1,
          scope,
          scope == Scope::kEscrow};
}

// etcd has no clock: the store's is that of the history.
StoreCase etcd() {
  return {"etcd",
          [](const Clock& clock) {
            const std::string path = support::unused_etcd_path();
            return open(support::shared_etcd().patient_url(path), {.clock = &clock}).value();
          },
          {},
          kSlownessOfServers,
          {},
          kBrevityOfEtcd};
}

// The very histories that servers get: so these stores and the model agree on every answer, four ways.
StoreCase embedded_as_servers() {
  return {"embedded_as_servers", open_embedded, {}, kSlownessOfServers, kMicroseconds};
}

INSTANTIATE_TEST_SUITE_P(Stores, Histories,
                         ::testing::Values(StoreCase{"embedded", open_embedded}, restarted(), embedded_as_servers(),
                                           redis(), redis_cluster(), postgres(), etcd(), mete_server(),
                                           on_a_node("escrow_node", Scope::kNode), on_a_node("escrow", Scope::kEscrow)),
                         [](const auto& store) { return store.param.name; });

}  // namespace
}  // namespace mete::model
