// The stores that the suite runs against: one row each.
#include <memory>
#include <optional>

#include "conformance/fixture.h"
#include "serving/escrow_node.h"
#include "serving/mete_server.h"
#include "store/embedded/embedded_store.h"
#include "store/open.h"
#include "support/etcd_server.h"
#include "support/postgres_server.h"
#include "support/redis_cluster.h"
#include "support/redis_server.h"
#include "support/simulated_disk.h"

namespace mete::conformance {

namespace {

using namespace std::chrono_literals;

struct Opened {
  explicit Opened(std::unique_ptr<store::Store> opened) : store(opened.get()), limiter(std::move(opened)) {}

  store::Store* store;
  Limiter limiter;
};

Opened open_by(std::string_view url, const Options& options = {}) {
  return Opened(store::open_store(url, options).value());
}

class EmbeddedWorld final : public World {
 public:
  Limiter& limiter() override { return opened_.limiter; }
  store::Store& store() override { return *opened_.store; }
  Instant now() override { return clock_.now(); }
  void advance(Duration step) override { clock_.advance(step); }
  void travel_to(Instant at) override {
    // Time never runs backwards within one store, so a new one is opened.
    clock_.set(at);
    opened_ = open_by("embedded:", {.clock = &clock_});
  }
  bool set_clock_back(Duration step) override {
    clock_.set(clock_.now() + Duration::from_ns(-step.ns()));
    return true;
  }
  [[nodiscard]] Duration clock_resolution() const override { return 1ns; }

 private:
  // Far from the start of any window: tests that want one go there.
  ManualClock clock_{Instant::from_ns(1'700'000'123'456'789'012)};
  Opened opened_ = open_by("embedded:", {.clock = &clock_});
};

// With files behind it. When time passes it is closed and opened again, if that has not happened very often yet:
// nothing may be lost or come back by that.
class DurableWorld final : public World {
 public:
  Limiter& limiter() override { return opened_->limiter; }
  store::Store& store() override { return *opened_->store; }
  Instant now() override { return clock_.now(); }
  void advance(Duration step) override {
    clock_.advance(step);
    constexpr int kEvery = 20;
    ++advances_;
    if (advances_ <= kEvery || advances_ % kEvery == 0) reopen();
  }
  void travel_to(Instant at) override {
    clock_.set(at);
    opened_.reset();
    disk_ = std::make_unique<support::SimulatedDisk>();
    reopen();
  }
  bool set_clock_back(Duration step) override {
    clock_.set(clock_.now() + Duration::from_ns(-step.ns()));
    reopen();
    return true;
  }
  [[nodiscard]] Duration clock_resolution() const override { return 1ns; }

 private:
  std::optional<Opened> open_again() {
    opened_.reset();  // one at a time
    auto opened = store::EmbeddedStore::open({.directory = "data", .files = disk_.get()}, {.clock = &clock_});
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return Opened(std::move(opened).value());
  }
  void reopen() { opened_ = open_again(); }

  ManualClock clock_{Instant::from_ns(1'700'000'123'456'789'012)};
  int advances_ = 0;
  std::unique_ptr<support::SimulatedDisk> disk_ = std::make_unique<support::SimulatedDisk>();
  std::optional<Opened> opened_ = open_again();
};

// The test's clock may step as it likes.
const Options kOnAnyTime{.clock_step_max = {}};

// A real server whose time is what the test says. It is one for all tests, and empty for each.
template <class Server, Server& (*shared)()>
class ServerWorld final : public World {
 public:
  Limiter& limiter() override { return opened_.limiter; }
  store::Store& store() override { return *opened_.store; }
  Instant now() override { return server_.time(); }
  void advance(Duration step) override {
    const std::int64_t us = step.ns() / kMicrosecond.ns() + (step.ns() % kMicrosecond.ns() == 0 ? 0 : 1);
    server_.set_time(now() + Duration::from_ns(us * kMicrosecond.ns()));
  }
  void travel_to(Instant at) override {
    opened_ = open_by("embedded:");  // nobody is there while its data goes
    shared().set_time(at);
    opened_ = open_by(server_.patient_url(), kOnAnyTime);
  }
  bool set_clock_back(Duration step) override {
    server_.set_time(now() + Duration::from_ns(-step.ns()));
    return true;
  }
  [[nodiscard]] Duration clock_resolution() const override { return kMicrosecond; }

