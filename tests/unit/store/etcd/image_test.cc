#include "store/etcd/image.h"

#include <gtest/gtest.h>
#include <mete/mete.h>

#include <chrono>
#include <string>

#include "engine/records/snapshot_walk.h"
#include "store/etcd/entry.h"

namespace mete::store::etcd {
namespace {

using namespace std::chrono_literals;

// Keys in a map, as if they were etcd's; each operation is put through a scratch engine of its own.
class EtcdImage : public ::testing::Test {
 protected:
  template <class Use>
  Difference act(const std::vector<EntryName>& entries, Use use) {
    Image image;
    for (const EntryName& entry : entries) image[entry] = keys_[entry];
    const std::uint64_t serial = next_serial_of(image).value();
    auto scratch = Scratch::make(image, {.now = now_, .id_retention = 24h, .next_serial = serial}).value();
    use(scratch->engine());
    Difference difference = scratch->difference().value();
    for (const auto& [entry, value] : difference.puts) keys_[entry] = {value, ++revision_};
    for (const EntryName& entry : difference.deletes) keys_[entry] = {};
    return difference;
  }
  void define(const Limit& limit) {
    act({{Space::kLimit, {}, limit.name()}, {Space::kNumbers}},
        [&](engine::Engine& engine) { ASSERT_TRUE(engine.define(limit, now_)); });
  }
  std::vector<EntryName> meter(const std::string& id = "") {
    std::vector<EntryName> entries;
    add_meter(entries, "api", "k");
    if (!id.empty()) entries.push_back({Space::kOperation, {}, id});
    return entries;
  }
  Amount used() {
    Amount amount = -1;
    const Charge charge{"api", "k", 0};
    act(meter(), [&](engine::Engine& engine) { amount = engine.usage(charge, now_)->used; });
    return amount;
  }
  Difference take(Amount cost) {
    const Charge charge{"api", "k", cost};
    return act(meter(), [&](engine::Engine& engine) { (void)engine.take({.charges = {&charge, 1}}, now_); });
  }

