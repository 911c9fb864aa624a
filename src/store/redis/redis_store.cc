#include "store/redis/redis_store.h"

#include <algorithm>

#include "base/errors.h"
#include "base/random.h"
#include "base/try.h"
#include "core/refusals.h"
#include "store/redis/names.h"
#include "store/redis/redis_hold.h"
#include "store/redis/replies.h"

namespace mete::store::redis {

RedisStore::RedisStore(std::unique_ptr<Link> link, const Options& options)
    : link_(std::move(link)),
      is_cluster_(link_->is_cluster()),
      session_(options.clock_step_max),
      id_retention_(options.id_retention),
      recent_holds_(std::make_unique<RecentHolds>()) {}

Result<std::unique_ptr<Store>> RedisStore::open(std::string_view url, const Options& options) {
  if (options.clock != nullptr) {
    return base::invalid("clock: Redis has a clock of its own, which decides");
  }
  auto link = TRY(open_link(url, store_scripts()));
  std::unique_ptr<RedisStore> store(new RedisStore(std::move(link), options));
  TRY(store->run_command(kLimitsKey, {"HSETNX", kLimitsKey, kFormatField, kFormat}));
  TRY(store->refresh_book());
  TRY(store->refresh_book_if_changed());  // the time, too
  RedisStore* self = store.get();
  store->refresher_ = std::thread([self] { self->keep_book_fresh(); });
  return store;
}

RedisStore::~RedisStore() {
  is_stopping_.store(true);
  link_->stop_listening();
  if (refresher_.joinable()) refresher_.join();
}

Instant RedisStore::now() const { return session_.clock.now(); }

std::string RedisStore::retention_text() const { return std::to_string(id_retention_.ns() / 1000); }

Result<StoreStatistics> RedisStore::perform(const core::ReadStatistics& /*read*/) {
  StoreStatistics statistics = census_.counts();
  statistics.id_retention = id_retention_;
  return statistics;
}

}  // namespace mete::store::redis
