#include "cli/data/migrate_redis.h"

#include <ostream>

#include "base/errors.h"
#include "base/try.h"
#include "store/redis/functions/library.h"

namespace mete::cli {

using store::redis::Library;

bool is_redis_url(std::string_view url) {
  return url.starts_with("redis") && url.find("://") != std::string_view::npos;
}

Result<int> migrate_redis(const std::string& url, const MigrateRedis& wanted, Console& console) {
  if (wanted.to && *wanted.to != 0 && *wanted.to != Library::kVersion) {
    return base::invalid("--to is 0 (nothing installed) or " + std::to_string(Library::kVersion) +
                         " for the function library in Redis");
  }
  const auto link = TRY(store::redis::open_link(url));
  Library library(*link);
  const auto before = TRY(library.installed());
  console.out << "the function library mete ";
  if (wanted.only_checks) {
    const bool is_done = before && before->is_as_here;
    console.out << (before ? "is at version " + std::to_string(before->version) : "is not installed")
                << (before && !is_done ? ", and not as this program has it\n" : "\n");
    return is_done ? kExitDone : kExitNo;
  }
  if (wanted.to == 0) {
    TRY(library.remove());
    console.out << (before ? "is gone\n" : "is not installed\n");
    return kExitDone;
  }
  TRY(library.install());
  console.out << "is at version " << Library::kVersion;
  if (before && before->is_as_here) {
    console.out << " already";
  } else if (before) {
    console.out << (before->version == Library::kVersion ? ": it had been changed, and is as it should be again"
                                                         : ", and was at version " + std::to_string(before->version));
  }
  console.out << '\n';
  return kExitDone;
}

}  // namespace mete::cli
