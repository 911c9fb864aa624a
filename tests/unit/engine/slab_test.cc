// Slab: blocks do not overlap, what is freed serves again, also for other sizes, and the gauge knows.
#include "engine/table/slab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace mete::engine {
namespace {

constexpr std::size_t kChunk = Slab::kChunkBytes;

std::vector<Slab::Reference> allocate_chunks(Slab& slab, MemoryGauge& memory, std::uint32_t units, std::size_t chunks) {
  const std::size_t goal = memory.bytes() + chunks * kChunk;
  std::vector<Slab::Reference> blocks;
  while (memory.bytes() < goal) blocks.push_back(slab.allocate(units));
  return blocks;
}

TEST(Slab, UnitsAreRoundedUp) {
  EXPECT_EQ(Slab::units_for(1), 1U);
  EXPECT_EQ(Slab::units_for(8), 1U);
  EXPECT_EQ(Slab::units_for(9), 2U);
  EXPECT_EQ(Slab::units_for(768), Slab::kBlockUnitsMax);
}

TEST(Slab, BlocksDoNotOverlap) {
  MemoryGauge memory(0);
  Slab slab(memory);
  struct Block {
    Slab::Reference reference;
    std::uint32_t units;
    char fill;
  };
  std::vector<Block> blocks;
  std::mt19937 random(1);
  const auto check = [&](const Block& block) {
    const char* data = slab.at(block.reference);
    for (std::size_t i = 0; i < block.units * Slab::kUnitBytes; ++i) ASSERT_EQ(data[i], block.fill);
  };
  for (int i = 0; i < 40'000; ++i) {
    if (!blocks.empty() && random() % 3 == 0) {
      const std::size_t chosen = random() % blocks.size();
      check(blocks[chosen]);
      slab.free(blocks[chosen].reference, blocks[chosen].units);
      blocks[chosen] = blocks.back();
      blocks.pop_back();
    } else {
      const auto units = static_cast<std::uint32_t>(random() % Slab::kBlockUnitsMax + 1);
      const Slab::Reference reference = slab.allocate(units);
      ASSERT_NE(reference, Slab::kNone);
      blocks.push_back({reference, units, static_cast<char>(i)});
      std::memset(slab.at(reference), static_cast<char>(i), units * Slab::kUnitBytes);
    }
  }
  for (const Block& block : blocks) check(block);
}

TEST(Slab, MemoryReturnsAndServesOtherSizes) {
  MemoryGauge memory(0);
  Slab slab(memory);
  const auto small = allocate_chunks(slab, memory, 4, 20);
  EXPECT_EQ(memory.bytes(), 20 * kChunk);
  for (const Slab::Reference block : small) slab.free(block, 4);
  EXPECT_LE(memory.bytes(), kChunk) << "one chunk with room is kept";
  auto large = allocate_chunks(slab, memory, 90, 20);
  EXPECT_LE(memory.bytes(), 21 * kChunk);
  std::ranges::reverse(large);
  for (const Slab::Reference block : large) slab.free(block, 90);
  EXPECT_LE(memory.bytes(), 2 * kChunk);
}

TEST(Slab, AFreedBlockIsTheNextOne) {
  MemoryGauge memory(0);
  Slab slab(memory);
  const Slab::Reference first = slab.allocate(5);
  const Slab::Reference second = slab.allocate(5);
  EXPECT_NE(first, second);
  slab.free(first, 5);
  EXPECT_EQ(slab.allocate(5), first);
}

TEST(Slab, OneBlockThatComesAndGoesMovesNoChunk) {
  MemoryGauge memory(0);
  Slab slab(memory);
  slab.free(slab.allocate(7), 7);
  const std::size_t bytes = memory.bytes();
  for (int i = 0; i < 10; ++i) {
    const Slab::Reference block = slab.allocate(7);
    EXPECT_EQ(memory.bytes(), bytes);
    slab.free(block, 7);
    EXPECT_EQ(memory.bytes(), bytes);
  }
}

TEST(Slab, TheCeilingIsObeyedOrIgnored) {
  MemoryGauge memory(3 * kChunk);
  Slab slab(memory);
  std::size_t blocks = 0;
  while (slab.allocate(96) != Slab::kNone) ++blocks;
  EXPECT_GT(blocks, 100U);
  EXPECT_EQ(memory.bytes(), 3 * kChunk);
  EXPECT_EQ(slab.allocate(1), Slab::kNone) << "another size needs a chunk of its own";
  EXPECT_NE(slab.allocate(1, Slab::Ceiling::kIgnore), Slab::kNone);
  EXPECT_EQ(memory.bytes(), 4 * kChunk);
  EXPECT_NE(slab.allocate(1), Slab::kNone) << "which now has room";
}

TEST(Slab, GrowsBeyondOneRegion) {
  MemoryGauge memory(0);
  Slab slab(memory);
  std::vector<Slab::Reference> blocks;
  for (std::uint64_t i = 0; i < 10'000; ++i) {  // 7 MB
    blocks.push_back(slab.allocate(96));
    std::memcpy(slab.at(blocks.back()), &i, sizeof i);
  }
  for (std::uint64_t i = 0; i < blocks.size(); ++i) {
    std::uint64_t read = 0;
    std::memcpy(&read, slab.at(blocks[i]), sizeof read);
    ASSERT_EQ(read, i);
  }
}

TEST(MemoryGauge, SaysWhatToDo) {
  MemoryGauge gauge(100);
  EXPECT_TRUE(gauge.try_add(100));
  EXPECT_FALSE(gauge.try_add(1));
  EXPECT_EQ(gauge.bytes(), 100U);
  gauge.add(5);
  gauge.subtract(50);
  EXPECT_EQ(gauge.bytes(), 55U);
  EXPECT_EQ(gauge.out_of_memory().code, ErrorCode::kOutOfMemory);
  EXPECT_NE(gauge.out_of_memory().message.find("max_memory"), std::string::npos);
  MemoryGauge endless(0);
  EXPECT_TRUE(endless.try_add(std::size_t{1} << 60));
  EXPECT_NE(endless.out_of_memory().message.find("system"), std::string::npos);
}

}  // namespace
}  // namespace mete::engine
