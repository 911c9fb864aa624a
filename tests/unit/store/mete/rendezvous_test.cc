#include "store/mete/rendezvous.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace mete::store::servers {
namespace {

constexpr int kKeys = 30'000;

std::string key_of(int number) { return "user:" + std::to_string(number); }

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("10.0.0." + std::to_string(i) + ":6380");
  return all;
}

TEST(Rendezvous, GivesEachServerItsShare) {
  for (const std::size_t count : {1U, 2U, 3U, 7U}) {
    const Rendezvous rendezvous(names(count));
    std::vector<int> shares(count);
    for (int i = 0; i < kKeys; ++i) ++shares[rendezvous.owner_of(key_of(i))];
    const double fair = static_cast<double>(kKeys) / static_cast<double>(count);
    // Ten times the standard deviation at most is far beyond chance, and far below what a bad hash does.
    for (const int share : shares) EXPECT_NEAR(share, fair, fair * 0.15) << count << " servers";
  }
}

TEST(Rendezvous, ANewServerTakesKeysAndMovesNoOthers) {
  const auto all = names(4);
  const Rendezvous before(names(3));
  const Rendezvous after(all);
  int moved = 0;
  for (int i = 0; i < kKeys; ++i) {
    const std::size_t owner = after.owner_of(key_of(i));
    if (owner == before.owner_of(key_of(i))) continue;
    EXPECT_EQ(owner, 3U) << key_of(i) << " went from one old server to another";
    ++moved;
  }
  EXPECT_NEAR(moved, kKeys / 4.0, kKeys / 4.0 * 0.15);
}

TEST(Rendezvous, TheOrderOfTheNamesDoesNotMatter) {
  const auto forth = names(5);
  const std::vector<std::string> back(forth.rbegin(), forth.rend());
  const Rendezvous one(forth);
  const Rendezvous other(back);
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(forth[one.owner_of(key_of(i))], back[other.owner_of(key_of(i))]) << key_of(i);
  }
}

TEST(Rendezvous, KeysWithTheSameTagAreTogether) {
  const Rendezvous rendezvous(names(7));
  for (int i = 0; i < 1'000; ++i) {
    const std::string tag = "t" + std::to_string(i);
    const std::size_t owner = rendezvous.owner_of(tag);
    EXPECT_EQ(rendezvous.owner_of("{" + tag + "}:storage"), owner);
    EXPECT_EQ(rendezvous.owner_of("requests:{" + tag + "}:{other}"), owner);
  }
  // Without anything in them, braces are letters as others.
  std::map<std::size_t, int> owners;
  for (int i = 0; i < 100; ++i) ++owners[rendezvous.owner_of("{}" + std::to_string(i))];
  EXPECT_GT(owners.size(), 1U);
}

// All who share servers must agree, those of another version too: these never change.
TEST(Rendezvous, IsTheSameForever) {
  const Rendezvous rendezvous(names(3));
  std::string owners;
  for (int i = 0; i < 40; ++i) owners += std::to_string(rendezvous.owner_of(key_of(i)));
  EXPECT_EQ(owners, "1122211212121221210202221021220222022221");
}

}  // namespace
}  // namespace mete::store::servers
