// EmbeddedStore: the engine in this process, with a clock and a thread that sweeps; in memory alone, or with the files
// of a data directory behind it.
#pragma once

#include <mete/limiter.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/engine.h"
#include "store/embedded/data_directory.h"
#include "store/store.h"
#include "store/store_clock.h"

namespace mete::store {

class EmbeddedStore final : public StoreOf<EmbeddedStore> {
 public:
  // In memory alone.
  explicit EmbeddedStore(const Options& options);
  // With what the directory holds.
  static Result<std::unique_ptr<EmbeddedStore>> open(const DataConfig& config, const Options& options);
  ~EmbeddedStore() override;

  [[nodiscard]] Instant now() const override { return clock_->now(); }
  [[nodiscard]] ClockStatus clock_status() const override { return clock_->status(); }
  [[nodiscard]] Persistence* persistence() override { return data_.get(); }
  [[nodiscard]] EmbeddedStore* embedded() override { return this; }
  void expect_keys(std::span<const std::string_view> keys) override { engine_.keys().prefetch(keys); }
  void expect_charges(std::span<const Charge> charges) override { engine_.prefetch(charges); }

  // Takes of one charge by its hash, for handles: as run() of a Take would answer. The charge is valid. Without an
  // execution each call has one of its own.
  [[nodiscard]] engine::Engine& engine() const { return engine_; }
  Result<core::Verdict> take_one(const Charge& charge, const engine::MeterHash& hash, Execution* execution);
  // As Engine::allow. Throws Failure where the disk fails.
  [[nodiscard]] std::optional<bool> allow_one(const Charge& charge, const engine::MeterHash& hash,
                                              Execution* execution);

 private:
  friend class StoreOf<EmbeddedStore>;

  struct Parts {
    std::unique_ptr<StoreClock> clock;
    std::unique_ptr<engine::Engine> engine;  // null: the directory's
    std::unique_ptr<DataDirectory> data;     // null: in memory alone
    bool is_swept = true;
  };
  explicit EmbeddedStore(Parts parts);

  // All of them alike: the engine does it, at the time of the execution, and then it waits for the disk or tells for
  // what to wait.
  template <class What>
  Result<typename What::Answer> perform(const What& operation, Execution& execution);
  template <class What>
  Result<typename What::Answer> perform_durably(const What& operation, Instant now, Execution& execution);
  [[nodiscard]] Instant now_of(const Execution* execution) const {
    if (execution != nullptr && execution->now) return *execution->now;
    return system_clock_ != nullptr ? system_clock_->now() : clock_->now();
  }
  [[nodiscard]] std::optional<bool> allow_one_durably(const Charge& charge, const engine::MeterHash& hash, Instant now,
                                                      Execution* execution);
  // Waits for what an operation's answer has to wait for, or tells it.
  Result<void> settle(Ticket ticket, Execution& execution);

  void sweep_until_stopped();

  std::unique_ptr<StoreClock> clock_;
  const SystemClock* system_clock_;  // the same, to be read in line; null: the clock is a user's
  std::unique_ptr<DataDirectory> data_;
  std::unique_ptr<engine::Engine> own_engine_;
  engine::Engine& engine_;
  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool is_stopping_ = false;
  std::thread sweeper_;  // last: it uses all of the above
};

}  // namespace mete::store
