// Upkeep: the definitions, and what is done now and then.

#include <chrono>

#include "base/try.h"
#include "calendar/calendar.h"
#include "store/postgres/event_months.h"
#include "store/postgres/parameters.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/records.h"
#include "store/postgres/statements.h"

namespace mete::store::postgres {

namespace {

using namespace std::chrono_literals;

constexpr Duration kLookEvery = 1s;  // at the server's clock
constexpr int kLooksPerExpiry = 10;  // holds stop counting at once: this is for the room that they take
constexpr int kLooksPerSweep = 600;  // looks at every meter, for those that are as fresh ones
constexpr int kLooksPerCount = 30;   // of all operations that are remembered
constexpr int kLooksPerMonths = 3600;
constexpr std::int64_t kExpiryBatch = 100;  // their meters are locked meanwhile
constexpr std::int64_t kExpiryBatchesMax = 100;

// A calendar that is not here would be refused there too, but with fewer words.
Result<void> check_calendar(const Limit& limit) {
  if (limit.kind() != Kind::kCalendar) return {};
  const std::string zone = limit.zone().value_or("UTC");
  TRY(civil::Calendar::make({.unit = *limit.unit(), .zone = zone, .anchor = limit.anchor().value_or(0)}));
  return {};
}

}  // namespace

Result<std::vector<Limit>> PostgresStore::read_limits(std::optional<std::string_view> name) {
  Parameters parameters;
  name ? add_text(parameters, *name) : parameters.add_null();
  const auto rows = TRY(session_.run(kLimits, parameters, Session::Effect::kRepeatable));
  std::vector<Limit> limits;
  for (std::size_t i = 0; i < rows.size(); ++i) limits.push_back(TRY(limit_of(rows, i)));
  return limits;
}

Result<void> PostgresStore::look_at_clock() {
  const auto rows = TRY(session_.run(kTime, {}, Session::Effect::kRepeatable));
  session_.clock().tell(TRY(rows.micros(0, 0, "the clock")));
  return {};
}

Result<void> PostgresStore::perform(const core::Define& define) {
  if (auto ok = check_calendar(define.limit); !ok) return ok;
  const auto parameters = TRY(definition_of(define.limit, session_.clock().floor_us()));
  const auto rows = TRY(session_.run(kDefine, parameters));
  session_.clock().raise(TRY(rows.micros(0, 0, "limit '" + define.limit.name() + "'")));
  return {};
}

Result<bool> PostgresStore::perform(const core::Drop& drop) {
  const auto rows = TRY(session_.run(kDrop, Parameters().add(to_text(drop.name))));
  return rows.boolean(0, 0, "limit '" + std::string(drop.name) + "'");
}

Result<std::optional<Limit>> PostgresStore::perform(const core::FindLimit& find) {
  const auto found = TRY(read_limits(find.name));
  return found.empty() ? std::nullopt : std::optional(found.front());
}

Result<std::vector<std::string>> PostgresStore::perform(const core::ListLimits& /*list*/) {
  std::vector<std::string> names;
  for (const Limit& limit : TRY(read_limits(std::nullopt))) names.push_back(limit.name());
  return names;
}

Result<StoreStatistics> PostgresStore::perform(const core::ReadStatistics& /*read*/) {
  StoreStatistics statistics = [this] {
    const std::lock_guard guard(counts_mutex_);
    return counts_;
  }();
  statistics.expired_holds = expired_holds_.load(std::memory_order_relaxed);
  statistics.id_retention = std::chrono::microseconds(retention_us_);
  return statistics;
}

void PostgresStore::count() {
  const auto rows = session_.run(kStatistics, {}, Session::Effect::kRepeatable);
  if (!rows) return;
  StoreStatistics statistics;
  const auto number = [&](std::size_t column) {
    return static_cast<std::size_t>(rows->amount(0, column, "mete_private.store_statistics").value_or(0));
  };
  statistics.rules = number(1);
  statistics.meters = number(2);
  statistics.ids = number(4);
  statistics.open_holds = number(5);
  statistics.orphans = number(6);
  statistics.memory_bytes = number(7);
  const std::lock_guard guard(counts_mutex_);
  counts_ = statistics;
}

// Errors here are those of the next call too, where somebody hears of them.
void PostgresStore::keep_up() {
  std::unique_lock lock(stop_mutex_);
  for (int looks = 0; !is_stopping_; ++looks) {
    stop_wanted_.wait_for(lock, std::chrono::nanoseconds(kLookEvery.ns()));
    if (is_stopping_) return;
    lock.unlock();
    (void)look_at_clock();
    if (looks % kLooksPerExpiry == 0) put_away_expired(looks % kLooksPerSweep == 0);
    if (looks % kLooksPerCount == 0) count();
    if (looks % kLooksPerMonths == 0) make_months();
    lock.lock();
  }
}

// Ahead of time: what the role may not do, or cannot now, is done later, or by `mete migrate`.
void PostgresStore::make_months() {
  const auto deadline = net::Deadline::in(session_.pool().url().timeout);
  if (auto lease = session_.pool().lease(deadline)) (void)make_event_months(lease->connection(), deadline);
}

void PostgresStore::put_away_expired(bool sweeps) {
  for (std::int64_t batch = 0; batch < kExpiryBatchesMax; ++batch) {
    const auto rows = session_.run(kExpire, Parameters().add(kExpiryBatch).add(retention_us_).add(sweeps));
    if (!rows) return;  // or only mete_admin may, and this role is not that
    const std::int64_t expired = rows->amount(0, 0, "mete_private.store_expire").value_or(0);
    const std::int64_t swept = rows->amount(0, 1, "mete_private.store_expire").value_or(0);
    expired_holds_.fetch_add(static_cast<std::uint64_t>(expired), std::memory_order_relaxed);
    if (expired < kExpiryBatch && swept < kExpiryBatch) return;
  }
}

}  // namespace mete::store::postgres
