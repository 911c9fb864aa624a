#include "store/elsewhere.h"

#include "base/errors.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/url.h"
#include "store/mete/mete_store.h"
#include "store/mete/url.h"
#include "store/network/fiber_host.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/url.h"
#include "store/redis/client/url.h"
#include "store/redis/redis_store.h"

namespace mete::store {

namespace {

constexpr std::string_view kRedis = "redis";  // redis:, rediss:, redis+sentinel:, …

Result<void> check_url_elsewhere(std::string_view url) {
  const auto done = [](const auto& /*parsed*/) {};
  if (postgres::is_postgres_url(url)) return postgres::parse_url(url).map(done);
  if (servers::is_mete_url(url)) return servers::parse_url(url).map(done);
  if (etcd::is_etcd_url(url)) return etcd::parse_url(url).map(done);
  if (url.starts_with(kRedis)) return redis::parse_url(url).map(done);
  return base::invalid("url: no store for '" + std::string(url) +
                       "': use 'embedded:DIR', 'embedded:' to keep everything in memory alone, 'redis://HOST:PORT', "
                       "'postgres://HOST/DATABASE', 'etcd://HOST:PORT' or 'mete://HOST:PORT'");
}

Result<std::unique_ptr<Store>> open_elsewhere(std::string_view url, const Options& options) {
  if (postgres::is_postgres_url(url)) return postgres::PostgresStore::open(url, options);
  if (servers::is_mete_url(url)) return servers::MeteStore::open(url, options);
  if (etcd::is_etcd_url(url)) return etcd::EtcdStore::open(url, options);
  return redis::RedisStore::open(url, options);
}

std::unique_ptr<Host> make_fiber_host(std::unique_ptr<Store> store) {
  return std::make_unique<FiberHost>(std::move(store));
}

}  // namespace

}  // namespace mete::store

const mete::store::Elsewhere* mete_stores() {
  static constexpr mete::store::Elsewhere kElsewhere = {mete::store::check_url_elsewhere, mete::store::open_elsewhere,
                                                        mete::store::make_fiber_host};
  return &kElsewhere;
}
