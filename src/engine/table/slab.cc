#include "engine/table/slab.h"

#include <cstring>
#include <mutex>
#include <new>
#include <numeric>

#include "base/check.h"

namespace mete::engine {

Slab::Slab(MemoryGauge& memory)
    : memory_(memory), region_table_(base::Pages::map(kRegionsMax * sizeof(std::atomic<char*>))) {
  CHECK(region_table_.data() != nullptr);
}

Slab::Reference Slab::allocate(std::uint32_t units, Ceiling ceiling) {
  CHECK(units >= 1 && units <= kBlockUnitsMax);
  SizeClass& size_class = size_classes_[units];
  const std::lock_guard guard(size_class.lock);
  if (size_class.with_room == kNoChunk) {
    const std::uint32_t number = draw_chunk(units, ceiling);
    if (number == kNoChunk) return kNone;
    link(size_class, chunk_at(number));
  }
  Chunk& chunk = chunk_at(size_class.with_room);
  const Reference block = take_block(chunk, units);
  if (!has_room(chunk, units)) unlink(size_class, chunk);
  return block;
}

void Slab::free(Reference reference, std::uint32_t units) {
  SizeClass& size_class = size_classes_[units];
  const std::lock_guard guard(size_class.lock);
  Chunk& chunk = chunk_at(reference / kChunkUnits);
  CHECK(chunk.live_blocks > 0);
  const bool had_room = has_room(chunk, units);
  std::memcpy(at(reference), &chunk.free_block, sizeof chunk.free_block);
  chunk.free_block = reference;
  --chunk.live_blocks;
  if (!had_room) link(size_class, chunk);
  // The last chunk with room is kept, or a single block that comes and goes would move a chunk each time.
  const bool is_last = size_class.with_room == chunk.number && chunk.next == kNoChunk;
  if (chunk.live_blocks == 0 && !is_last) {
    unlink(size_class, chunk);
    return_chunk(chunk.number);
  }
}

Slab::Reference Slab::take_block(Chunk& chunk, std::uint32_t units) {
  Reference block = chunk.free_block;
  if (block != kNone) {
    std::memcpy(&chunk.free_block, at(block), sizeof chunk.free_block);
  } else {
    const std::uint32_t place = chunk.handed_out * chunk.block_step % blocks_per_chunk(units);
    block = chunk.number * kChunkUnits + kHeaderUnits + place * units;
    ++chunk.handed_out;
  }
  ++chunk.live_blocks;
  return block;
}

std::uint32_t Slab::draw_chunk(std::uint32_t units, Ceiling ceiling) {
  if (ceiling == Ceiling::kIgnore) {
    memory_.add(kChunkBytes);
  } else if (!memory_.try_add(kChunkBytes)) {
    return kNoChunk;
  }
  const std::lock_guard guard(chunks_lock_);
  if (free_chunks_.empty() && !add_region()) {
    memory_.subtract(kChunkBytes);
    return kNoChunk;
  }
  const std::uint32_t number = free_chunks_.back();
  free_chunks_.pop_back();
  new (&chunk_at(number)) Chunk{.number = number, .block_step = block_step(units)};
  return number;
}

std::uint32_t Slab::block_step(std::uint32_t units) {
  const std::uint32_t blocks = blocks_per_chunk(units);
  std::uint32_t step = blocks * 3 / 8;
  while (std::gcd(step, blocks) != 1) ++step;
  return step;
}

void Slab::return_chunk(std::uint32_t number) {
  memory_.subtract(kChunkBytes);
  const std::lock_guard guard(chunks_lock_);
  free_chunks_.push_back(number);
}

bool Slab::add_region() {
  const auto region = static_cast<std::uint32_t>(regions_.size());
  if (region == kRegionsMax) return false;
  const auto size = region < kSmallRegions ? base::Pages::Size::kNormal : base::Pages::Size::kHuge;
  base::Pages pages = base::Pages::map(kRegionUnits * kUnitBytes, size);
  if (pages.data() == nullptr) return false;
  reinterpret_cast<std::atomic<char*>*>(region_table_.data())[region].store(pages.data(), std::memory_order_relaxed);
  regions_.push_back(std::move(pages));
  for (std::uint32_t i = kChunksPerRegion; i > 0; --i) free_chunks_.push_back(region * kChunksPerRegion + i - 1);
  return true;
}

void Slab::link(SizeClass& size_class, Chunk& chunk) {
  chunk.previous = kNoChunk;
  chunk.next = size_class.with_room;
  if (chunk.next != kNoChunk) chunk_at(chunk.next).previous = chunk.number;
  size_class.with_room = chunk.number;
}

void Slab::unlink(SizeClass& size_class, Chunk& chunk) {
  if (chunk.next != kNoChunk) chunk_at(chunk.next).previous = chunk.previous;
  if (chunk.previous != kNoChunk) {
    chunk_at(chunk.previous).next = chunk.next;
  } else {
    size_class.with_room = chunk.next;
  }
}

}  // namespace mete::engine
