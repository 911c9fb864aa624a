// Takes and holds that go to PostgreSQL together, from many threads: each is answered as if it had come alone.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>

#include "store/open.h"
#include "unit/store/postgres/sql_fixture.h"

namespace mete::store::postgres {
namespace {

using support::PostgresServer;
using namespace std::chrono_literals;

constexpr int kThreads = 16;

// On a server whose time passes, for here the time-outs of its locks count.
struct World {
  PostgresServer& server = support::running_postgres();
  std::unique_ptr<Store> store = store::open_store(server.patient_url(), {}).value();
};

template <class Run>
void on_threads(const Run& run) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&run, i] { run(i); });
  for (std::thread& thread : threads) thread.join();
}

// One take or hold, by chance: what was admitted.
Amount charge_once(Store& store, const Charge& charge, std::string_view random_id) {
  const auto verdict = random_id.empty()
                           ? store.take({.charges = {&charge, 1}})
                           : store.hold({.charges = {&charge, 1}, .ttl = 1h, .id = random_id, .is_id_random = true});
  EXPECT_TRUE(verdict.has_value()) << verdict.error().message;
  if (!verdict.has_value() || !verdict->is_allowed) return 0;
  EXPECT_GE(verdict->remaining, 0);
  return verdict->taken;
}

TEST(PostgresTogether, NothingIsAdmittedTwiceOrTooMuch) {
  World world;
  constexpr Amount kAmount = 500;
  constexpr int kKeys = 5;
  world.store->define(stock("disk").amount(kAmount)).value();
  world.store->define(window("hourly").amount(kAmount).per(1h)).value();
  std::array<std::atomic<Amount>, kKeys> stocks{};
  std::array<std::atomic<Amount>, kKeys> windows{};
  on_threads([&](int thread) {
    std::mt19937_64 random(static_cast<std::uint64_t>(thread));
    for (int i = 0; i < 150; ++i) {
      const std::size_t number = random() % kKeys;
      const std::string key = "key " + std::to_string(number);
      const bool is_stock = random() % 2 == 0;
      const std::string id =
          random() % 2 == 0 ? std::string() : "hold " + std::to_string(thread) + "." + std::to_string(i);
      const Charge charge{is_stock ? "disk" : "hourly", key, static_cast<Amount>(random() % 8 + 1)};
      (is_stock ? stocks : windows)[number] += charge_once(*world.store, charge, id);
    }
  });
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::string key = "key " + std::to_string(i);
    EXPECT_LE(stocks[i], kAmount);
    const Usage disk = world.store->usage({"disk", key}).value();
    EXPECT_EQ(disk.used + disk.held, stocks[i]);
    const Usage hourly = world.store->usage({"hourly", key}).value();
    EXPECT_EQ(hourly.used + hourly.held, windows[i]);
  }
  EXPECT_EQ(world.server.query("select count(*) from mete.audit()")[0][0], "0");
}

TEST(PostgresTogether, AMeterInSomebodysTransactionHoldsUpNoOther) {
  World world;
  world.store->define(stock("disk").amount(1000)).value();
  for (const char* key : {"a", "b"}) {
    const Charge charge{"disk", key, 1};
    world.store->take({.charges = {&charge, 1}}).value();
  }
  SqlSession other(world.server);
  EXPECT_EQ(other.ask("begin; select remaining from mete.take('disk', 'a')"), "998");
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, key = i == 0 ? "a" : "b"] {
      for (int call = 0; call < (key[0] == 'a' ? 1 : 5); ++call) {
        const Charge charge{"disk", key, 1};
        EXPECT_EQ(charge_once(*world.store, charge, ""), 1);
        if (key[0] == 'b') ++done;
      }
    });
  }
  EXPECT_TRUE(support::becomes_true(15s, [&] { return done == (kThreads - 1) * 5; }));
  other.ask("commit");
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world.store->usage({"disk", "a"}).value().used, 3);
}

TEST(PostgresTogether, WhatIsWrongWithOneIsToldThatOneAlone) {
  World world;
  world.store->define(stock("disk").amount(1'000'000)).value();
  on_threads([&](int thread) {
    for (int i = 0; i < 30; ++i) {
      const Charge charge{thread % 4 == 0 ? "unknown" : "disk", "a", 1};
      const auto verdict = world.store->take({.charges = {&charge, 1}});
      if (thread % 4 == 0) {
        ASSERT_FALSE(verdict.has_value());
        EXPECT_EQ(verdict.error().code, ErrorCode::kNoLimit);
      } else {
        EXPECT_TRUE(verdict.has_value() && verdict->is_allowed);
      }
    }
  });
  EXPECT_EQ(world.store->usage({"disk", "a"}).value().used, kThreads * 3 / 4 * 30);
}

}  // namespace
}  // namespace mete::store::postgres