  std::map<EntryName, Slot> keys_;
  Revision revision_ = 0;
  Instant now_ = Instant::from_unix_seconds(1'700'000'000);
};

TEST_F(EtcdImage, OnlyWhatChangesIsWritten) {
  define(stock("api").amount(10));
  const Difference taken = take(4);
  ASSERT_EQ(taken.puts.size(), 1U);
  EXPECT_EQ(taken.puts.begin()->first, (EntryName{Space::kMeter, "api", "k"}));
  EXPECT_TRUE(take(7).is_empty()) << "it was denied";
  EXPECT_EQ(used(), 4);
}

// A meter may be any number of revisions behind its limit; it follows each at the time when it was made.
TEST_F(EtcdImage, AMeterCatchesUpWithEveryRevision) {
  define(bucket("api").amount(10).per(10s));
  take(10);
  now_ = now_ + Duration(2s);
  define(bucket("api").amount(10).per(20s));  // 8 used
  now_ = now_ + Duration(2s);
  define(stock("api").amount(100));  // 7 used, and nothing comes back any more
  now_ = now_ + Duration(1h);
  define(stock("api").amount(200));
  const EntryName limit{Space::kLimit, {}, "api"};
  EXPECT_EQ(revisions_of(keys_[limit], limit)->changes.size(), 4U);
  EXPECT_EQ(used(), 7);
}

TEST_F(EtcdImage, WhatIsNoRuleMakesNoRevision) {
  define(stock("api").amount(10));
  define(stock("api").amount(10).on_fail(OnFail::kOpen));
  const EntryName limit{Space::kLimit, {}, "api"};
  EXPECT_EQ(revisions_of(keys_[limit], limit)->changes.size(), 1U);
  EXPECT_EQ(definition_of(keys_[limit], limit).value()->on_fail(), OnFail::kOpen);
}

TEST_F(EtcdImage, ATagComesAndGoesWithItsHold) {
  define(stock("api").amount(10));
  const Charge charge{"api", "k", 3};
  const Difference made = act(meter("h"), [&](engine::Engine& engine) {
    ASSERT_TRUE(engine.hold({.charges = {&charge, 1}, .ttl = 1min, .id = "h", .tag = "t"}, now_).has_value());
  });
  const EntryName tag{Space::kTag, "t", "h"};
  EXPECT_TRUE(made.puts.contains(tag));
  EXPECT_EQ(made.puts.size(), 3U);
  const Difference again = act(meter("h"), [&](engine::Engine& engine) {
    ASSERT_TRUE(engine.hold({.charges = {&charge, 1}, .ttl = 1min, .id = "h", .tag = "t"}, now_).has_value());
  });
  EXPECT_TRUE(again.is_empty()) << "the same answer, and nothing to write";
  const Difference settled =
      act(meter("h"), [&](engine::Engine& engine) { ASSERT_TRUE(engine.commit({.id = "h"}, now_)); });
  EXPECT_EQ(settled.deletes, std::vector<EntryName>{tag});
  EXPECT_EQ(used(), 3);
}

// Two holds with one serial number on one meter could not be told apart.
TEST_F(EtcdImage, HoldsOnOneMeterHaveNumbersOfTheirOwn) {
  define(stock("api").amount(10));
  const Charge charge{"api", "k", 1};
  for (const std::string id : {"a", "b", "c"}) {
    act(meter(id), [&](engine::Engine& engine) {
      ASSERT_TRUE(engine.hold({.charges = {&charge, 1}, .ttl = 1min, .id = id}, now_).has_value());
    });
  }
  act(meter(), [&](engine::Engine& engine) { EXPECT_EQ(engine.holds(charge, 10, now_)->size(), 3U); });
}

TEST_F(EtcdImage, WhatTimeMadeNeedlessIsDeleted) {
  define(bucket("api").amount(10).per(1s));
  take(5);
  now_ = now_ + Duration(1min);
  const Difference swept = act(meter(), [&](engine::Engine& engine) { engine.sweep(2 * engine.buckets(), now_); });
  EXPECT_EQ(swept.deletes, (std::vector<EntryName>{{Space::kMeter, "api", "k"}}));
  EXPECT_TRUE(swept.puts.empty());
}

TEST_F(EtcdImage, AHoldWhoseMeterWasDeletedIsAnErrorThatNamesItsKey) {
  define(stock("api").amount(10));
  const Charge charge{"api", "k", 4};
  act(meter("h"), [&](engine::Engine& engine) {
    ASSERT_TRUE(engine.hold({.charges = {&charge, 1}, .ttl = 1h, .id = "h"}, now_).has_value());
  });
  keys_[{Space::kMeter, "api", "k"}] = {};
  Image image;
  for (const EntryName& entry : meter("h")) image[entry] = keys_[entry];
  const Scratch::Settings settings{.now = now_, .id_retention = 24h};
  const auto scratch = Scratch::make(image, settings);
  ASSERT_FALSE(scratch.has_value());
  EXPECT_EQ(scratch.error().message,
            "etcd: hold 'h' has 4 of meter 'k' of 'api', which does not know of it: its keys were changed by somebody "
            "else; let it expire, or delete its key 'ids/h'");
  image.erase({Space::kMeter, "api", "k"});
  EXPECT_TRUE(Scratch::make(image, settings).has_value()) << "what is not looked at says nothing";
}

TEST_F(EtcdImage, AValueThatCannotBeReadIsAnErrorThatNamesItsKey) {
  define(stock("api").amount(10));
  take(1);
  const EntryName entry{Space::kMeter, "api", "k"};
  const std::string good = keys_[entry].value;
  std::string newer = good;
  newer[0] = 2;
  for (const std::string& value : {newer, std::string("x"), good.substr(0, 5), good.substr(0, good.size() - 1)}) {
    Image image;
    for (const EntryName& each : meter()) image[each] = keys_[each];
    image[entry].value = value;
    const auto scratch = Scratch::make(image, {.now = now_, .id_retention = 24h});
    ASSERT_FALSE(scratch);
    EXPECT_NE(scratch.error().message.find("meters/api/"), std::string::npos) << scratch.error().message;
  }
}

}  // namespace
}  // namespace mete::store::etcd
