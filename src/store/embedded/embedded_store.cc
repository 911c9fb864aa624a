#include "store/embedded/embedded_store.h"

#include <algorithm>

#include "base/random.h"
#include "store/store_clock.h"

namespace mete::store {

namespace {

// The sweep goes round once a minute, in small steps: nothing but memory waits for it.
constexpr auto kSweepStep = std::chrono::milliseconds(100);
constexpr std::size_t kSweepStepsPerRound = 600;

Charge meter_charge(const MeterName& meter) { return {.limit = meter.limit, .key = meter.key, .cost = 0}; }

}  // namespace

EmbeddedStore::EmbeddedStore(const Options& options)
    : EmbeddedStore(Parts{.clock = make_store_clock(options.clock),
                          .engine = std::make_unique<engine::Engine>(engine_config(options, base::random_number())),
                          .data = nullptr}) {}

EmbeddedStore::EmbeddedStore(Parts parts)
    : clock_(std::move(parts.clock)),
      data_(std::move(parts.data)),
      own_engine_(std::move(parts.engine)),
      engine_(own_engine_ != nullptr ? *own_engine_ : data_->engine()),
      acknowledge_(data_.get()),
      keys_(engine_.keys(), *clock_, acknowledge_) {
  if (parts.is_swept) sweeper_ = std::thread([this] { sweep_until_stopped(); });
}

Result<std::unique_ptr<EmbeddedStore>> EmbeddedStore::open(const DataConfig& config, const Options& options) {
  std::unique_ptr<StoreClock> clock = make_store_clock(options.clock);
  auto data = DataDirectory::open(config, options, *clock);
  if (!data) return tl::make_unexpected(data.error());
  return std::unique_ptr<EmbeddedStore>(new EmbeddedStore(
      Parts{.clock = std::move(clock), .engine = nullptr, .data = std::move(*data), .is_swept = config.has_threads}));
}

EmbeddedStore::~EmbeddedStore() {
  {
    const std::lock_guard guard(stop_mutex_);
    is_stopping_ = true;
  }
  stop_signal_.notify_all();
  if (sweeper_.joinable()) sweeper_.join();
}

void EmbeddedStore::sweep_until_stopped() {
  std::unique_lock guard(stop_mutex_);
  while (!stop_signal_.wait_for(guard, kSweepStep, [this] { return is_stopping_; })) {
    engine_.sweep(engine_.buckets() / kSweepStepsPerRound + 1, now());
  }
}

Result<void> EmbeddedStore::do_define(const Limit& limit) {
  return acknowledge_.settle([&] { return engine_.define(limit, now()); });
}

Result<bool> EmbeddedStore::do_drop(std::string_view name) {
  return acknowledge_.settle([&]() -> Result<bool> { return engine_.drop(name); });
}

Result<std::optional<Limit>> EmbeddedStore::do_limit(std::string_view name) { return engine_.limit(name); }

Result<std::vector<std::string>> EmbeddedStore::do_limits() { return engine_.limits(); }

Result<void> EmbeddedStore::do_set_override(const MeterName& meter, std::optional<Amount> amount) {
  return acknowledge_.settle([&] { return engine_.set_override(meter_charge(meter), amount, now()); });
}

Result<std::optional<Amount>> EmbeddedStore::do_override_of(const MeterName& meter) {
  return engine_.override_of(meter_charge(meter), now());
}

Result<core::Verdict> EmbeddedStore::do_take(const TakeRequest& request) {
  return acknowledge_.take([&] { return engine_.take(request, now()); });
}

void EmbeddedStore::do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) {
  const auto taken = acknowledge_.take([&]() -> Result<void> {
    engine_.take_each(charges, now(), answers);
    return {};
  });
  if (!taken) std::fill(answers.begin(), answers.end(), tl::make_unexpected(taken.error()));
}

Result<std::optional<core::Verdict>> EmbeddedStore::do_recall(const TakeRequest& request) {
  return acknowledge_.take([&] { return engine_.recall(request, now()); });
}

Result<Settlement> EmbeddedStore::do_give(std::span<const Charge> charges, std::string_view id) {
  return acknowledge_.settle([&] { return engine_.give(charges, id, now()); });
}

Result<core::Verdict> EmbeddedStore::do_hold(const HoldRequest& request) {
  return acknowledge_.settle([&] { return engine_.hold(request, now()); });
}

Result<Settlement> EmbeddedStore::do_commit(const CommitRequest& request) {
  return acknowledge_.settle([&] { return engine_.commit(request, now()); });
}

Result<Settlement> EmbeddedStore::do_cancel(std::string_view id) {
  return acknowledge_.settle([&] { return engine_.cancel(id, now()); });
}

Result<Duration> EmbeddedStore::do_extend(std::string_view id, Duration ttl) {
  return acknowledge_.settle([&] { return engine_.extend(id, ttl, now()); });
}

Result<std::optional<HoldInfo>> EmbeddedStore::do_find_hold(std::string_view id) {
  return engine_.find_hold(id, now());
}

Result<std::vector<std::string>> EmbeddedStore::do_holds(const MeterName& meter, std::size_t count_max) {
  return engine_.holds(meter_charge(meter), count_max, now());
}

Result<std::vector<std::string>> EmbeddedStore::do_holds_tagged(std::string_view tag) {
  return engine_.holds_tagged(tag, now());
}

Result<Usage> EmbeddedStore::do_usage(const MeterName& meter) { return engine_.usage(meter_charge(meter), now()); }

Result<Reconciliation> EmbeddedStore::do_reconcile(const MeterName& meter, Amount used) {
  return acknowledge_.settle([&] { return engine_.reconcile(meter_charge(meter), used, now()); });
}

void EmbeddedStore::do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) {
  const auto shifted = acknowledge_.settle([&]() -> Result<void> {
    for (std::size_t i = 0; i < request.shifts.size(); ++i) {
      const Shift& shift = request.shifts[i];
      answers[i] =
          engine_.shift({.limit = request.limit, .key = shift.key, .cost = shift.change}, request.since, now());
    }
    return {};
  });
  if (!shifted) std::fill(answers.begin(), answers.end(), tl::make_unexpected(shifted.error()));
}

Result<UsagePage> EmbeddedStore::do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) {
  return engine_.scan(limit, cursor, count, now());
}

Result<std::vector<HoldInfo>> EmbeddedStore::do_oldest_holds(std::size_t count_max) {
  return engine_.oldest_holds(count_max, now());
}

Result<void> EmbeddedStore::do_clear() {
  return acknowledge_.settle([&]() -> Result<void> {
    engine_.clear();
    return {};
  });
}

StoreStatistics EmbeddedStore::do_statistics() { return engine_.statistics(); }

}  // namespace mete::store
