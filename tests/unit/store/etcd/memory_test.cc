#include "store/etcd/memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mete::store::etcd {
namespace {

const EntryName kClock{Space::kClock};
const EntryName kLimit{Space::kLimit, {}, "api"};

EntryName meter(int number) { return {Space::kMeter, "api", std::to_string(number)}; }

struct MemoryTest : ::testing::Test {
  MemoryTest() { memory.keep({{kClock, {}}, {kLimit, {"limit", 1}}}); }

  // The meter's revision as it is recalled; -1: it must be read.
  Revision recall(const EntryName& entry) {
    Image image;
    return memory.recall(std::vector{kClock, kLimit, entry}, image) ? image.at(entry).revision : -1;
  }

  Memory memory;
};

TEST_F(MemoryTest, WhatWasKeptIsRecalledAndAllElseIsNew) {
  memory.keep({{meter(1), {"value", 7}}});
  EXPECT_EQ(recall(meter(1)), 7);
  EXPECT_EQ(recall(meter(2)), 0);
  memory.keep({{meter(1), {}}});
  EXPECT_EQ(recall(meter(1)), 0) << "it was deleted";
}

TEST_F(MemoryTest, LimitsAndTheClockAreNotGuessed) {
  Image image;
  EXPECT_FALSE(memory.recall(std::vector<EntryName>{kClock, {Space::kLimit, {}, "other"}}, image));
  EXPECT_TRUE(image.empty());
  memory.forget(std::vector{kClock});
  EXPECT_EQ(recall(meter(1)), -1);
}

TEST_F(MemoryTest, AKeyThatOthersWriteIsReadForAWhile) {
  memory.keep({{meter(1), {"value", 7}}});
  memory.was_wrong(meter(1));
  for (int i = 0; i < Memory::kReadsAfterMistake; ++i) {
    EXPECT_EQ(recall(meter(1)), -1);
    memory.keep({{meter(1), {"value", 8 + i}}});
  }
  EXPECT_EQ(recall(meter(1)), 7 + Memory::kReadsAfterMistake);
  EXPECT_EQ(recall(meter(2)), 0) << "others are not concerned";
}

TEST_F(MemoryTest, AfterAWrongGuessNothingIsGuessedForAWhile) {
  memory.keep({{meter(1), {"value", 7}}});
  memory.was_wrong(meter(2));
  for (int i = 0; i < Memory::kReadsAfterMistake; ++i) {
    EXPECT_EQ(recall(meter(3)), -1);
    EXPECT_EQ(recall(meter(1)), 7) << "that is no guess";
  }
  EXPECT_EQ(recall(meter(3)), 0);
}

TEST_F(MemoryTest, HasSoManyKeysAtMost) {
  const auto many = static_cast<int>(Memory::kKeysMax);
  for (int i = 1; i <= many; ++i) memory.keep({{kClock, {}}, {kLimit, {"limit", 1}}, {meter(i), {"value", i}}});
  EXPECT_EQ(recall(meter(many)), many);
  EXPECT_EQ(recall(meter(many / 2 + 10)), many / 2 + 10);
  EXPECT_EQ(recall(meter(1)), 0) << "it is forgotten";
}

}  // namespace
}  // namespace mete::store::etcd
