// Who gets a connection, and whose place it takes.
#include "server/running/places.h"

#include <gtest/gtest.h>

namespace mete::server {
namespace {

using Place = Places::Place;

TEST(Places, GoToNewcomersBeforeStrangers) {
  Places places;
  for (std::uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(places.give({id, nullptr}, 3).place, Place::kUsual);
  places.note_known(1);
  const Places::Given fourth = places.give({4, nullptr}, 3);
  EXPECT_EQ(fourth.place, Place::kUsual);
  ASSERT_TRUE(fourth.evicted.has_value());
  EXPECT_EQ(fourth.evicted->id, 2U);  // the first of those that are not known
  // Its place is given, whether it has gone already or not; so the next one costs another stranger's.
  const Places::Given fifth = places.give({5, nullptr}, 3);
  ASSERT_TRUE(fifth.evicted.has_value());
  EXPECT_EQ(fifth.evicted->id, 3U);
  places.take_back(2, Place::kUsual);
  EXPECT_EQ(places.strangers(), 2U);
  // One that has become known meanwhile stays, and counts again.
  places.note_known(3);
  places.note_known(4);
  places.note_known(5);
  EXPECT_EQ(places.give({6, nullptr}, 4).place, Place::kReserved);
  places.take_back(3, Place::kUsual);
  EXPECT_EQ(places.give({7, nullptr}, 4).place, Place::kUsual);
}

TEST(Places, AreKeptForWhereAllAreKnown) {
  Places places;
  places.give({1, nullptr}, 1);
  places.note_known(1);
  for (std::uint64_t id = 2; id < 2 + Places::kReserve; ++id) {
    const Places::Given given = places.give({id, nullptr}, 1);
    EXPECT_EQ(given.place, Place::kReserved);
    EXPECT_FALSE(given.evicted.has_value());
  }
  // Whoever is there without being the admin makes room for the next.
  const Places::Given next = places.give({100, nullptr}, 1);
  EXPECT_EQ(next.place, Place::kReserved);
  ASSERT_TRUE(next.evicted.has_value());
  EXPECT_EQ(next.evicted->id, 2U);
  places.take_back(2, Place::kReserved);
  for (std::uint64_t id = 3; id <= 100; ++id) places.note_known(id);
  EXPECT_EQ(places.give({101, nullptr}, 1).place, Place::kNone);
  places.take_back(3, Place::kReserved);
  EXPECT_EQ(places.give({102, nullptr}, 1).place, Place::kReserved);
  places.take_back(1, Place::kUsual);
  EXPECT_EQ(places.give({103, nullptr}, 1).place, Place::kUsual);
}

}  // namespace
}  // namespace mete::server
