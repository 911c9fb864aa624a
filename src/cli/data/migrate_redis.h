// `mete migrate redis://…`: the function library of Mete in a Redis.
#pragma once

#include "cli/frame/command.h"

namespace mete::cli {

bool is_redis_url(std::string_view url);

struct MigrateRedis {
  std::optional<int> to;     // 0 takes the library away
  bool only_checks = false;  // and changes nothing; kExitNo if there is something to do
};
Result<int> migrate_redis(const std::string& url, const MigrateRedis& wanted, Console& console);

}  // namespace mete::cli
