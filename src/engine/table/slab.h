// Slab: small blocks of memory, named by 32-bit references instead of 64-bit pointers.
//
//     region   2 MiB from the system                     reference = region (14 bits) · unit within it (18 bits)
//       └ chunk   32 KiB: a header, blocks of one size   unit = 8 bytes, so references reach 32 GiB
//           └ block   1..kBlockUnitsMax units            0 is the first header, so no block's reference
//
// A chunk whose blocks are all free again can serve another size. Regions are kept until the end.
// Thread safety: allocate() and free() from any thread; at() is as safe as the block it names.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/lock.h"
#include "base/pages.h"
#include "engine/table/memory_gauge.h"

namespace mete::engine {

class Slab {
 public:
  using Reference = std::uint32_t;
  static constexpr Reference kNone = 0;
  static constexpr std::size_t kUnitBytes = 8;
  static constexpr std::uint32_t kBlockUnitsMax = 96;
  static constexpr std::size_t kChunkBytes = std::size_t{32} << 10;

  enum class Ceiling { kObey, kIgnore };

  explicit Slab(MemoryGauge& memory);

  static constexpr std::uint32_t units_for(std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + kUnitBytes - 1) / kUnitBytes);
  }

  // kNone if the memory ceiling is reached or the system has no more. The block's content is undefined.
  [[nodiscard]] Reference allocate(std::uint32_t units, Ceiling ceiling = Ceiling::kObey);
  void free(Reference reference, std::uint32_t units);

  [[nodiscard]] char* at(Reference reference) const {
    return region_at(reference >> kRegionShift) + std::size_t{reference & (kRegionUnits - 1)} * kUnitBytes;
  }

 private:
  static constexpr std::uint32_t kRegionShift = 18;
  static constexpr std::uint32_t kRegionUnits = 1U << kRegionShift;
  static constexpr std::uint32_t kRegionsMax = 1U << (32 - kRegionShift);
  static constexpr std::uint32_t kChunkUnits = kChunkBytes / kUnitBytes;
  static constexpr std::uint32_t kChunksPerRegion = kRegionUnits / kChunkUnits;
  static constexpr std::uint32_t kHeaderUnits = 4;
  static constexpr std::uint32_t kNoChunk = ~0U;
  // Small engines do without huge pages: the first touch of one costs two megabytes.
  static constexpr std::uint32_t kSmallRegions = 8;

  // The header, in the chunk's first bytes.
  struct Chunk {
    std::uint32_t number = 0;
    Reference free_block = kNone;  // a list through the free blocks' first bytes
    std::uint32_t handed_out = 0;  // how many blocks were ever handed out
    std::uint32_t block_step = 1;  // from one to the next of these: see block_step()
    std::uint32_t live_blocks = 0;
    // The chunks of one size that have room, as a list.
    std::uint32_t previous = kNoChunk;
    std::uint32_t next = kNoChunk;
    std::uint32_t unused = 0;
  };
  static_assert(sizeof(Chunk) == kHeaderUnits * kUnitBytes);

  struct SizeClass {
    base::Lock lock;
    std::uint32_t with_room = kNoChunk;
  };

  [[nodiscard]] char* region_at(std::uint32_t region) const {
    return reinterpret_cast<std::atomic<char*>*>(region_table_.data())[region].load(std::memory_order_relaxed);
  }
  [[nodiscard]] Chunk& chunk_at(std::uint32_t number) const {
    return *reinterpret_cast<Chunk*>(at(number * kChunkUnits));
  }
  static constexpr std::uint32_t blocks_per_chunk(std::uint32_t units) { return (kChunkUnits - kHeaderUnits) / units; }
  [[nodiscard]] static bool has_room(const Chunk& chunk, std::uint32_t units) {
    return chunk.free_block != kNone || chunk.handed_out < blocks_per_chunk(units);
  }
  // New blocks are handed out some way apart, not side by side: two keys that come one after the other, and are hot
  // together, must not share a cache line. The step has no divisor in common with the number of blocks.
  static std::uint32_t block_step(std::uint32_t units);

  std::uint32_t draw_chunk(std::uint32_t units, Ceiling ceiling);
  void return_chunk(std::uint32_t number);
  bool add_region();
  Reference take_block(Chunk& chunk, std::uint32_t units);
  void link(SizeClass& size_class, Chunk& chunk);
  void unlink(SizeClass& size_class, Chunk& chunk);

  MemoryGauge& memory_;
  base::Pages region_table_;
  std::array<SizeClass, kBlockUnitsMax + 1> size_classes_;

  base::Lock chunks_lock_;  // guards what follows
  std::vector<base::Pages> regions_;
  std::vector<std::uint32_t> free_chunks_;
};

}  // namespace mete::engine
