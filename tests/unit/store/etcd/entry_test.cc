#include "store/etcd/entry.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace mete::store::etcd {
namespace {

using namespace std::string_literals;

constexpr std::string_view kPrefix = "/mete/";

TEST(EtcdPlace, IsNamedAsTheFormatSays) {
  const struct {
    EntryName entry;
    std::string key;
  } rows[] = {
      {{Space::kClock}, "/mete/clock"},
      {{Space::kNumbers}, "/mete/numbers"},
      {{Space::kLimit, {}, "api"}, "/mete/limits/api"},
      {{Space::kLimit, {}, "a/b %"}, "/mete/limits/a%2Fb%20%25"},
      {{Space::kOperation, {}, "upload-17"}, "/mete/ids/upload-17"},
      {{Space::kTag, "job", "id"}, "/mete/tags/job/id"},
      {{Space::kMeter, "api", "alice"}, "/mete/meters/api/4da10dd61a0116b0/alice"},
      {{Space::kOverride, "api", "alice"}, "/mete/overrides/api/4da10dd61a0116b0/alice"},
      {{Space::kKey, {}, "alice"}, "/mete/keys/4da10dd61a0116b0/alice"},
  };
  for (const auto& row : rows) EXPECT_EQ(key_of(kPrefix, row.entry), row.key);
}

TEST(EtcdPlace, IsFoundAgainByItsKey) {
  const std::string names[] = {"alice", "a/b", "%", "%41", "\0\xff\n"s, std::string(512, '\xfe'), "ümlaut"};
  for (const std::string& name : names) {
    const EntryName entries[] = {{Space::kLimit, {}, name},      {Space::kMeter, name, name},
                                 {Space::kOverride, name, name}, {Space::kOperation, {}, name},
                                 {Space::kTag, name, name},      {Space::kKey, {}, name}};
    for (const EntryName& entry : entries) EXPECT_EQ(entry_in(kPrefix, key_of(kPrefix, entry)), entry);
  }
  EXPECT_EQ(entry_in(kPrefix, "/mete/clock"), EntryName{Space::kClock});
  for (const char* key : {"", "/mete/", "/mete/clocks", "/mete/others/x", "/other/limits/x"}) {
    EXPECT_EQ(entry_in(kPrefix, key), std::nullopt) << key;
  }
}

// A limit must not have the meters of another one whose name begins the same.
TEST(EtcdPlace, ARangeHasWhatIsOfItAndNothingElse) {
  const KeyRange range = range_of(kPrefix, Space::kMeter, "api");
  const auto has = [&](const EntryName& entry) {
    const std::string key = key_of(kPrefix, entry);
    return key >= range.begin && key < range.end;
  };
  EXPECT_TRUE(has({Space::kMeter, "api", "\xff\xff"}));
  EXPECT_TRUE(has({Space::kMeter, "api", "a"}));
  EXPECT_FALSE(has({Space::kMeter, "api2", "a"}));
  EXPECT_FALSE(has({Space::kMeter, "api/", "a"}));
  EXPECT_FALSE(has({Space::kMeter, "ap", "a"}));
  EXPECT_FALSE(has({Space::kOverride, "api", "a"}));
}

TEST(EtcdPlace, AHashIsAPositionInItsRange) {
  const KeyRange range = range_of(kPrefix, Space::kKey);
  const std::string key = key_of(kPrefix, {Space::kKey, {}, "alice"});
  const std::uint64_t hash = hash_in(range, key);
  EXPECT_LT(position_of(range, hash), key);
  EXPECT_GT(position_of(range, hash + 1), key);
  EXPECT_LT(position_of(range, std::numeric_limits<std::uint64_t>::max()), range.end);
}

}  // namespace
}  // namespace mete::store::etcd
