// Keyspace: every entry is found at every size of the table, however its hashes collide, and a walk meets each once.
#include "engine/table/keyspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"

namespace mete::engine {
namespace {

constexpr Space kSpace(EntryType::kMeter, 7);

std::string numbered_key(std::uint64_t number) { return "key" + std::to_string(number); }
std::uint64_t hash_of(std::uint64_t number) { return base::hash_bytes(numbered_key(number), 1); }

class KeyspaceTest : public ::testing::Test {
 protected:
  void insert(std::uint64_t hash, std::uint64_t number) {
    const Keyspace::Guard guard(keyspace_, hash);
    Entry* entry = keyspace_.insert(hash, kSpace, numbered_key(number), sizeof number);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->load<std::uint64_t>(), 0U) << "the payload is zeroed";
    entry->store(number);
  }

  // The number that the entry carries; none if there is no entry.
  std::optional<std::uint64_t> find(std::uint64_t hash, std::uint64_t number) {
    const Keyspace::Guard guard(keyspace_, hash);
    const Entry* entry = keyspace_.find(hash, kSpace, numbered_key(number));
    return entry == nullptr ? std::nullopt : std::optional(entry->load<std::uint64_t>());
  }

  bool erase(std::uint64_t hash, std::uint64_t number) {
    const Keyspace::Guard guard(keyspace_, hash);
    Entry* entry = keyspace_.find(hash, kSpace, numbered_key(number));
    if (entry == nullptr) return false;
    keyspace_.erase(hash, entry);
    return true;
  }

  std::map<std::uint64_t, int> walk() {
    std::map<std::uint64_t, int> met;
    for (Keyspace::Position position; !position.is_end();) {
      position = keyspace_.visit_bucket(position, [&](Entry& entry) { ++met[entry.load<std::uint64_t>()]; });
    }
    return met;
  }

  // Resizing happens a few steps at a time, after operations: nothing is left of it after these.
  void settle() {
    for (std::uint32_t i = 0; i < 2 * keyspace_.bucket_count(); ++i) (void)find(i, 0);
  }

  void clear() { Keyspace::GuardEveryOne(keyspace_).clear(); }

  MemoryGauge memory_{0};
  std::size_t cleared_ = 0;
  Keyspace keyspace_{memory_, [this](Entry& entry) {
                       ++cleared_;
                       keyspace_.erase(entry.hash_low, &entry);
                     }};
};

TEST_F(KeyspaceTest, GrowsFromOneTo200kAndBack) {
  constexpr std::uint64_t kEntries = 200'000;
  const std::uint32_t buckets = keyspace_.bucket_count();
  const std::size_t bytes = memory_.bytes();
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    insert(hash_of(i), i);
    if (i % 1000 == 0) {
      ASSERT_EQ(find(hash_of(i / 2), i / 2), i / 2);
    }
  }
  EXPECT_EQ(keyspace_.entry_count(), kEntries);
  EXPECT_GE(keyspace_.bucket_count(), kEntries / 8) << "the table has grown with its entries";
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_EQ(find(hash_of(i), i), i);
  EXPECT_FALSE(find(hash_of(kEntries), kEntries).has_value());

  std::vector<std::uint64_t> order(kEntries);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (std::size_t i = 0; i < order.size(); ++i) {
    ASSERT_TRUE(erase(hash_of(order[i]), order[i]));
    ASSERT_FALSE(find(hash_of(order[i]), order[i]).has_value());
    if (i % 1000 == 0 && i + 1 < order.size()) {
      ASSERT_EQ(find(hash_of(order.back()), order.back()), order.back());
    }
  }
  settle();
  EXPECT_EQ(keyspace_.entry_count(), 0U);
  EXPECT_EQ(keyspace_.bucket_count(), buckets) << "and shrunk again";
  EXPECT_LE(memory_.bytes(), bytes + 8 * Slab::kChunkBytes);
}

