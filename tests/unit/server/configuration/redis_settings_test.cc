#include "server/configuration/redis_settings.h"

#include <gtest/gtest.h>

namespace mete::server {
namespace {

using namespace std::chrono_literals;

std::string shown(const Config& config, std::string_view name) {
  for (const RedisSetting& setting : redis_settings()) {
    if (setting.name == name) return setting.show(config);
  }
  return "(none)";
}

TEST(RedisSettings, TellWhetherTheDataIsKept) {
  Config other_folder;
  other_folder.store_url = "embedded:/var/lib/mete";
  other_folder.snapshot_every = 90s;
  Config by_size_alone;
  by_size_alone.snapshot_every = Duration();
  Config memory;
  memory.data = "";
  const struct {
    Config config;
    std::string_view save, append_only, folder;
  } rows[] = {
      {{}, "3600 1", "yes", "./mete-data"},
      {other_folder, "90 1", "yes", "/var/lib/mete"},
      {by_size_alone, "", "yes", "./mete-data"},
      {memory, "", "no", ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(shown(row.config, "save"), row.save);
    EXPECT_EQ(shown(row.config, "appendonly"), row.append_only);
    EXPECT_EQ(shown(row.config, "dir"), row.folder);
  }
}

}  // namespace
}  // namespace mete::server