 private:
  static constexpr Duration kMicrosecond = 1us;

  Server& server_ = shared();
  Opened opened_ = open_by(server_.patient_url(), kOnAnyTime);
};

// A real server, one for all tests; each has keys of its own. It has no clock: the store's is the test's.
class EtcdWorld final : public World {
 public:
  Limiter& limiter() override { return opened_.limiter; }
  store::Store& store() override { return *opened_.store; }
  Instant now() override { return clock_.now(); }
  void advance(Duration step) override { clock_.advance(step); }
  void travel_to(Instant at) override {
    clock_.set(at);
    opened_ = open_anew();
  }
  bool set_clock_back(Duration step) override {
    clock_.set(clock_.now() + Duration::from_ns(-step.ns()));
    return true;
  }
  [[nodiscard]] Duration clock_resolution() const override { return 1ns; }

 private:
  Opened open_anew() {
    return open_by(support::shared_etcd().patient_url(support::unused_etcd_path()), {.clock = &clock_});
  }

  ManualClock clock_{Instant::from_ns(1'700'000'123'456'789'012)};
  Opened opened_ = open_anew();
};

using RedisWorld = ServerWorld<support::RedisServer, support::shared_redis>;
using RedisClusterWorld = ServerWorld<support::RedisCluster, support::shared_cluster_on_time>;
using PostgresWorld = ServerWorld<support::PostgresServer, support::shared_postgres>;

// Another Mete server, over a socket. Its clock is the test's, to the nanosecond.
class MeteWorld final : public World {
 public:
  Limiter& limiter() override { return opened_->limiter; }
  store::Store& store() override { return *opened_->store; }
  Instant now() override { return clock_.now(); }
  void advance(Duration step) override { clock_.advance(step); }
  void travel_to(Instant at) override {
    clock_.set(at);
    start();
  }
  bool set_clock_back(Duration step) override {
    clock_.set(clock_.now() + Duration::from_ns(-step.ns()));
    return true;
  }
  [[nodiscard]] Duration clock_resolution() const override { return 1ns; }

  MeteWorld() { start(); }

 private:
  void start() {
    opened_.reset();
    server_.reset();
    server_.emplace(std::make_unique<store::EmbeddedStore>(Options{.clock = &clock_}));
    opened_.emplace(open_by(server_->url()));
  }

  ManualClock clock_{Instant::from_ns(1'700'000'123'456'789'012)};
  std::optional<serving::MeteServer> server_;
  std::optional<Opened> opened_;
};

// The only node of a cluster.
class EscrowWorld final : public World {
 public:
  Limiter& limiter() override { return opened_.limiter; }
  store::Store& store() override { return *opened_.store; }
  Instant now() override { return node_.now(); }
  void advance(Duration step) override { node_.set_time(node_.now() + step); }
  void travel_to(Instant at) override {
    node_.set_time(at);
    opened_ = Opened(node_.open());
  }
  bool set_clock_back(Duration step) override {
    node_.set_time(node_.now() + Duration::from_ns(-step.ns()));
    return true;
  }
  [[nodiscard]] Duration clock_resolution() const override { return 1ns; }

 private:
  serving::EscrowNode node_{Instant::from_ns(1'700'000'123'456'789'012)};
  Opened opened_{node_.open()};
};

template <class SomeWorld>
std::unique_ptr<World> make() {
  return std::make_unique<SomeWorld>();
}

}  // namespace

const std::vector<StoreUnderTest>& stores() {
  static const std::vector<StoreUnderTest> kStores = {
      {"embedded", make<EmbeddedWorld>},
      {"durable", make<DurableWorld>},
      {"redis", make<RedisWorld>, true},
      {"redis_cluster", make<RedisClusterWorld>, true},
      {"postgres", make<PostgresWorld>, true},
      {"etcd", make<EtcdWorld>, true},
      {"mete", make<MeteWorld>, true},
      {"escrow_node", make<EscrowWorld>},
      {"escrow", make<EscrowWorld>, true, Scope::kEscrow},
  };
  return kStores;
}

namespace {

INSTANTIATE_TEST_SUITE_P(Store, Conformance, ::testing::ValuesIn(stores()), store_name);
INSTANTIATE_TEST_SUITE_P(Store, SeedDefects, ::testing::ValuesIn(stores()), store_name);

}  // namespace

}  // namespace mete::conformance
