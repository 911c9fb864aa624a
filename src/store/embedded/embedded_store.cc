#include "store/embedded/embedded_store.h"

#include "base/random.h"
#include "base/try.h"
#include "engine/operations.h"
#include "store/store_clock.h"

namespace mete::store {

namespace {

// The sweep goes round once a minute, in small steps: nothing but memory waits for it.
constexpr auto kSweepStep = std::chrono::milliseconds(100);
constexpr std::size_t kSweepStepsPerRound = 600;

}  // namespace

EmbeddedStore::EmbeddedStore(const Options& options)
    : EmbeddedStore(Parts{.clock = make_store_clock(options.clock, options.clock_step_max),
                          .engine = std::make_unique<engine::Engine>(engine_config(options, base::random_number())),
                          .data = nullptr}) {}

EmbeddedStore::EmbeddedStore(Parts parts)
    : clock_(std::move(parts.clock)),
      system_clock_(dynamic_cast<const SystemClock*>(clock_.get())),
      data_(std::move(parts.data)),
      own_engine_(std::move(parts.engine)),
      engine_(own_engine_ != nullptr ? *own_engine_ : data_->engine()) {
  if (parts.is_swept) sweeper_ = std::thread([this] { sweep_until_stopped(); });
}

Result<std::unique_ptr<EmbeddedStore>> EmbeddedStore::open(const DataConfig& config, const Options& options) {
  std::unique_ptr<StoreClock> clock = make_store_clock(options.clock, options.clock_step_max);
  auto data = TRY(DataDirectory::open(config, options, *clock));
  return std::unique_ptr<EmbeddedStore>(new EmbeddedStore(
      Parts{.clock = std::move(clock), .engine = nullptr, .data = std::move(data), .is_swept = config.has_threads}));
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

template <class What>
Result<typename What::Answer> EmbeddedStore::perform(const What& operation, Execution& execution) {
  const Instant now = now_of(&execution);
  if (What::kTraits.effect == core::Effect::kReads || data_ == nullptr) return engine::run(engine_, operation, now);
  return perform_durably(operation, now, execution);
}

template <class What>
Result<typename What::Answer> EmbeddedStore::perform_durably(const What& operation, Instant now, Execution& execution) {
  constexpr core::Effect kEffect = What::kTraits.effect;
  // Whether a take may go on though nothing can be written, its limits say.
  if (kEffect != core::Effect::kTakes) {
    if (auto refusal = data_->refusal()) return std::move(*refusal);
  }
  Ticket ticket = 0;
  auto answer = engine::run(engine_, operation, {now, &ticket});
  if (kEffect == core::Effect::kSettles) ticket = data_->last_awaited();
  TRY(settle(ticket, execution));
  return answer;
}

Result<void> EmbeddedStore::settle(Ticket ticket, Execution& execution) {
  data_->wait_for_room();
  execution.note(ticket);
  if (!execution.waits_for_disk) return {};
  return data_->wait(ticket);
}

Result<core::Verdict> EmbeddedStore::take_one(const Charge& charge, const engine::MeterHash& hash,
                                              Execution* execution) {
  const Instant now = now_of(execution);
  if (data_ == nullptr) return engine_.take(charge, hash, now);
  Execution own;
  Ticket ticket = 0;
  auto answer = engine_.take(charge, hash, {now, &ticket});
  TRY(settle(ticket, execution != nullptr ? *execution : own));
  return answer;
}

std::optional<bool> EmbeddedStore::allow_one(const Charge& charge, const engine::MeterHash& hash,
                                             Execution* execution) {
  const Instant now = now_of(execution);
  return data_ == nullptr ? engine_.allow(charge, hash, now) : allow_one_durably(charge, hash, now, execution);
}

std::optional<bool> EmbeddedStore::allow_one_durably(const Charge& charge, const engine::MeterHash& hash, Instant now,
                                                     Execution* execution) {
  Execution own;
  Ticket ticket = 0;
  const std::optional<bool> is_allowed = engine_.allow(charge, hash, {now, &ticket});
  settle(ticket, execution != nullptr ? *execution : own).value();
  return is_allowed;
}

}  // namespace mete::store
