// Reading from a real Redis in the shape that is the hardest: the two counters of a key lie on different nodes.
#include "cli/import/redis_source.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "store/redis/client/link.h"
#include "support/redis_cluster.h"

namespace mete::cli {
namespace {

TEST(RedisSource, ReadsPairsAcrossACluster) {
  support::RedisCluster cluster;
  const auto link = store::redis::open_link(cluster.url());
  ASSERT_TRUE(link) << link.error().message;
  constexpr std::size_t kKeys = 100;
  store::redis::Batch batch;
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::string name = "quota:" + std::to_string(i);
    batch.add(name + ":used", {"SET", name + ":used", std::to_string(i)});
    batch.add(name + ":limit", {"SET", name + ":limit", std::to_string(i + 1)});
  }
  batch.add("quota:alone:limit", {"SET", "quota:alone:limit", "5"});
  store::redis::Replies replies;
  (*link)->run(batch, replies);
  for (const auto& reply : replies) ASSERT_TRUE(reply) << reply.error().message;

  auto source = RedisSource::open(cluster.url());
  ASSERT_TRUE(source) << source.error().message;
  Findings all;
  const auto done = source->read_pairs(
      {.used = *KeyPattern::parse("quota:*:used", 1), .amount = *KeyPattern::parse("quota:*:limit", 1)},
      [&](const Findings& findings) -> Result<void> {
        all.entries.insert(all.entries.end(), findings.entries.begin(), findings.entries.end());
        all.skipped.insert(all.skipped.end(), findings.skipped.begin(), findings.skipped.end());
        return {};
      });
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(all.entries.size(), kKeys) << "each once, though both of its names were found";
  std::ranges::sort(all.entries, {}, [](const Entry& entry) { return *entry.used; });
  for (std::size_t i = 0; i < kKeys; ++i) {
    const auto used = static_cast<Amount>(i);
    EXPECT_EQ(all.entries[i], (Entry{std::to_string(i), used, used + 1}));
  }
  ASSERT_EQ(all.skipped.size(), 1U);
  EXPECT_EQ(all.skipped[0].name, "quota:alone:limit");
}

}  // namespace
}  // namespace mete::cli
