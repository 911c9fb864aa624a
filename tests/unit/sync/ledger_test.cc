#include "sync/ledger.h"

#include <gtest/gtest.h>

#include <string>

namespace mete::sync {
namespace {

TEST(LedgerTest, TheMarkIsTheSmallerOfTheLooks) {
  Ledger ledger(1);
  ledger.look_first("grows", 5);
  ledger.look_first("shrinks", 5);
  ledger.look_first("vanishes", 5);
  ledger.look_again("grows", 7);
  ledger.look_again("shrinks", 3);
  ledger.look_again("appears", 4);
  ASSERT_EQ(ledger.entries().size(), 3U) << "what appears between the looks had a mark of 0";
  EXPECT_EQ(ledger.entries()[0].mark(), 5);
  EXPECT_EQ(ledger.entries()[1].mark(), 3);
  EXPECT_EQ(ledger.entries()[2].mark(), 0);
}

TEST(LedgerTest, EachKeyIsToldOnce) {
  Ledger ledger(1);
  ledger.look_first("a", 5);
  EXPECT_TRUE(ledger.tell_truth("a", 0));
  EXPECT_FALSE(ledger.tell_truth("a", 0));
  EXPECT_TRUE(ledger.tell_truth("b", 3));
  EXPECT_FALSE(ledger.tell_truth("b", 3));
  ASSERT_EQ(ledger.entries().size(), 2U);
  EXPECT_TRUE(ledger.entries()[0].has_truth());
  EXPECT_EQ(ledger.entries()[0].truth(), 0);
  EXPECT_EQ(ledger.entries()[1].mark(), 0);
}

TEST(LedgerTest, FindsEveryKeyOfMany) {
  Ledger ledger(7);
  constexpr int kKeys = 200'000;
  const auto key_of = [](int i) { return std::string(static_cast<std::size_t>(i % 512), 'x') + std::to_string(i); };
  for (int i = 0; i < kKeys; ++i) ledger.look_first(key_of(i).substr(0, 512), i);
  for (int i = 0; i < kKeys; ++i) ledger.look_again(key_of(i).substr(0, 512), i);
  EXPECT_LE(ledger.entries().size(), static_cast<std::size_t>(kKeys));
  for (const Ledger::Entry& entry : ledger.entries()) {
    const std::string key(entry.key());
    if (key.size() == 512) continue;  // cut, so that several share it
    ASSERT_EQ(key, key_of(static_cast<int>(entry.mark())));
  }
}

}  // namespace
}  // namespace mete::sync
