// Listings: scan meets every key that stays exactly once, whatever comes and goes meanwhile; top finds the heaviest.
#include <map>

#include "conformance/fixture.h"

namespace mete::conformance {
namespace {

using namespace std::chrono_literals;

std::string key_name(std::string_view what, int number) { return std::string(what) + ":" + std::to_string(number); }

TEST_P(Conformance, Scan_MeetsEveryKeyOnce) {
  const int keys = many(2500);
  for (const Limit& limit : each_kind(100)) {
    SCOPED_TRACE(limit.name());
    start_window(kHour);
    for (int i = 0; i < keys; ++i) take(limit.name(), key_name("user", i), i % 100 + 1);
    std::map<std::string, Usage> seen;
    std::uint64_t cursor = 0;
    int pages = 0;
    do {
      const UsagePage page = limiter().scan(limit.name(), cursor, 100).value();
      for (const KeyUsage& key : page.keys) EXPECT_TRUE(seen.emplace(key.key, key.usage).second) << key.key << " twice";
      cursor = page.cursor;
      ++pages;
    } while (cursor != 0);
    EXPECT_GT(pages, keys / 200) << "about 100 at a time";
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(keys));
    for (int i = 0; i < keys; ++i) EXPECT_EQ(seen.at(key_name("user", i)).used, i % 100 + 1);
  }
}

TEST_P(Conformance, Scan_MeetsWhatStaysExactlyOnceWhileOthersComeAndGo) {
  const int staying = many(1000);
  const int coming = many(100);  // with each page
  const int going = many(50);
  const std::string name = define(stock(unique("storage")).amount(100));
  const std::string other = define(stock(unique("other")).amount(100));
  for (int i = 0; i < staying; ++i) {
    take(name, key_name("stays", i));
    take(name, key_name("goes", i));
    take(other, key_name("stays", i));
  }
  std::map<std::string, int> met;
  std::uint64_t cursor = 0;
  int step = 0;
  do {
    const UsagePage page = limiter().scan(name, cursor, 20).value();
    for (const KeyUsage& key : page.keys) ++met[key.key];
    cursor = page.cursor;
    // The table grows in the first half of the walk, and the keys that went leave it sparse.
    for (int i = 0; i < coming; ++i) take(name, key_name("comes", step * coming + i));
    for (int i = step * going; i < (step + 1) * going && i < staying; ++i)
      limiter().give(name, key_name("goes", i)).value();
    ++step;
  } while (cursor != 0);
  int stayed = 0;
  for (const auto& [key, times] : met) {
    EXPECT_EQ(times, 1) << key;
    if (key.starts_with("stays")) ++stayed;
  }
  EXPECT_EQ(stayed, staying);
}

TEST_P(Conformance, Scan_ListsOnlyKeysInUse) {
  for (const Limit& limit : each_kind(10)) {
    SCOPED_TRACE(limit.name());
    const std::string& name = limit.name();
    start_window(kHour);
    take(name, "used", 3);
    hold({name, "held", 4}, 30min);
    take(name, "gone", 5);
    limiter().give(name, "gone", 5).value();
    take(name, "denied", 11);
    EXPECT_EQ(usage(name, "looked at").used, 0);
    const auto keys = limiter().top(name, 10).value();
    ASSERT_EQ(keys.size(), 2U);
    EXPECT_EQ(keys[0].key, "held");
    EXPECT_EQ(keys[0].usage, usage(name, "held"));
    EXPECT_EQ(keys[1].key, "used");
    EXPECT_EQ(keys[1].usage, usage(name, "used"));
    advance(2h);
    EXPECT_EQ(limiter().top(name, 10).value().size(), limit.kind() == Kind::kStock ? 1U : 0U) << "time has passed";
  }
}

TEST_P(Conformance, Scan_OfALimitWithoutKeysEnds) {
  const std::string name = define(stock(unique("empty")).amount(10));
  std::uint64_t cursor = 0;
  int pages = 0;
  do {
    const UsagePage page = limiter().scan(name, cursor, 1).value();
    EXPECT_TRUE(page.keys.empty());
    cursor = page.cursor;
    ASSERT_LT(++pages, 1'000'000);
  } while (cursor != 0);
}

TEST_P(Conformance, Top_FindsTheHeaviest) {
  const std::string name = define(stock(unique("storage")).amount(10'000));
  const int users = many(1500);
  for (int i = 0; i < users; ++i) take(name, key_name("user", i), (i * 7919) % users + 1);
  const auto heaviest = limiter().top(name, 10).value();
  ASSERT_EQ(heaviest.size(), 10U);
  for (std::size_t i = 0; i < heaviest.size(); ++i) {
    EXPECT_EQ(heaviest[i].usage.used, users - static_cast<Amount>(i));
    EXPECT_EQ(usage(name, heaviest[i].key), heaviest[i].usage);
  }
  hold({name, "holder", 5000}, 1h);
  EXPECT_EQ(limiter().top(name, 1).value()[0].key, "holder") << "what is held counts";
  EXPECT_TRUE(limiter().top(name, 0).value().empty());
  EXPECT_EQ(limiter().top(name, 100'000).value().size(), static_cast<std::size_t>(users) + 1);
}

}  // namespace
}  // namespace mete::conformance
