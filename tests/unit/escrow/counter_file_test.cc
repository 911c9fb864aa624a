// Counters on disk: what a start finds, after whatever end of the process before it.
#include "escrow/counters/counter_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "support/simulated_disk.h"
#include "unit/escrow/counters_fixture.h"

namespace mete::escrow {
namespace {

using namespace std::chrono_literals;
using support::SimulatedDisk;
using ::testing::HasSubstr;

constexpr const char* kPath = "data/counters";

// A node's counters and their file, from one start to its end.
struct FiledNode {
  explicit FiledNode(SimulatedDisk& disk, std::uint64_t incarnation = 1, const std::string& identity = "one",
                     const std::string& name = "a")
      : file(CounterFile::open({disk, "data", identity}, {name, incarnation}).value()), counters(file->self()) {
    EXPECT_TRUE(file->load_into(counters).has_value());
  }
  std::int64_t add(const std::string& key, std::int64_t by) { return counters.add(key, by, kNow).value(); }
  bool write() { return file->write_changes(counters, kNow).has_value(); }

  std::unique_ptr<CounterFile> file;
  Counters counters;
};

struct CounterFileTest : ::testing::Test {
  CounterFileTest() { EXPECT_TRUE(disk.make_directory("data").has_value()); }
  SimulatedDisk disk;
};

TEST_F(CounterFileTest, AStopAndAStartChangeNothing) {
  {
    FiledNode node(disk);
    node.add("hits", 5);
    EXPECT_TRUE(node.counters.set({.key = "visits", .value = 7, .expiry = core::Expiry::in(1h)}, kNow).has_value());
    EXPECT_TRUE(node.file->end(node.counters, kNow).has_value());
  }
  FiledNode again(disk, 2);
  EXPECT_EQ(again.counters.self(), (Writer{"a", 1})) << "it goes on as the writer that it was";
  EXPECT_EQ(again.counters.get("hits", kNow), 5);
  EXPECT_EQ(again.counters.expires_at("visits", kNow), kNow + 1h);
  EXPECT_EQ(again.add("hits", 1), 6);
}

TEST_F(CounterFileTest, AfterAKillTheSlotsAreNewForOthersMayHaveMoreOfTheOldOnes) {
  Counters other({"b", 1});
  {
    FiledNode node(disk);
    node.add("hits", 5);
    EXPECT_TRUE(node.write());
    node.add("hits", 3);  // told to another node, and never written
    for (const std::string& piece : node.counters.changes_since({}, {kNobody, kNow}, 1 << 20).states) {
      for (const CounterState& state : decode_states(piece).value()) other.merge(state, kNobody, kNow);
    }
  }
  FiledNode again(disk, 2);
  EXPECT_EQ(again.counters.self(), (Writer{"a", 2}));
  EXPECT_EQ(again.counters.get("hits", kNow), 5);
  again.add("hits", 10);
  for (const std::string& piece : again.counters.changes_since({}, {kNobody, kNow}, 1 << 20).states) {
    for (const CounterState& state : decode_states(piece).value()) other.merge(state, kNobody, kNow);
  }
  EXPECT_EQ(other.get("hits", kNow), 18) << "nothing of either life is lost";
}

TEST_F(CounterFileTest, AStartThatIsKilledAtOnceIsNoOrderlyStop) {
  {
    FiledNode node(disk);
    node.add("hits", 5);
    EXPECT_TRUE(node.file->end(node.counters, kNow).has_value());
  }
  EXPECT_EQ(FiledNode(disk, 2).counters.self().incarnation, 1U);
  EXPECT_EQ(FiledNode(disk, 3).counters.self().incarnation, 3U);
}

// The file has the state before and the one after: the later one counts, however long ago it was written.
TEST_F(CounterFileTest, WhatHasExpiredOrWasDeletedDoesNotComeBack) {
  {
    FiledNode node(disk);
    for (const char* const key : {"expired", "deleted", "replaced"}) {
      EXPECT_TRUE(node.counters.set({.key = key, .value = 5}, kNow).has_value());
    }
    EXPECT_TRUE(node.write());
    EXPECT_TRUE(node.counters.expire("expired", core::Expiry::in(1s), core::ExpiryCondition::kAlways, kNow));
    EXPECT_TRUE(node.counters.remove("deleted", kNow));
    EXPECT_TRUE(node.counters.set({.key = "replaced", .value = 7, .expiry = core::Expiry::in(1s)}, kNow).has_value());
    EXPECT_TRUE(node.file->end(node.counters, kNow).has_value());
  }
  std::uint64_t incarnation = 2;
  for (const Duration later : {Duration(500ms), Duration(3min), Duration(3h), Duration(1000h)}) {
    FiledNode again(disk, incarnation++);
    const Instant now = kNow + later;
    EXPECT_EQ(again.counters.get("expired", now).has_value(), later < Duration(1s)) << later.seconds();
    EXPECT_EQ(again.counters.get("deleted", now), std::nullopt) << later.seconds();
    EXPECT_EQ(again.counters.get("replaced", now).value_or(7), 7) << later.seconds();
    Counters other({"b", 1});
    for (const std::string& piece : again.counters.changes_since({}, {kNobody, now}, 1 << 20).states) {
      for (const CounterState& state : decode_states(piece).value()) other.merge(state, kNobody, now);
    }
    EXPECT_EQ(other.get("expired", now).has_value(), later < Duration(1s)) << "nor at the other nodes";
    EXPECT_EQ(other.get("deleted", now), std::nullopt);
    again.counters.sweep(now);
    EXPECT_EQ(again.counters.size(), later < Duration(1s) ? 2U : 0U) << "it is forgotten then";
    EXPECT_TRUE(again.file->end(again.counters, now).has_value());
  }
}

TEST_F(CounterFileTest, AFileOfAnotherDirectoryOrNameIsReadAndNotContinued) {
  {
    FiledNode node(disk);
    node.add("hits", 5);
    EXPECT_TRUE(node.file->end(node.counters, kNow).has_value());
  }
  const auto copy = disk.kill_process();
  FiledNode restored(*copy, 1, "another");
  EXPECT_EQ(restored.counters.get("hits", kNow), 5);
  FiledNode renamed(disk, 1, "one", "b");
  EXPECT_EQ(renamed.counters.self(), (Writer{"b", 1}));
  EXPECT_EQ(renamed.counters.get("hits", kNow), 5);
}

TEST_F(CounterFileTest, WhatWasWrittenOutlivesEveryPowerCut) {
  for (const auto fate : {SimulatedDisk::Fate::kDropped, SimulatedDisk::Fate::kKept, SimulatedDisk::Fate::kTorn,
                          SimulatedDisk::Fate::kRandomMix}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SimulatedDisk mine;
      ASSERT_TRUE(mine.make_directory("data").has_value());
      std::vector<std::pair<std::int64_t, std::unique_ptr<SimulatedDisk>>> cuts;
      std::int64_t written = 0;
      FiledNode node(mine);
      mine.before_change([&] { cuts.emplace_back(written, mine.cut_power(fate, seed)); });
      for (int i = 0; i < 10; ++i) {
        node.add("hits", 1);
        node.add("key " + std::to_string(i) + std::string(300, 'x'), 1);
        ASSERT_TRUE(node.write());
        written = i + 1;
      }
      mine.before_change({});
      for (const auto& [at_least, disk_then] : cuts) {
        FiledNode again(*disk_then, 2);
        const std::int64_t found = again.counters.get("hits", kNow).value_or(0);
        EXPECT_GE(found, at_least);
        EXPECT_LE(found, 10);
        again.add("hits", 1);
        ASSERT_TRUE(again.write());
        EXPECT_EQ(FiledNode(*disk_then, 3).counters.get("hits", kNow), found + 1)
            << "what is behind a torn end is read";
      }
    }
  }
}

TEST_F(CounterFileTest, AFileThatHasGrownIsWrittenAnew) {
  FiledNode node(disk);
  const std::string key(500, 'k');
  std::uint64_t largest = 0;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 1000; ++i) node.add(key + std::to_string(i), 1);
    ASSERT_TRUE(node.write());
    largest = std::max(largest, node.file->bytes());
  }
  EXPECT_LT(largest, 3 * CounterFile::kGrowsBy) << "without that it has 20 MB";
  FiledNode again(disk, 2);
  EXPECT_EQ(again.counters.size(), 1000U);
  EXPECT_EQ(again.counters.get(key + "999", kNow), 40);
}

