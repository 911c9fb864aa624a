#include "store/open.h"

#include "base/errors.h"
#include "base/time_text.h"
#include "base/try.h"
#include "journal/posix_file_system.h"
#include "store/embedded/embedded_store.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/url.h"
#include "store/fail_open.h"
#include "store/mete/mete_store.h"
#include "store/mete/url.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/url.h"
#include "store/redis/client/url.h"
#include "store/redis/redis_store.h"

namespace mete {

namespace store {

namespace {

// Each size of entry may keep a chunk of the slab; with less than this they could use up the ceiling.
constexpr std::size_t kMaxMemoryMin = std::size_t{4} << 20;
constexpr std::string_view kEmbedded = "embedded:";

constexpr std::string_view kRedis = "redis";  // redis:, rediss:, redis+sentinel:, …

}  // namespace

Result<void> check_url(std::string_view url) {
  const auto done = [](const auto& /*parsed*/) {};
  if (url.starts_with(kEmbedded)) return {};
  if (postgres::is_postgres_url(url)) return postgres::parse_url(url).map(done);
  if (servers::is_mete_url(url)) return servers::parse_url(url).map(done);
  if (etcd::is_etcd_url(url)) return etcd::parse_url(url).map(done);
  if (url.starts_with(kRedis)) return redis::parse_url(url).map(done);
  return base::invalid("url: no store for '" + std::string(url) +
                       "': use 'embedded:DIR', 'embedded:' to keep everything in memory alone, 'redis://HOST:PORT', "
                       "'postgres://HOST/DATABASE', 'etcd://HOST:PORT' or 'mete://HOST:PORT'");
}

Result<std::unique_ptr<Store>> open_store(std::string_view url, const Options& options,
                                          std::function<void(const LoadProgress&)> on_load) {
  auto store = TRY(open_closed_store(url, options, std::move(on_load)));
  if (url.starts_with(kEmbedded)) return store;  // the engine knows its limits, and fails open by itself
  return std::make_unique<FailOpen>(std::move(store));
}

Result<std::unique_ptr<Store>> open_closed_store(std::string_view url, const Options& options,
                                                 std::function<void(const LoadProgress&)> on_load) {
  if (options.max_memory != 0 && options.max_memory < kMaxMemoryMin) {
    return base::invalid("max_memory must be 0 (no ceiling) or at least 4 MiB, not " +
                         std::to_string(options.max_memory));
  }
  if (options.id_retention <= Duration() || options.id_retention > kPeriodMax) {
    return base::invalid("id_retention must be above 0 and at most 10 years, not " +
                         base::duration_text(options.id_retention));
  }
  if (options.ids_max == 0) return base::invalid("ids_max must be at least 1");
  TRY(check_url(url));
  if (url == kEmbedded) return std::make_unique<EmbeddedStore>(options);
  if (url.starts_with(kEmbedded)) {
    static journal::PosixFileSystem files;
    const DataConfig config{
        .directory = std::string(url.substr(kEmbedded.size())), .files = &files, .on_load = std::move(on_load)};
    return EmbeddedStore::open(config, options);
  }
  if (postgres::is_postgres_url(url)) return postgres::PostgresStore::open(url, options);
  if (servers::is_mete_url(url)) return servers::MeteStore::open(url, options);
  if (etcd::is_etcd_url(url)) return etcd::EtcdStore::open(url, options);
  return redis::RedisStore::open(url, options);
}

}  // namespace store

Result<Limiter> open(Text url, const Options& options) {
  return store::open_store(url, options).map([](std::unique_ptr<store::Store> store) {
    return Limiter(std::move(store));
  });
}

}  // namespace mete
