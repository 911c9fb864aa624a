// EmbeddedStore: the engine in this process, with a clock and a thread that sweeps; in memory alone, or with the files
// of a data directory behind it.
#pragma once

#include <mete/limiter.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/engine.h"
#include "store/embedded/acknowledger.h"
#include "store/embedded/data_directory.h"
#include "store/embedded/embedded_keys.h"
#include "store/store.h"
#include "store/store_clock.h"

namespace mete::store {

class EmbeddedStore final : public Store {
 public:
  // In memory alone.
  explicit EmbeddedStore(const Options& options);
  // With what the directory holds.
  static Result<std::unique_ptr<EmbeddedStore>> open(const DataConfig& config, const Options& options);
  ~EmbeddedStore() override;

  [[nodiscard]] Instant now() const override { return clock_->now(); }
  [[nodiscard]] Keys* keys() override { return &keys_; }
  [[nodiscard]] Persistence* persistence() override { return data_.get(); }

 private:
  struct Parts {
    std::unique_ptr<StoreClock> clock;
    std::unique_ptr<engine::Engine> engine;  // null: the directory's
    std::unique_ptr<DataDirectory> data;     // null: in memory alone
    bool is_swept = true;
  };
  explicit EmbeddedStore(Parts parts);

  Result<void> do_define(const Limit& limit) override;
  Result<bool> do_drop(std::string_view name) override;
  Result<std::optional<Limit>> do_limit(std::string_view name) override;
  Result<std::vector<std::string>> do_limits() override;
  Result<void> do_set_override(const MeterName& meter, std::optional<Amount> amount) override;
  Result<std::optional<Amount>> do_override_of(const MeterName& meter) override;
  Result<core::Verdict> do_take(const TakeRequest& request) override;
  void do_take_each(std::span<const Charge> charges, std::span<Result<core::Verdict>> answers) override;
  Result<std::optional<core::Verdict>> do_recall(const TakeRequest& request) override;
  Result<Settlement> do_give(std::span<const Charge> charges, std::string_view id) override;
  Result<core::Verdict> do_hold(const HoldRequest& request) override;
  Result<Settlement> do_commit(const CommitRequest& request) override;
  Result<Settlement> do_cancel(std::string_view id) override;
  Result<Duration> do_extend(std::string_view id, Duration ttl) override;
  Result<std::optional<HoldInfo>> do_find_hold(std::string_view id) override;
  Result<std::vector<std::string>> do_holds(const MeterName& meter, std::size_t count_max) override;
  Result<std::vector<std::string>> do_holds_tagged(std::string_view tag) override;
  Result<Usage> do_usage(const MeterName& meter) override;
  Result<Reconciliation> do_reconcile(const MeterName& meter, Amount used) override;
  void do_shift(const ShiftRequest& request, std::span<Result<Shifted>> answers) override;
  Result<UsagePage> do_scan(std::string_view limit, std::uint64_t cursor, std::size_t count) override;
  Result<std::vector<HoldInfo>> do_oldest_holds(std::size_t count_max) override;
  Result<void> do_clear() override;
  StoreStatistics do_statistics() override;

  void sweep_until_stopped();

  std::unique_ptr<StoreClock> clock_;
  std::unique_ptr<DataDirectory> data_;
  std::unique_ptr<engine::Engine> own_engine_;
  engine::Engine& engine_;
  const Acknowledger acknowledge_;
  EmbeddedKeys keys_;
  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool is_stopping_ = false;
  std::thread sweeper_;  // last: it uses all of the above
};

}  // namespace mete::store