TEST_F(CounterFileTest, TheFirstFailureOfTheDiskIsFinal) {
  FiledNode node(disk);
  node.add("hits", 5);
  disk.fail_call(disk.calls() + 2, SimulatedDisk::Failure::kInputOutput);
  EXPECT_FALSE(node.write());
  EXPECT_FALSE(node.write()) << "a sync that succeeds later says nothing about what failed";
}

TEST_F(CounterFileTest, WhatIsNoFileOfThisVersionIsRefused) {
  { FiledNode node(disk); }
  std::string bytes = disk.content(kPath);
  disk.put(kPath, "something else");
  EXPECT_EQ(FiledNode(disk, 2).counters.size(), 0U) << "nothing of it was ever whole";
  Encoder unknown;
  unknown.byte(9);
  const auto hash = base::hash_bytes(unknown.view(), 0x6d65746563747231);
  std::string frame(12, '\0');
  frame[0] = 1;
  std::memcpy(frame.data() + 4, &hash, sizeof hash);
  disk.put(kPath, bytes + frame + std::string(unknown.view()));
  const auto opened = CounterFile::open({disk, "data", "one"}, {"a", 3});
  ASSERT_FALSE(opened.has_value());
  EXPECT_THAT(opened.error().message, HasSubstr("data/counters: it is of another version"));
}

}  // namespace
}  // namespace mete::escrow
