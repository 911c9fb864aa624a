// How much room a disk has for what is yet to be written.
#include "journal/disk_room.h"

#include <gtest/gtest.h>

namespace mete::journal {
namespace {

using enum DiskRoom::Level;

TEST(DiskRoom, GoesThroughItsLevelsAndComesBackLater) {
  DiskRoom room(100);
  const struct {
    std::uint64_t free;
    DiskRoom::Level level;
  } rows[] = {{1000, kPlenty}, {400, kPlenty}, {399, kScarce}, {499, kScarce}, {500, kPlenty}, {100, kScarce},
              {99, kNone},     {0, kNone},     {199, kNone},   {200, kScarce}, {99, kNone},    {500, kPlenty}};
  for (const auto& row : rows) {
    EXPECT_EQ(room.update({.free_bytes = row.free, .total_bytes = 1'000'000}), row.level) << row.free;
  }
  EXPECT_EQ(room.reserve_bytes(), 100U);
}

TEST(DiskRoom, OfASmallDiskTheReserveIsSmall) {
  DiskRoom room(100);
  EXPECT_EQ(room.update({.free_bytes = 50, .total_bytes = 160}), kPlenty);
  EXPECT_EQ(room.reserve_bytes(), 10U);
  EXPECT_EQ(room.update({.free_bytes = 9, .total_bytes = 160}), kNone);
}

TEST(DiskRoom, WithoutAReserveThereIsAlwaysRoom) {
  DiskRoom room(0);
  EXPECT_EQ(room.update({.free_bytes = 0, .total_bytes = 1000}), kPlenty);
}

}  // namespace
}  // namespace mete::journal
