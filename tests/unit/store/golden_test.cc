// Data directories as they are checked in, with every kind of change in their snapshots and in the journals behind
// them: every later version must read them. store-v1 has sliding meters of two windows, store-v2 of charges; since
// store-v3 a hold keeps how it ended. If the format changes, these stay, and a new one is added.
//
// sliding-ring-v1 is the state of a sliding meter of 1,000,000 per 125 s, as versions kept it that had quanta of 1244
// units: from 1,700,000,000 s on, 60 charges of 0 to 6000 units, a second apart.
//
// The last directory was written by:  METE_REGENERATE=1 build/tests/mete_unit_store_tests
// --gtest_filter='*StoreGolden*v3'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/meter.h"
#include "store/keys.h"
#include "store/open.h"
#include "support/child_process.h"
#include "support/files.h"

namespace mete::store {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

std::filesystem::path golden(std::string_view name) { return support::repository() / "tests/golden" / name; }
constexpr std::string_view kLast = "store-v3";
constexpr Instant kWrittenAt = Instant::from_unix_seconds(1'700'000'000);

std::unique_ptr<Store> open_at(const std::filesystem::path& directory, const Clock& clock) {
  return open_store("embedded:" + directory.string(), {.clock = &clock}).value();
}

void take(Store& store, std::string_view limit, std::string_view key, Amount cost, std::string_view id = {}) {
  const Charge charge{limit, key, cost};
  ASSERT_TRUE(store.take({.charges = {&charge, 1}, .id = id}).value().is_allowed);
}

void hold(Store& store, std::string_view key, Amount cost, std::string_view id, std::string_view tag) {
  const Charge charge{"stock", key, cost};
  ASSERT_TRUE(store.hold({.charges = {&charge, 1}, .ttl = 1h, .id = id, .tag = tag}).value().is_allowed);
}

// The same twice, with other keys: once for the snapshot and once for the journal behind it.
void use(Store& store, const std::string& key) {
  for (const char* limit : {"bucket", "window", "sliding", "calendar", "stock", "redefined"})
    take(store, limit, key, 3);
  take(store, "calendar", key, 2, "take-" + key);
  store.set_override({"bucket", key}, 500).value();
  hold(store, key, 10, "open-" + key, "tag-" + key);
  hold(store, key, 20, "committed-" + key, "");
  const Amount amount = 15;
  store.commit({.id = "committed-" + key, .amounts = {&amount, 1}}).value();
  hold(store, key, 30, "cancelled-" + key, "");
  store.cancel("cancelled-" + key).value();
  Keys keys = store.keys();
  keys.set({.key = "counter-" + key, .value = -42, .expiry = core::Expiry::in(2h)}).value();
  keys.quota_set("quota-" + key, {.amount = 100, .window = 1h}).value();
  EXPECT_EQ(keys.quota_take("quota-" + key, {.amount = 100, .window = 1h}, 60).value(), 40);
  keys.throttle("throttle-" + key, {.capacity = 5, .count = 1, .period = 1h}).value();
  keys.set({.key = "gone-" + key, .value = 1}).value();
  keys.remove("gone-" + key).value();
}

void write_directory() {
  std::filesystem::remove_all(golden(kLast));
  const ManualClock clock(kWrittenAt);
  const auto store = open_at(golden(kLast), clock);
  store->define(bucket("bucket").amount(100).per(1h).burst(200)).value();
  store->define(window("window").amount(100).per(1h)).value();
  store->define(sliding("sliding").amount(100).per(1h)).value();
  store->define(calendar("calendar").amount(100).per(Unit::kMonth).zone("Europe/Berlin").anchor(15)).value();
  store->define(stock("stock").amount(100).on_fail(OnFail::kOpen)).value();
  store->define(window("redefined").amount(10).per(1h)).value();
  store->define(stock("dropped").amount(10).shadow()).value();
  use(*store, "a");
  store->persistence()->save().value();
  use(*store, "b");
  store->define(stock("redefined").amount(20).durable(Durable::kAlways)).value();
  EXPECT_TRUE(store->drop("dropped").value());
}

void expect_used(Store& store, const std::string& key) {
  for (const char* limit : {"bucket", "window", "sliding", "redefined"}) {
    EXPECT_EQ(store.usage({limit, key}).value().used, 3) << limit;
  }
  EXPECT_EQ(store.usage({"calendar", key}).value().used, 5);
  EXPECT_EQ(store.usage({"stock", key}).value().used, 18);
  EXPECT_EQ(store.usage({"stock", key}).value().held, 10);
  EXPECT_EQ(store.override_of({"bucket", key}).value(), 500);
  EXPECT_THAT(store.holds_tagged("tag-" + key).value(), ElementsAre("open-" + key));
  EXPECT_EQ(store.find_hold("open-" + key).value()->expires_in, Duration(1h - 1s));
  EXPECT_EQ(store.find_hold("committed-" + key).value()->state, HoldState::kCommitted);
  EXPECT_EQ(store.find_hold("cancelled-" + key).value()->state, HoldState::kCancelled);
  take(store, "calendar", key, 2, "take-" + key);
  EXPECT_EQ(store.usage({"calendar", key}).value().used, 5) << "the same id again";
  Keys keys = store.keys();
  EXPECT_EQ(keys.get("counter-" + key).value(), -42);
  EXPECT_EQ(keys.expires_at("counter-" + key).value(), kWrittenAt + Duration(2h));
  EXPECT_EQ(keys.quota_get("quota-" + key).value()->remaining, 40);
  EXPECT_EQ(keys.type("throttle-" + key).value(), KeyType::kThrottle);
  EXPECT_EQ(keys.type("gone-" + key).value(), KeyType::kNone);
}

// Where the answer was not kept, a commit or cancel again is refused, as it was then.
void expect_ended(Store& store, const std::string& key, bool is_kept) {
  const std::string committed = "committed-" + key;
  const std::string cancelled = "cancelled-" + key;
  const Amount amount = 15;
  const auto commit = store.commit({.id = committed, .amounts = {&amount, 1}});
  const auto cancel = store.cancel(cancelled);
  if (is_kept) {
    EXPECT_EQ(commit.value(), (Settlement{.amount = 15, .remaining = 72, .limit = 100}));
    EXPECT_EQ(cancel.value(), (Settlement{.amount = 30, .remaining = 72, .limit = 100}));
    EXPECT_EQ(store.commit({.id = committed}).error().code, ErrorCode::kMismatch);
  } else {
    EXPECT_EQ(commit.error().code, ErrorCode::kNoHold);
    EXPECT_EQ(cancel.error().code, ErrorCode::kNoHold);
  }
}

class StoreGolden : public ::testing::TestWithParam<std::string_view> {};

TEST_P(StoreGolden, IsRead) {
  if (GetParam() == kLast && std::getenv("METE_REGENERATE") != nullptr) write_directory();
  const support::TemporaryDirectory directory;
  const std::filesystem::path copy = directory.path() / "data";
  std::filesystem::copy(golden(GetParam()), copy);
  const ManualClock clock(kWrittenAt + Duration(1s));
  const auto store = open_at(copy, clock);
  EXPECT_THAT(store->limits().value(), ElementsAre("bucket", "calendar", "redefined", "sliding", "stock", "window"));
  EXPECT_EQ(store->limit("calendar").value()->anchor(), 15);
  EXPECT_EQ(store->limit("stock").value()->on_fail(), OnFail::kOpen);
  EXPECT_EQ(store->limit("redefined").value()->kind(), Kind::kStock);
  expect_used(*store, "a");
  expect_used(*store, "b");
  for (const char* key : {"a", "b"}) expect_ended(*store, key, GetParam() == kLast);
}

TEST(StoreGoldenRing, CountsNoLessThanItDid) {
  const core::Rule rule{.kind = Kind::kSliding, .amount = 1'000'000, .capacity = 1'000'000, .period = 125s};
  core::State state;
  state.sliding = core::sliding::read_state(support::read_file(golden("sliding-ring-v1") / "state")).value();
  const core::sliding::Charges before = core::sliding::charges_of(rule, state.sliding);
  ASSERT_EQ(before.size(), 48);
  EXPECT_EQ(before.front().units, 2488);
  EXPECT_EQ(state.sliding.used(), 174'000);
  for (int second = 60; second < 190; ++second) {
    const Instant now = Instant::from_unix_seconds(1'700'000'000) + Duration(std::chrono::seconds(second));
    Amount counted = 0;
    for (const core::sliding::Charged& charge : before)
      counted += charge.start + Duration(126s) > now ? charge.units : 0;
    core::State then = state;
    core::settle(rule, then, {now, {}});
    EXPECT_GE(core::used(rule, then, {now, {}}), counted) << second;
    EXPECT_LE(core::used(rule, then, {now, {}}), counted + 2 * Amount{1244}) << second;
    core::settle(rule, state, {now, {}});
    EXPECT_EQ(state.sliding.used(), then.sliding.used()) << second;
  }
  EXPECT_EQ(state.sliding.used(), 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, StoreGolden, ::testing::Values("store-v1", "store-v2", kLast),
                         [](const auto& tested) {
                           return std::string(tested.param.substr(std::string_view("store-").size()));
                         });

}  // namespace
}  // namespace mete::store