TEST_F(KeyspaceTest, EqualHashesAreToldApartByTheirKeys) {
  constexpr std::uint64_t kSame = 0xab00'0000'0000'1234;
  constexpr std::uint64_t kEntries = 500;  // a chain of 45 buckets
  const std::size_t bytes = memory_.bytes();
  for (std::uint64_t i = 0; i < kEntries; ++i) insert(kSame, i);
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_EQ(find(kSame, i), i);
  EXPECT_FALSE(find(kSame, kEntries).has_value());
  EXPECT_EQ(walk().size(), kEntries);
  std::vector<std::uint64_t> order(kEntries);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(2));
  for (std::size_t i = 0; i < order.size(); ++i) {
    ASSERT_TRUE(erase(kSame, order[i]));
    ASSERT_FALSE(erase(kSame, order[i]));
    for (std::size_t j = i + 1; j < order.size(); j += 37) ASSERT_EQ(find(kSame, order[j]), order[j]);
  }
  EXPECT_TRUE(walk().empty());
  EXPECT_LE(memory_.bytes(), bytes + 4 * Slab::kChunkBytes);
}

TEST_F(KeyspaceTest, CollidingBucketsAndTagsInEveryCombination) {
  // Low bits choose the bucket, the top byte is the tag; what is between only tells entries apart.
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t low = 0; low < 4; ++low) {
    for (std::uint64_t tag = 0; tag < 4; ++tag) {
      for (std::uint64_t high = 0; high < 10; ++high) hashes.push_back(tag << 56 | high << 24 | low);
    }
  }
  for (std::uint64_t i = 0; i < hashes.size(); ++i) insert(hashes[i], i);
  // Then the table grows, and they part.
  for (std::uint64_t i = 1000; i < 60'000; ++i) insert(hash_of(i), i);
  for (std::uint64_t i = 0; i < hashes.size(); ++i) ASSERT_EQ(find(hashes[i], i), i);
  for (std::uint64_t i = 1000; i < 60'000; ++i) ASSERT_TRUE(erase(hash_of(i), i));
  settle();
  for (std::uint64_t i = 0; i < hashes.size(); ++i) ASSERT_EQ(find(hashes[i], i), i);
}

TEST_F(KeyspaceTest, SpacesAndLengthsAreToldApart) {
  const std::uint64_t hash = 99;
  const Space spaces[] = {{EntryType::kMeter, 1},     {EntryType::kMeter, 2},     {EntryType::kOverride, 1},
                          {EntryType::kHeldParts, 1}, {EntryType::kOperation, 0}, {EntryType::kTag, 0}};
  const std::string keys[] = {"a",
                              "abcdefg",
                              "abcdefgh",
                              "abcdefgX",
                              "abcdefghi",
                              "abcdefgh12345678",
                              "Xbcdefgh12345678",
                              "abcdefgh1234567X",
                              std::string(512, 'k'),
                              std::string(511, 'k') + "j"};
  const Keyspace::Guard guard(keyspace_, hash);
  std::uint64_t number = 0;
  for (const Space space : spaces) {
    for (const std::string& key : keys) keyspace_.insert(hash, space, key, 16)->store(number++);
  }
  number = 0;
  for (const Space space : spaces) {
    for (const std::string& key : keys) {
      const Entry* entry = keyspace_.find(hash, space, key);
      ASSERT_NE(entry, nullptr);
      EXPECT_EQ(entry->load<std::uint64_t>(), number++);
      EXPECT_EQ(entry->key(), key);
      EXPECT_EQ(entry->space, space);
    }
    EXPECT_EQ(keyspace_.find(hash, space, "abcdef"), nullptr);
  }
  EXPECT_EQ(keyspace_.find(hash, {EntryType::kMeter, 3}, "a"), nullptr);
  EXPECT_EQ(keyspace_.entry_count(EntryType::kMeter), 2 * std::size(keys));
  EXPECT_EQ(keyspace_.entry_count(EntryType::kTag), std::size(keys));
}

TEST_F(KeyspaceTest, AWalkMeetsWhatStaysOnceWhileTheTableGrowsAndShrinks) {
  constexpr std::uint64_t kStaying = 5000;
  for (std::uint64_t i = 0; i < kStaying; ++i) insert(hash_of(i), i);
  std::uint64_t next = kStaying;
  std::uint64_t oldest = kStaying;
  bool is_growing = true;
  std::map<std::uint64_t, int> met;
  std::set<std::uint32_t> sizes;
  for (Keyspace::Position position; !position.is_end();) {
    position = keyspace_.visit_bucket(position, [&](Entry& entry) {
      if (entry.load<std::uint64_t>() < kStaying) ++met[entry.load<std::uint64_t>()];
    });
    sizes.insert(keyspace_.bucket_count());
    for (int i = 0; i < 60; ++i) {
      if (is_growing) {
        insert(hash_of(next), next);
        ++next;
      } else if (oldest < next) {
        ASSERT_TRUE(erase(hash_of(oldest), oldest));
        ++oldest;
      }
    }
    if (next - oldest > 30'000) is_growing = false;
    if (next - oldest < 1000) is_growing = true;
  }
  EXPECT_GT(sizes.size(), 100U) << "the table did change";
  ASSERT_EQ(met.size(), kStaying);
  for (const auto& [number, times] : met) ASSERT_EQ(times, 1) << number;
}

TEST_F(KeyspaceTest, AVisitorMayEraseWhatItMeets) {
  for (std::uint64_t i = 0; i < 20'000; ++i) insert(hash_of(i), i);
  std::size_t met = 0;
  for (Keyspace::Position position; !position.is_end();) {
    position = keyspace_.visit_bucket(position, [&](Entry& entry) {
      ++met;
      if (entry.load<std::uint64_t>() % 2 == 0) keyspace_.erase(entry.hash_low, &entry);
    });
  }
  EXPECT_EQ(met, 20'000U);
  EXPECT_EQ(keyspace_.entry_count(), 10'000U);
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_EQ(find(hash_of(i), i).has_value(), i % 2 == 1);
}

TEST(Keyspace, RefusesAtTheCeilingAndGoesOnAfterIt) {
  MemoryGauge memory(std::size_t{512} << 10);
  Keyspace keyspace(memory);
  std::uint64_t count = 0;
  for (;; ++count) {
    const Keyspace::Guard guard(keyspace, hash_of(count));
    if (keyspace.insert(hash_of(count), kSpace, numbered_key(count), 16) == nullptr) break;
  }
  EXPECT_GT(count, 5000U);
  const Keyspace::Guard guard(keyspace, hash_of(count));
  EXPECT_EQ(keyspace.insert(hash_of(count), kSpace, numbered_key(count), 16), nullptr);
  EXPECT_NE(keyspace.insert(hash_of(count), kSpace, numbered_key(count), 16, Slab::Ceiling::kIgnore), nullptr);
  EXPECT_EQ(keyspace.entry_count(), count + 1);
}

// One step, however much there is; a bucket is cleared by whoever locks it next.
TEST_F(KeyspaceTest, ClearingTakesNoTimeForTheEntries) {
  constexpr std::uint64_t kEntries = 20'000;
  for (std::uint64_t i = 0; i < kEntries; ++i) insert(hash_of(i), i);
  settle();
  clear();
  EXPECT_EQ(cleared_, 0U);
  EXPECT_FALSE(find(hash_of(1), 1).has_value());
  EXPECT_GT(cleared_, 0U);
  EXPECT_LT(cleared_, 100U) << "a bucket's, and those of some that were merged";
  insert(hash_of(2), 2);
  EXPECT_EQ(find(hash_of(2), 2), 2U);
  EXPECT_EQ(walk(), (std::map<std::uint64_t, int>{{2, 1}}));
  EXPECT_EQ(cleared_, kEntries);
  EXPECT_EQ(keyspace_.entry_count(), 1U);
}

// The table grows and shrinks in the middle of a round: what is from before comes to nobody's sight.
TEST_F(KeyspaceTest, ClearedBucketsCanBeSplitAndMerged) {
  for (std::uint64_t i = 0; i < 100'000; ++i) insert(hash_of(i), i);
  clear();
  std::map<std::uint64_t, int> expected;
  for (std::uint64_t i = 100'000; i < 250'000; ++i) {
    insert(hash_of(i), i);
    expected[i] = 1;
  }
  EXPECT_EQ(walk(), expected);
  EXPECT_EQ(cleared_, 100'000U);
  clear();
  settle();
  EXPECT_TRUE(walk().empty());
  EXPECT_EQ(keyspace_.entry_count(), 0U);
  insert(hash_of(1), 1);
  EXPECT_EQ(walk().size(), 1U);
}

TEST_F(KeyspaceTest, AGuardLocksEachBucketOnce) {
  // Many of these share a bucket: locked twice, this would never end.
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < Keyspace::kLocksMax; ++i) hashes.push_back(i % 3 << 40 | i % 5);
  for (int i = 0; i < 3; ++i) {
    const Keyspace::GuardAll guard(keyspace_, hashes);
    EXPECT_EQ(keyspace_.find(hashes[0], kSpace, "a"), nullptr);
  }
  insert(hashes[0], 5);
  EXPECT_EQ(find(hashes[0], 5), 5U);
}

}  // namespace
}  // namespace mete::engine
